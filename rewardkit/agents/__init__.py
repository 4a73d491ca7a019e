"""Multi-turn episodes with loops, tools and interactions. This package works without torch."""
