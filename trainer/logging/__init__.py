"""Metrics and their destinations."""
