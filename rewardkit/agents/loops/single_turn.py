"""Loop for episodes with one prompt and one response."""

from __future__ import annotations

from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import SINGLE_TURN, agent


@agent(SINGLE_TURN, tools="none", interaction=False)
async def single_turn_agent(episode: Episode) -> None:
    """Generate a single turn."""
    await episode.generate()
