"""The version, for those that `rewardkit` itself imports."""

__version__ = "0.2.0"
