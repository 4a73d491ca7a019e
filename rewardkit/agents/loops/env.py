"""Loop for environments from other projects. The environment provides the prompt, the tools and the
replies."""

from __future__ import annotations

from rewardkit.agents.environments.session import EnvironmentSession
from rewardkit.agents.episode import Episode
from rewardkit.agents.registry import agent


@agent("env", tools="program", opens=EnvironmentSession)
async def env(episode: Episode) -> None:
    """Play an episode in the environment that the run or the row specifies."""
    session = episode.interaction
    assert isinstance(session, EnvironmentSession)
    session.begin(episode)
    while True:
        reply = await episode.generate()
        if reply.calls:
            await episode.execute(reply.calls)
        else:
            await episode.respond()
