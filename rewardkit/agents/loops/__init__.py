"""The loops that ship with rewardkit, one file each. Importing this package registers them."""

from rewardkit.agents.loops import math_expression, react, single_turn, tool

__all__ = ["math_expression", "react", "single_turn", "tool"]
