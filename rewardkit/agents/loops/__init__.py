"""The loops that are there, one file each. Importing this registers them."""

from rewardkit.agents.loops import math_expression, react, single_turn, tool

__all__ = ["math_expression", "react", "single_turn", "tool"]
