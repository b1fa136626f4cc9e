"""Hugging Face sequence classifiers, audited as they are, by one or more readings."""
