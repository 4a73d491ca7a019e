"""Finds the answer in a response, normalises it, splits it into tokens and parses the tokens into a tree."""
