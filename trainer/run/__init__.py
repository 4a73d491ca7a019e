"""Starts a training run from a command line: checks it, starts its processes, and builds its parts."""
