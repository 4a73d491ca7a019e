"""Exact reproduction of the verdicts of verl's graders and of Math-Verify."""
