"""Tools that a model calls in an episode: `@tool` declares one. `agents/loading.py` loads those of a run.

`docs/tools.md` says what each that ships takes, and how to write one.
"""

from __future__ import annotations

from rewardkit.agents.tools.arguments import BadCall
from rewardkit.agents.tools.declare import OpenTool, ToolKind, tool

__all__ = ["BadCall", "OpenTool", "ToolKind", "tool"]
