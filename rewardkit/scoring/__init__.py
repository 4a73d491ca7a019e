"""Execution of rewards: the `Scorer`, its pools of worker processes, and the workers themselves."""
