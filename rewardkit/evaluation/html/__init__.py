"""Self-contained HTML pages: the report of a scored file, and the page of a training run."""
