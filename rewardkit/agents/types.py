"""The parts of an episode as plain data and protocols: limits, models, tools, interactions, turns.

The episode itself is in `episode.py`, the loops that drive it in `loops/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from rewardkit.tool_calls.call import Call
from rewardkit.types import Message

Role = Literal["assistant", "tool", "user"]

ENDED = (
    "answered",  # a turn without a call of a tool, which is the answer
    "done",  # the interaction, or a tool, says so
    "response_tokens",  # the budget of the whole response, observations included
    "context_tokens",  # what the model can take, prompt included
    "assistant_turns",
    "user_turns",
    "branches",  # a program has rewritten its history too often
    "seconds",
    "tool_failed",  # beyond its retries, for a reason that is ours
    "interaction_failed",
    "cancelled",
    "error",  # the loop itself raised
)
"""Reasons why an episode ended: exactly one of these. Whatever the reason, the episode's tokens are kept."""


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """The limits of one episode. None: no limit."""

    response_tokens: int
    """Tokens of the response: those of the model, the tools and the user together."""
    context_tokens: int | None = None
    """Tokens of prompt and response together."""
    prompt_tokens: int | None = None
    """Tokens of a prompt that a program or an environment writes."""
    turn_tokens: int | None = None
    """Tokens of one turn of the model."""
    assistant_turns: int | None = None
    user_turns: int | None = None
    seconds: float | None = None
    """Elapsed time since the episode's start. It is checked between turns, and bounds each wait for a tool or
    an interaction; a turn of the model is not cut short."""
    parallel_calls: int = 1
    """Calls of one turn that are executed, at once. The others get an observation that says that they were
    not."""
    tool_response_chars: int = 256
    """Characters of an observation; a longer one is cut and marked as truncated. verl's
    `max_tool_response_length`."""
    tool_response_truncate_side: Literal["left", "middle", "right"] = "middle"
    tool_seconds: float = 30.0
    """Elapsed time of one execution of a tool, or of one answer of an interaction."""
    tool_retries: int = 1
    """Further tries after the tool itself has failed. A bad call is not tried again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of the model."""

    text: str
    token_ids: Sequence[int] = ()
    """Ids as the model produced them, the end token included; empty where the engine shows no tokens."""
    log_probs: Sequence[float] | None = None
    finish_reason: Literal["stop", "length", "aborted"] = "stop"
    calls: Sequence[Call] | None = None
    """Calls that the engine has parsed itself (a chat endpoint); None: they are in the text."""
    tokens: int | None = None
    """Number of tokens of the turn, where the engine reports only their number."""
    weight_versions: Sequence[int] | None = None
    """Version of the weights that drew each token, where it may change during a turn."""
    routed_experts: Any = None
    """Experts of each token up to the last, those of the prompt first: an array of whole numbers, (tokens -
    1, layers, experts); None where the engine does not tell."""


class TokenModel(Protocol):
    """An engine that continues token ids. Many coroutines call it at once."""

    async def generate(
        self, token_ids: Sequence[int], *, seed: int, max_tokens: int, stop_token_ids: Sequence[int] = ()
    ) -> Reply:
        """Return the continuation of `token_ids`; cancelling the call aborts the request."""
        ...


class ChatModel(Protocol):
    """An engine that takes messages and returns text without tokens, such as a chat endpoint."""

    async def chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        seed: int,
        max_tokens: int,
    ) -> Reply:
        """Return the next turn; `tools` are OpenAI's function schemas."""
        ...


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of one call of a tool."""

    text: str
    reward: float | None = None
    """Added to the reward of the turn that made the call. None: no reward."""
    done: bool = False
    """The episode ends here."""
    status: Literal["ok", "bad_call", "error", "timeout"] = "ok"
    """`bad_call`: the model's fault (unknown tool, bad arguments). `error`, `timeout`: the tool failed, also
    when it was tried again."""
    metrics: Mapping[str, float] = field(default_factory=dict)


class Tool(Protocol):
    """A tool of one episode. Its state lasts from the episode's start to its end.

    A new one is made for every episode. Once `create` has begun, `release` is called exactly once, whatever
    happens in between.
    """

    name: str
    schema: Mapping[str, Any]
    """OpenAI's function schema: `{"type": "function", "function": {"name", "description", "parameters"}}`."""

    async def create(self, **kwargs: Any) -> None:
        """Begin; `kwargs` are the row's `tools_kwargs[name]["create_kwargs"]`."""
        ...

    async def execute(self, arguments: Mapping[str, Any]) -> Observation:
        """Answer one call. Calls of one episode come one at a time unless `parallel_calls` is above 1."""
        ...

    async def reward(self) -> float | None:
        """Return the reward for the tool's state at the end of the episode; None: it gives none."""
        ...

    async def release(self) -> None:
        """Give back what it holds."""
        ...


@dataclass(frozen=True, slots=True)
class UserTurn:
    """The answer of an interaction to a turn of the model."""

    text: str = ""
    """The next turn of the user. The model is not shown it where `done`."""
    reward: float | None = None
    """Added to the reward of the turn that it answers. None: no reward."""
    done: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)


class Interaction(Protocol):
    """The user of one episode: gives feedback on answers, or plays a person. A new one for every episode.

    Once `start` has begun, `finish` is called exactly once.
    """

    async def start(self, **kwargs: Any) -> None:
        """Begin; `kwargs`: the row's `interaction_kwargs` less `name`, and `ground_truth`, `data_source`."""
        ...

    async def respond(self, messages: Sequence[Message]) -> UserTurn:
        """Answer the last assistant's turn."""
        ...

    async def score(self) -> float | None:
        """Return the reward for the whole episode; None: the row's reward alone decides."""
        ...

    async def finish(self) -> None:
        """Give back what it holds."""
        ...


@dataclass(slots=True)
class Turn:
    """One turn of an episode after its prompt: the tokens `start` to `end` of the response."""

    role: Role
    text: str
    start: int = 0
    end: int = 0
    """Exclusive. A tool's or user's turn has the template's tokens around it too, all with mask 0."""
    calls: list[Call] = field(default_factory=list)
    reward: float | None = None
    """Sum of the rewards that tools, interaction and loop gave for an assistant's turn."""
    statuses: list[str] = field(default_factory=list)
    """Status of each observation in a tool's turn."""
    finish_reason: str | None = None
    """Finish reason of an assistant's turn, as in `Reply`."""
    tokens: int | None = None
    """Number of tokens of an assistant's turn whose ids are not shown, as in `Reply`."""
