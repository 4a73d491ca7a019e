"""Extraction of answers (`place`), parsing of numbers (`number`) and comparison of values (`same_value`)."""
