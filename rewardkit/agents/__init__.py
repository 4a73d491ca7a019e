"""Agents: episodes of several turns, the loops that drive them, tools and interactions. No torch here."""
