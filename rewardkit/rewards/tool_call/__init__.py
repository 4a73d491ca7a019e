"""Tool calls: `matching` compares them with the ground truth, `reward` scores. `tool_calls` reads them."""

from __future__ import annotations

from rewardkit.rewards.tool_call.tool_call_reward import ToolCallOptions, score

__all__ = ["ToolCallOptions", "score"]
