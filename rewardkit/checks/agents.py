"""The agents, tools and interactions that rows may name."""

from __future__ import annotations

from rewardkit.agents.registry import AGENTS, SINGLE_TURN
from rewardkit.errors import InputError

__all__ = ["SINGLE_TURN", "VERL_INTERACTIONS", "VERL_TOOLS", "agent_names", "agent_problem"]

VERL_TOOLS = ("calc_gsm8k_reward", "calc_geo3k_reward", "code_interpreter", "search")
VERL_INTERACTIONS = ("gsm8k",)
"""What verl ships, by the names in its examples' configurations (0.9)."""


def agent_names() -> tuple[str, ...]:
    """Return the names of all loops: ours, and those of installed packages."""
    return AGENTS.names()


def agent_problem(name: str, known: tuple[str, ...]) -> str | None:
    """Return why a row's agent cannot run; None where it can. `path.py:name` is a loop of a user's own."""
    if name in known:
        return None
    if name in AGENTS.names():
        return f"there is no agent '{name}' here; there are: {', '.join(known)}"
    try:
        AGENTS.resolve(name)
    except InputError as error:
        return str(error)
    return None
