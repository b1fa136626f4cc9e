"""Text to batches: documents, words with character offsets, vocabulary, vectors, batches."""
