"""Self-contained demo that trains a tiny, newly created model on arithmetic problems with PPO."""
