"""Tool calls: `reading` finds them in a response, `matching` compares them with the ground truth, `reward`
scores."""

from __future__ import annotations

from rewardkit.rewards.tool_call.reward import ToolCallOptions, score

__all__ = ["ToolCallOptions", "score"]
