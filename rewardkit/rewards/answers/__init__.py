"""Finds answers (`place`), converts them to one notation (`notation`), and parses and compares their
values."""
