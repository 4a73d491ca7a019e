"""Version of rewardkit, in a module that every other module can import without an import cycle."""

__version__ = "0.3.0"
