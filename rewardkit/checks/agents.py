"""Names of agents, tools and interactions that rows may contain."""

from __future__ import annotations

from rewardkit.agents import loading
from rewardkit.agents.loops import BUILT_IN
from rewardkit.agents.registry import AGENTS, SINGLE_TURN
from rewardkit.errors import InputError

__all__ = ["INTERACTIONS", "SINGLE_TURN", "TOOLS", "VERL_TOOLS", "agent_names", "agent_problem"]

TOOLS = frozenset(loading.TOOLS)
INTERACTIONS = frozenset(loading.INTERACTIONS)
"""Names of the interactions in rewardkit. verl's examples use the same names."""
VERL_TOOLS = ("calc_gsm8k_reward", "calc_geo3k_reward", "code_interpreter", "search")
"""Names of the tools for which `prep` writes `tools_kwargs`."""

AGENTS.offer(BUILT_IN)


def agent_names() -> tuple[str, ...]:
    """Return the names of all agent loops in rewardkit and in installed packages."""
    return AGENTS.names()


def agent_problem(name: str, known: tuple[str, ...]) -> str | None:
    """Return the reason why a row's agent cannot run, or None if it can run.

    A user's own agent loop has a name of the form `path.py:name`.
    """
    if name in known:
        return None
    if name in AGENTS.names():
        return f"there is no agent '{name}'; known agents: {', '.join(known)}"
    try:
        AGENTS.resolve(name)
    except InputError as error:
        return str(error)
    return None
