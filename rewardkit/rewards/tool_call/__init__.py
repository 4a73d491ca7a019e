"""Tool calls: `tool_calls` reads them, `matching` compares them with the ground truth, and `tool_call_reward`
scores."""

from __future__ import annotations

from rewardkit.rewards.tool_call.tool_call_reward import ToolCallOptions, score

__all__ = ["ToolCallOptions", "score"]
