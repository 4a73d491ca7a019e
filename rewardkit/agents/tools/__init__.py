"""Tools that a model calls in an episode: `@tool` declares one, `load_tools` loads those of a run.

    >>> from rewardkit.agents.tools import load_tools, tool
    >>> load_tools("calculator").schemas[0]["function"]["name"]
    'calculator'

What ships: `opening.SHIPPED`. `docs/tools.md` says what each takes, and how to write one.
"""

from __future__ import annotations

from rewardkit.agents.tools.arguments import BadCall
from rewardkit.agents.tools.declaring import OpenTool, ToolKind, tool
from rewardkit.agents.tools.opening import SHIPPED, Toolbox, load_tools, open_tools

__all__ = ["SHIPPED", "BadCall", "OpenTool", "ToolKind", "Toolbox", "load_tools", "open_tools", "tool"]
