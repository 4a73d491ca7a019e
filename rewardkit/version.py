"""Version of rewardkit, in a module that all others can import without a cycle."""

__version__ = "0.2.0"
