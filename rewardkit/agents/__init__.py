"""Agents: multi-turn episodes, the loops that drive them, tools and interactions. None of it needs torch."""
