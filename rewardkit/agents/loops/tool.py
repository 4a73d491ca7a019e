"""Tools by the chat template's own form of calls, and a user who answers where the row has an interaction."""

from __future__ import annotations

from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent


@agent("tool_agent")
async def tool_agent(episode: Episode) -> None:
    """Call tools until an answer comes without a call; then the interaction, if there is one, has its say."""
    while True:
        reply = await episode.generate()
        if reply.calls:
            await episode.execute(reply.calls)
        elif episode.interaction is not None:
            await episode.respond()
        else:
            return
