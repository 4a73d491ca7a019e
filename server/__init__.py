"""The Scorer over HTTP."""
