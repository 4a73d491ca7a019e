"""From a command line to a running training: checks, processes, building."""
