"""The verdicts of other graders, oddities included: verl's and Math-Verify's."""
