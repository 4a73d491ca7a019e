"""Writes, finds and exports checkpoints."""
