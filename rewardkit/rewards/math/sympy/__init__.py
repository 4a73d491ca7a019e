"""Last comparison tier: symbolic algebra in a process that can be killed."""
