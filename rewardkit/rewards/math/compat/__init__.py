"""Exact reproductions of other graders' verdicts: verl's and Math-Verify's."""
