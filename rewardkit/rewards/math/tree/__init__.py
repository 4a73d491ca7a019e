"""The tree that an answer is read into, and how it is shown to people."""
