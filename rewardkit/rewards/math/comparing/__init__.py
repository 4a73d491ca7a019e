"""Comparison of two answers as text, as numbers and as expression trees."""
