"""Comparison of two answers: as text, as numbers, as trees."""
