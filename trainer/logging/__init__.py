"""Computes metrics and sends them to their destinations."""
