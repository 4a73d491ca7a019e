"""Starts a training run: checks its config, starts its processes and builds its parts."""
