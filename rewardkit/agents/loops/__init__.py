"""Loops that ship with rewardkit, one per file. The table lists them by name without importing them."""

from __future__ import annotations

BUILT_IN = {
    "external": "rewardkit.agents.loops.external:external",
    "env": "rewardkit.agents.loops.env:env",
    "math_expression": "rewardkit.agents.loops.math_expression:math_expression",
    "react_agent": "rewardkit.agents.loops.react:react_agent",
    "single_turn_agent": "rewardkit.agents.loops.single_turn:single_turn_agent",
    "tool_agent": "rewardkit.agents.loops.tool:tool_agent",
}
"""Loops for `AGENTS.offer`."""
