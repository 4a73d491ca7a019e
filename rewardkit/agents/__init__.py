"""Plays multi-turn episodes with loops, tools and interactions. This package does not need torch."""
