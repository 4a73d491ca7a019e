"""Asks a model for one turn, by token ids or by messages, and cuts the turn at stop texts.

Nothing is kept here; the episode keeps the turns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.agents.encoding import plain_text
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import Call, ChatModel, Reply, TokenModel
from rewardkit.types import Message

Parse = Callable[[str], tuple[str, list[Call]]]
"""(what the model wrote) -> (the text without calls, the calls); of `calls.py`."""


@dataclass(frozen=True, slots=True)
class Speaking:
    """How an episode speaks to its model: by token ids, or by messages."""

    model: TokenModel | ChatModel
    transcript: Transcript | None
    """The tokenizer and its template, for a TokenModel; None: the model is a ChatModel."""
    parse: Parse
    """Finds calls in a turn's text."""
    stop: tuple[str, ...] = ()
    """Texts that end every turn, such as the label of an observation."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """What is asked of the model for one turn."""

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
