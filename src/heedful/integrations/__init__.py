"""An audit in the tools that people use: model cards, trackers, the Hugging Face Trainer."""
