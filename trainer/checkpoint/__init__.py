"""Writing, finding and exporting checkpoints."""
