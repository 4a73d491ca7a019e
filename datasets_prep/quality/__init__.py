"""Filters rows while a dataset is prepared, and records why rows were left out. `screen` runs the stages."""
