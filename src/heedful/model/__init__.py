"""Batch to Trace: embedding, encoder, alignment, projection, decision."""
