"""Turns the text of a response into a tree: finds the answer, normalises it, splits it into tokens and parses
them."""
