"""Expression tree of an answer, and its display as readable text."""
