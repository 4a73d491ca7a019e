"""Rewards that score all responses to one prompt together."""
