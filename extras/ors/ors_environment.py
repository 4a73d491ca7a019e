"""Environment `ors:URL` for episodes on an Open Reward Standard server. The row selects the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.agents.environments.environment import EnvironmentSpec, Opening, row_arguments
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.types import Observation
from rewardkit.errors import InputError
from rewardkit.foreign.services import Service
from rewardkit_extras.ors.ors_client import OrsOutcome, OrsSession
from rewardkit_extras.ors.ors_reward import task_of

REQUEST_S = 600.0
"""Time limit in seconds for one request. The episode's own limits usually end a request earlier."""


class OrsEnvironment:
    """Session on the server for one episode.

    If the server has a tool for plain messages, turns without a call are passed to this tool.
    """

    def __init__(self, spec: EnvironmentSpec, row: EpisodeRow) -> None:
        task = task_of(row_arguments(row))
        if task is None:
            raise InputError(
                "no task given: set extra_info.split (string) and extra_info.index (integer), or set "
                "extra_info.env_kwargs to either split and index, or task_spec"
            )
        self._task = task
        service = Service(spec.target, who="the ORS server", timeout_s=REQUEST_S, retries=5)
        self._session = OrsSession(service, spec.name)
        self._terminal: tuple[str, str] | None = None

    async def open(self) -> Opening:
        """Start a session for the task, and return the task's prompt and tools."""
        await self._session.open(self._task)
        found = await self._session.tools()
        self._terminal = found.terminal
        tools = [
            {
                "type": "function",
                "function": {
                    "name": one.name,
                    "description": one.description,
                    "parameters": dict(one.parameters),
                },
            }
            for one in found.tools
        ]
        return Opening(await self._session.prompt(), tools=tools)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Call a tool on the server."""
        return _observation(await self._session.call(name, arguments))

    async def say(self, text: str) -> Observation | None:
        """Pass a plain message to the server, or return None if no tool accepts it."""
        if self._terminal is None:
            return None
        name, argument = self._terminal
        return _observation(await self._session.call(name, {argument: text}))

    async def grade(self) -> None:
        """Return None, because the server returns a reward for each call."""

    async def close(self) -> None:
        """End the session."""
        await self._session.close()


def _observation(found: OrsOutcome) -> Observation:
    status = "bad_call" if found.refused else "ok"
    return Observation(found.text, found.reward, found.finished, status)  # type: ignore[arg-type]
