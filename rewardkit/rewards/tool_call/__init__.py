"""Scores the tool calls in responses.

`matching` compares calls with the ground truth, and `tool_call_reward` computes the score. The package
`rewardkit.tool_calls` reads calls from responses.
"""

from __future__ import annotations

from rewardkit.rewards.tool_call.tool_call_reward import ToolCallOptions, score

__all__ = ["ToolCallOptions", "score"]
