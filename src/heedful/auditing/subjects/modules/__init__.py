"""Any PyTorch module with attention pooling, through an adapter of three methods."""
