"""Loop for tool calls in the chat template's format. If the row has an interaction, it plays the user."""

from __future__ import annotations

from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent


@agent("tool_agent")
async def tool_agent(episode: Episode) -> None:
    """Execute calls until a turn has none. Then let the interaction reply, or end if there is none."""
    while True:
        reply = await episode.generate()
        if reply.calls:
            await episode.execute(reply.calls)
        elif episode.interaction is not None:
            await episode.respond()
        else:
            return
