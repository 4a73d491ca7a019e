"""The tree of an answer, and its display for people."""
