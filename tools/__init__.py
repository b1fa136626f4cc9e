"""What makes pages of docs/ from measured results; not part of the package."""
