"""Running of rewards: the Scorer, its pool of worker processes, and the workers."""
