"""Bai et al.'s default-token experiment: can a label pass through the attention pattern?"""
