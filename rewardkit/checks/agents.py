"""The agents, tools and interactions that rows may name."""

from __future__ import annotations

SINGLE_TURN = "single_turn_agent"
AGENTS = (SINGLE_TURN,)
"""Those of our trainer."""

VERL_AGENTS = ("tool_agent",)
VERL_TOOLS = ("calc_gsm8k_reward", "calc_geo3k_reward", "code_interpreter", "search")
VERL_INTERACTIONS = ("gsm8k",)
"""What verl ships besides, by the names in its examples' configurations (0.9)."""
