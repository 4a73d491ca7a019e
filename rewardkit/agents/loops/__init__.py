"""The loops that are there, one file each. Importing this registers them."""

from rewardkit.agents.loops import single_turn, tool

__all__ = ["single_turn", "tool"]
