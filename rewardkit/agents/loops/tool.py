"""Calls of tools in the form of the chat template; the row's interaction, if it has one, answers as the
user."""

from __future__ import annotations

from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent


@agent("tool_agent")
async def tool_agent(episode: Episode) -> None:
    """Execute calls until a turn has none. Then the interaction answers, or without one the episode ends."""
    while True:
        reply = await episode.generate()
        if reply.calls:
            await episode.execute(reply.calls)
        elif episode.interaction is not None:
            await episode.respond()
        else:
            return
