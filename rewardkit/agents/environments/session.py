"""Connection between an environment and an episode. The environment provides prompt, tools and rewards.

After a failure or an interrupted step, the session sends no further requests to the environment, because the
environment must not execute a step twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rewardkit.agents.environments.environment import (
    EnvironmentFailed,
    Opening,
    make_environment,
    spec_of,
)
from rewardkit.agents.episode import Episode, EpisodeUnscored
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.types import Busy, Observation, UserTurn
from rewardkit.messages import message_text, with_text
from rewardkit.types import Message

T = TypeVar("T")


class EnvironmentSession:
    """Interaction with an environment. `begin` passes the environment's prompt and tools to the episode."""

    name = "the environment"
    """Name of this interaction in messages."""

    def __init__(self, row: EpisodeRow, of_run: str) -> None:
        """Create the environment that the run or the row names, without contacting the environment.

        Raises:
            InputError: Neither the run nor the row names an environment that can be created.
        """
        self._spec = spec_of(row, of_run)
        self._environment = make_environment(self._spec, row)
        self._opening = Opening()
        self._rewards: list[float] = []
        self._broken: Exception | None = None

    async def start(self, **kwargs: Any) -> None:
        """Start the environment's episode."""
        self._opening = await self._asked(self._environment.open())

    def begin(self, episode: Episode) -> None:
        """Pass the environment's prompt and tools to the episode before the first turn."""
        episode.messages = prompt_of(episode.messages, self._opening)
        episode.prompt_messages = len(episode.messages)
        episode.schemas = list(self._opening.tools)
        episode.tools = {tool.name: tool for tool in (EnvironmentTool(self, one) for one in episode.schemas)}

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Execute a tool call and return the observation."""
        return self._noted(await self._asked(self._environment.call(name, arguments)))

    async def respond(self, messages: Sequence[Message]) -> UserTurn:
        """Reply to the model's last turn, which contains no call."""
        text = message_text(messages[-1])
        found = await self._asked(self._environment.say(text))
        if found is None:
            return UserTurn(done=True)
        self._noted(found)
        return UserTurn(found.text, found.reward, found.done, found.metrics)

    async def score(self) -> float:
        """Return the reward for the episode.

        Raises:
            EpisodeUnscored: The episode has no reward.
        """
        graded = await self._asked(self._environment.grade())
        if graded is not None and not graded.ok:
            raise EpisodeUnscored(graded.status, graded.detail or "the environment did not score the episode")
        if graded is not None:
            return graded.score
        if self._rewards:
            return self._rewards[-1] if self._spec.reward == "last" else sum(self._rewards)
        if self._spec.without_reward is None:
            raise EpisodeUnscored(
                "invalid",
                "the environment returned no reward; set without_reward in the environment's settings to use "
                "a fixed reward",
            )
        return self._spec.without_reward

    async def finish(self) -> None:
        """End the environment's episode."""
        await self._environment.close()

    def _noted(self, found: Observation) -> Observation:
        if found.reward is not None:
            self._rewards.append(found.reward)
        return found

    async def _asked(self, work: Awaitable[T]) -> T:
        if self._broken is not None:
            if hasattr(work, "close"):
                work.close()
            raise self._broken
        self._broken = TimeoutError(
            "an earlier step of the environment was interrupted, so the environment can no longer be used"
        )  # a failed or completed request replaces this error below
        try:
            found = await work
        except Busy:
            self._broken = None
            raise
        except Exception as error:
            self._broken = EnvironmentFailed(str(error))
            raise
        self._broken = None
        return found


class EnvironmentTool:
    """One tool of an environment, with its state. It implements `rewardkit.agents.types.Tool`."""

    def __init__(self, session: EnvironmentSession, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.name = str(schema["function"]["name"])
        self._session = session

    async def create(self, **kwargs: Any) -> None:
        """Do nothing, since the environment has already started."""

    async def execute(self, arguments: Mapping[str, Any]) -> Observation:
        """Execute one call and return the observation."""
        return replace(await self._session.call(self.name, arguments), whole=True)

    async def reward(self) -> None:
        """Return None, since the session returns the environment's reward."""

    async def release(self) -> None:
        """Do nothing, since the session closes the environment."""


def prompt_of(row: Sequence[Message], opening: Opening) -> list[Message]:
    """Build the prompt of an episode from the row's prompt and the environment's opening."""
    messages = [dict(one) for one in row]
    if opening.messages:
        own = any(one.get("role") == "system" for one in opening.messages)
        system = [] if own else [one for one in messages if one.get("role") == "system"]
        messages = [*system, *map(dict, opening.messages)]
    if not opening.text:
        return messages
    if not messages or messages[-1].get("role") != "user":
        return [*messages, {"role": "user", "content": opening.text}]
    after = f"\n\n{opening.text}" if message_text(messages[-1]) else opening.text
    return [*messages[:-1], with_text(messages[-1], after=after)]
