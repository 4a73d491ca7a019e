"""Tools that a model calls in an episode, declared with `@tool`. `agents/loading.py` loads a run's tools.

`docs/tools.md` describes the built-in tools, and `docs/own_tools.md` describes how to write a tool.
"""

from __future__ import annotations

from rewardkit.agents.tools.arguments import BadCall
from rewardkit.agents.tools.declare import OpenTool, ToolKind, tool

__all__ = ["BadCall", "OpenTool", "ToolKind", "tool"]
