"""Episodes that a program of a test plays, with a model that says what the test tells it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from rewardkit.agents.endpoint.program import ProgramEnd
from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.executing import describe
from rewardkit.agents.registry import AGENTS
from rewardkit.agents.resolving import EpisodeSetup
from rewardkit.agents.runner import run_episode
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits
from tests.agents.conftest import Echo, Script

ASKED = [{"role": "user", "content": "What is 12 + 30?"}]
ECHO = dict(Echo().schema)
"""The tool's schema."""
PLENTY = EpisodeLimits(2000)


@dataclass
class Plays:
    """Settings of `external` whose program is a coroutine function of the test's."""

    play: Callable[[str, Any], Awaitable[Any]]
    timeout_s: float = 60.0
    max_branches: int = 16

    async def run(self, base_url: str, row: EpisodeRow) -> ProgramEnd:
        try:
            found = await self.play(base_url, list(row.messages))
        except Exception as error:
            return ProgramEnd(describe(error))
        return ProgramEnd(answer=found)


def give(program: Any) -> None:
    """Let `external` run this program from now on."""
    AGENTS.register(replace(AGENTS.resolve("external"), given=program))


def play(
    tokenizer: Any,
    turns: Sequence[Any],
    program: Any,
    limits: EpisodeLimits = PLENTY,
    transcript: Transcript | None = None,
    model: Script | None = None,
) -> tuple[Episode, Script]:
    """Play one episode; return it and its model."""
    give(program if hasattr(program, "run") else Plays(program))
    model = model or Script(tokenizer, turns)
    setting = EpisodeSetup(limits, transcript or Transcript(tokenizer))
    row = EpisodeRow(ASKED, "gsm8k", "42", {"index": 3}, "external")
    return asyncio.run(run_episode(row, model, setting, seed=7)), model


def recorded(episode: Episode) -> tuple[Any, ...]:
    """What training takes from an episode."""
    return (
        *(episode.prompt_ids, episode.response_ids, episode.response_mask),
        *(episode.log_probs, episode.weight_versions),
    )


async def post(base_url: str, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    """Return the status of an answer, and its JSON, or its text where it is a stream."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(base_url + path, json=body, headers=headers) as answer,
    ):
        text = await answer.text()
        return answer.status, text if text.startswith(("data:", "event:")) else json.loads(text)


async def chat(base_url: str, messages: Sequence[Any], **more: Any) -> Any:
    """Return the assistant's message.

    Raises:
        RuntimeError: the endpoint refuses.
    """
    status, said = await post(base_url, "/chat/completions", {"model": "m", "messages": messages, **more})
    if status != 200:
        raise RuntimeError(said["error"]["message"])
    return said["choices"][0]["message"]
