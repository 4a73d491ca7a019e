"""Runs rewards. Contains the Scorer, its pools of worker processes, and the workers."""
