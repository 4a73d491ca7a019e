"""Leaves out rows while a dataset is prepared, and records the reasons. `screen` combines the stages."""
