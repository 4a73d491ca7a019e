"""Finds answers (`place`), spells them alike (`notation`), and parses and compares their values."""
