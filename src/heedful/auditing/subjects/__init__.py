"""What an audit sees: our own classifiers, plain functions, modules, Hugging Face models."""
