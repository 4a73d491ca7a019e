"""Trial episodes with a fixed reply, for each environment and program of a run, before a model is loaded.

A trial episode finds a wrong address, a task that does not exist or a program that cannot start. The model's
only turn in it is a digit, because a short text is a valid action in most environments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from rewardkit.agents.episode import Episode
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.resolving import EpisodeSetup, ResolvedEpisode
from rewardkit.agents.runner import drive, run_episodes
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import Reply
from rewardkit.errors import InputError
from rewardkit.types import Message

_MOST = 8
"""Maximum number of trial episodes. Each row of a run may name its own environment."""


@dataclass
class FixedReply:
    """TokenModel and ChatModel that replies with the same text in every turn."""

    transcript: Transcript | None
    """Tokenizer and chat template, or None if only messages are used."""
    text: str = "0"

    async def generate(
        self, token_ids: Sequence[int], *, seed: int, max_tokens: int, stop_token_ids: Sequence[int] = ()
    ) -> Reply:
        """Return the text and the token that ends a turn."""
        assert self.transcript is not None
        ids = [*self.transcript.encoder.untrusted(self.text), *self.transcript.end_ids[:1]][:max_tokens]
        return Reply(self.text, ids, [0.0] * len(ids))

    async def chat(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], *, seed: int, max_tokens: int
    ) -> Reply:
        """Return the text."""
        return Reply(self.text)


def rehearse(
    rows: Sequence[EpisodeRow], episodes: Sequence[ResolvedEpisode], setting: EpisodeSetup
) -> list[str]:
    """Play an episode for the first row of each environment and program, and return notes for the user.

    Args:
        rows: Rows of the run.
        episodes: Episodes for the rows, in the same order.
        setting: Settings of the run. Without a transcript, the turns are messages.

    Raises:
        InputError: An episode failed before the model's first turn. The message gives the reason.
    """
    first: dict[tuple[str, str], EpisodeRow] = {}
    for row, one in zip(rows, episodes, strict=True):
        if one.agent.tools == "program":
            env = setting.env or str(row.extra_info.get("env") or "") if one.agent.opens else ""
            first.setdefault((one.agent.name, env), row)
    chosen = list(islice(first.values(), _MOST))
    if not chosen:
        return []
    short = replace(setting, limits=replace(setting.limits, assistant_turns=1))
    played = drive(run_episodes(chosen, FixedReply(setting.transcript), short, [0] * len(chosen)))
    return [note for one in played if (note := _note_on(one))]


def _note_on(episode: Episode) -> str | None:
    """Return a note if the trial episode cannot be scored, or None if it can be scored.

    A trained model may still succeed in a later turn in which the fixed reply fails.

    Raises:
        InputError: The episode failed before the model's first turn.
    """
    if episode.status == "ok":
        return None
    if not episode.turns:
        raise InputError(f"the agent '{episode.agent_name}' cannot start the first episode: {episode.detail}")
    return (
        f"the agent '{episode.agent_name}': an episode whose only turn is '0' has the status "
        f"{episode.status}: {episode.detail}"
    )
