"""From the text of a response to a tree: finding the answer, normalising it, lexing, parsing."""
