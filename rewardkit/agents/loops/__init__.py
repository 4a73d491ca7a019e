"""Built-in loops of agents, one per file. `BUILT_IN` lists them without importing them."""

from __future__ import annotations

BUILT_IN = {
    "external": "rewardkit.agents.loops.external:external",
    "env": "rewardkit.agents.loops.env:env",
    "math_expression": "rewardkit.agents.loops.math_expression:math_expression",
    "react_agent": "rewardkit.agents.loops.react:react_agent",
    "single_turn_agent": "rewardkit.agents.loops.single_turn:single_turn_agent",
    "tool_agent": "rewardkit.agents.loops.tool:tool_agent",
}
"""Import paths of the loops by name, in the form that `AGENTS.offer` accepts."""
