"""Rewards that see all responses to one prompt at once: `ranking` and `diversity`."""
