"""Leaves rows out of a dataset while it is prepared, with reasons: `screen` combines the stages."""
