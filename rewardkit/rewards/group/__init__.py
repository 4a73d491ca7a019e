"""Rewards that score all responses to one prompt together: `ranking` and `diversity`."""
