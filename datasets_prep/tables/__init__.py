"""Table of datasets, by kind."""
