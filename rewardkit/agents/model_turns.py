"""Asks a model for one turn, by token ids or by messages, cuts the turn at stop texts, and parses its calls.

Nothing is kept here; the episode keeps the turns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.agents.encoding import plain_text
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import ChatModel, Reply, TokenModel
from rewardkit.special_tokens import thoughts_and_said
from rewardkit.tool_calls.call import Call
from rewardkit.tool_calls.formats import read
from rewardkit.types import Message


@dataclass(frozen=True, slots=True)
class Speaking:
    """Way in which an episode speaks to its model: by token ids, or by messages."""

    model: TokenModel | ChatModel
    transcript: Transcript | None
    """The tokenizer and its template, for a TokenModel; None: the model is a ChatModel."""
    calls: str = "hermes"
    """The format of calls in a turn's text, see `tool_calls/formats.py`."""
    stop: tuple[str, ...] = ()
    """Texts that end every turn, such as the label of an observation."""
    stop_token_ids: tuple[int, ...] = ()
    """Tokens that end every turn."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Request to the model for one turn."""

    seed: int
    max_tokens: int
    stop: Sequence[str]
    """Texts that end the turn."""
    stop_token_ids: Sequence[int]
    """Tokens that end the turn. They are not passed to a ChatModel."""


def turn_seed(seed: int, turn: int) -> int:
    """Return the seed of the model's turn number `turn`, counted from 0.

    The first turn has the episode's seed, so that an episode of one turn draws what a single response draws.
    The seeds of later turns have 31 bits, which every server takes.
    """
    if turn == 0:
        return seed
    digest = hashlib.blake2b(repr((seed, turn)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 33


def branch_seed(seed: int, branch: int) -> int:
    """Return the seed of an episode's branch, counted from 0: the first has the episode's own."""
    return turn_seed(turn_seed(seed, branch), branch)  # no turn of another branch has it


async def continue_ids(speaking: Speaking, ids: Sequence[int], wanted: TurnRequest) -> Reply:
    """Return a TokenModel's turn after the token ids `ids`, cut behind the first stop text."""
    model: Any = speaking.model
    transcript: Any = speaking.transcript
    reply: Reply = await model.generate(
        ids, seed=wanted.seed, max_tokens=wanted.max_tokens, stop_token_ids=wanted.stop_token_ids
    )
    made = list(reply.token_ids)[: wanted.max_tokens]
    kept = _until(wanted.stop, made, transcript) if wanted.stop else len(made)
    return replace(
        reply,
        text=transcript.text_of(made[:kept]),
        token_ids=made[:kept],
        log_probs=None if reply.log_probs is None else list(reply.log_probs)[:kept],
        weight_versions=None if reply.weight_versions is None else list(reply.weight_versions)[:kept],
        finish_reason="stop" if kept < len(made) else reply.finish_reason,
    )


async def continue_messages(
    speaking: Speaking, messages: Sequence[Message], schemas: Sequence[Mapping[str, Any]], wanted: TurnRequest
) -> Reply:
    """Return a ChatModel's turn after `messages`, cut behind the first stop text.

    Args:
        schemas: OpenAI's function schemas of the tools.
    """
    model: Any = speaking.model
    reply: Reply = await model.chat(messages, schemas, seed=wanted.seed, max_tokens=wanted.max_tokens)
    text = plain_text(reply.text)
    ends = [text.find(one) + len(one) for one in wanted.stop if one in text]
    if ends:
        return replace(reply, text=text[: min(ends)], finish_reason="stop")
    return replace(reply, text=text)


def parse(format: str, text: str) -> tuple[str, list[Call]]:
    """Return the text of a turn beside its calls, and its calls in order.

    The thinking (a first thought that the prompt opened, and each later one) is part of the text; calls in it
    do not count. A thought that is never closed is none: its tag may stand in an argument.

    Args:
        format: A name in `FORMATS`.
        text: Of the turn, with its special tokens.

    Raises:
        ConfigError: there is no such format.
    """
    thoughts, said = thoughts_and_said(text)
    content, calls = read(format, said)
    return thoughts + content, calls


def _until(stop: Sequence[str], ids: Sequence[int], transcript: Transcript) -> int:
    """Return how many of `ids` to keep: up to the one that completes a stop text, or all."""
    text = transcript.text_of(ids, special=True)
    if not any(one in text for one in stop):
        return len(ids)
    low, high = 1, len(ids)
    while low < high:  # the text of more ids holds what that of fewer holds
        middle = (low + high) // 2
        text = transcript.text_of(ids[:middle], special=True)
        low, high = (low, middle) if any(one in text for one in stop) else (middle + 1, high)
    return low
