"""Functions that request a turn from a model, by token ids or by messages, and parse its tool calls.

The functions truncate the turn at stop texts. They keep no state, because the episode stores its turns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """Model of an episode, with the settings for requesting its turns."""

    model: TokenModel | ChatModel
    transcript: Transcript | None
    """Tokenizer and chat template of a TokenModel, or None if the model is a ChatModel."""
    calls: str = "hermes"
    """Format of calls in the text of a turn. See `tool_calls/formats.py`."""
    stop: tuple[str, ...] = ()
    """Texts that end every turn, such as the label of an observation."""
    stop_token_ids: tuple[int, ...] = ()
    """Ids of the tokens that end every turn."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """Request to the model for one turn."""

    seed: int
    max_tokens: int
    stop: Sequence[str]
    """Texts that end the turn."""
    stop_token_ids: Sequence[int]
    """Ids of the tokens that end the turn. They are not passed to a ChatModel."""
    constraint: Mapping[str, Any] = field(default_factory=dict)
    """Restrictions on the tokens. Only an engine that `constrains` accepts them (see `TokenModel`)."""


def turn_seed(seed: int, turn: int) -> int:
    """Return the seed for the model's turn with the index `turn`, counted from 0.

    The first turn uses the episode's seed, so an episode with one turn samples the same tokens as a single
    response. The seeds for later turns have 31 bits, because every server accepts seeds of this size.
    """
    if turn == 0:
        return seed
    digest = hashlib.blake2b(repr((seed, turn)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 33


def branch_seed(seed: int, branch: int) -> int:
    """Return the seed for the branch with the index `branch`. The first branch uses the episode's seed."""
    # Hashing twice gives a seed that differs from the seeds of all turns.
    return turn_seed(turn_seed(seed, branch), branch)


async def continue_ids(speaking: Speaking, ids: Sequence[int], wanted: TurnRequest) -> Reply:
    """Request the turn that follows `ids` from a TokenModel, and truncate it after the first stop text."""
    model: Any = speaking.model
    transcript: Any = speaking.transcript
    asked: dict[str, Any] = {"seed": wanted.seed, "max_tokens": wanted.max_tokens}
    if wanted.constraint:
        asked["constraint"] = wanted.constraint
    reply: Reply = await model.generate(ids, stop_token_ids=wanted.stop_token_ids, **asked)
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
    """Request the turn that follows `messages` from a ChatModel, and truncate it after the first stop text.

    Args:
        speaking: Model, and settings for requesting its turns.
        messages: Conversation so far.
        schemas: OpenAI function schemas of the tools.
        wanted: Seed, token limit and stop texts for the turn.
    """
    model: Any = speaking.model
    reply: Reply = await model.chat(messages, schemas, seed=wanted.seed, max_tokens=wanted.max_tokens)
    text = plain_text(reply.text)
    ends = [text.find(one) + len(one) for one in wanted.stop if one in text]
    if ends:
        return replace(reply, text=text[: min(ends)], finish_reason="stop")
    return replace(reply, text=text)


def parse(format: str, text: str) -> tuple[str, list[Call]]:
    """Return the text of a turn without its tool calls, and the tool calls in order.

    The returned text includes the model's reasoning, in which calls are ignored. The reasoning consists of
    the first reasoning block, which the prompt may have opened, and all later blocks. A block that is never
    closed is not treated as reasoning, because its opening tag may be part of an argument.

    Args:
        format: Name of a format in `FORMATS`.
        text: Text of the turn, with special tokens.

    Raises:
        ConfigError: The format does not exist.
    """
    thoughts, said = thoughts_and_said(text)
    content, calls = read(format, said)
    return thoughts + content, calls


def _until(stop: Sequence[str], ids: Sequence[int], transcript: Transcript) -> int:
    """Return the number of leading `ids` to keep. If there is a stop text, the kept ids end with the first
    one."""
    text = transcript.text_of(ids, special=True)
    if not any(one in text for one in stop):
        return len(ids)
    low, high = 1, len(ids)
    # Binary search is possible, because if a prefix contains a stop text, so does every longer prefix.
    while low < high:
        middle = (low + high) // 2
        text = transcript.text_of(ids[:middle], special=True)
        low, high = (low, middle) if any(one in text for one in stop) else (middle + 1, high)
    return low
