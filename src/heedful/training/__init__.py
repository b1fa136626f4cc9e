"""Corpus and settings to a trained classifier: one loop, many recipes."""
