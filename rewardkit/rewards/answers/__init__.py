"""Extraction of the answer from a response (`place`), numbers (`number`) and values (`same_value`)."""
