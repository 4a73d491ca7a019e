"""Tables of datasets, by kind."""
