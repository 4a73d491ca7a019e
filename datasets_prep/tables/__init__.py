"""The table of datasets, by kind."""
