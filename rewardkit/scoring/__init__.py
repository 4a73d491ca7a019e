"""Runs rewards, with the Scorer, its pools of worker processes, and the workers."""
