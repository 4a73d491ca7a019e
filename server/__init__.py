"""HTTP server for the Scorer."""
