"""Pages of one file that need no network: the report of a scored file, and the page of a training run."""
