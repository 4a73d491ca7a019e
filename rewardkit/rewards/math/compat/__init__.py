"""Exact reproduction of the verdicts from verl's graders and from Math-Verify."""
