"""Meaning of the rows of other tools' logs: which row is a response, to which prompt, with which ground
truth."""
