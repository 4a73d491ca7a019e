"""What an episode's parts are to each other: models, tools, interactions, calls. Plain data and protocols.

The episode itself is in `episode.py`, the loops that drive it in `loops/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from rewardkit.types import Message

Role = Literal["assistant", "tool", "user"]

ENDED = (
    "answered",  # a turn without a call of a tool, which is the answer
    "done",  # the interaction, or a tool, says so
    "response_tokens",  # the budget of the whole response, observations included
    "context_tokens",  # what the model can take, prompt included
    "assistant_turns",
    "user_turns",
    "seconds",
    "tool_failed",  # beyond its retries, for a reason that is ours
    "interaction_failed",
    "cancelled",
    "error",  # the loop itself raised
)
"""Why an episode ended: exactly one of these. None of them loses the episode's tokens."""


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """What one episode may use. None: no limit."""

    response_tokens: int
    """Of the model, the tools and the user together."""
    context_tokens: int | None = None
    """Of prompt and response together."""
    turn_tokens: int | None = None
    """Of one assistant's turn."""
    assistant_turns: int | None = None
    user_turns: int | None = None
    seconds: float | None = None
    """From the episode's start; checked between turns and while a tool or a user is waited for."""
    parallel_calls: int = 1
    """Calls of one turn that are executed; the others get an observation that says so."""
    tool_response_chars: int = 256
    """A longer observation is cut, and says so. Characters, as verl's `max_tool_response_length`."""
    tool_response_truncate_side: Literal["left", "middle", "right"] = "middle"
    tool_seconds: float = 30.0
    """One execution of a tool, or one answer of an interaction."""
    tool_retries: int = 1
    """Further tries after a failure that is the tool's own (not a bad call, which is an observation)."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said in one turn."""

    text: str
    token_ids: Sequence[int] = ()
    """As the model produced them, the end token included; empty where the engine shows no tokens."""
    log_probs: Sequence[float] | None = None
    finish_reason: Literal["stop", "length", "aborted"] = "stop"
    calls: Sequence[Call] | None = None
    """Calls that the engine has parsed itself (a chat endpoint); None: they are in the text."""
    tokens: int | None = None
    """How many the turn has, where the engine counts them and shows none."""


class TokenModel(Protocol):
    """An engine that continues token ids. Many coroutines call it at once."""

    async def generate(
        self, token_ids: Sequence[int], *, seed: int, max_tokens: int, stop_token_ids: Sequence[int] = ()
    ) -> Reply:
        """Return the continuation of `token_ids`; cancelling the call aborts the request."""
        ...


class ChatModel(Protocol):
    """An engine that takes messages, and keeps its tokens to itself."""

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
class Call:
    """One call of a tool, as the model wrote it."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""
    error: str | None = None
    """Why it cannot be executed (malformed JSON, no name, ...); the observation says this."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a tool's execution came to."""

    text: str
    reward: float | None = None
    """Of the turn that made the call."""
    done: bool = False
    """The episode ends here."""
    status: Literal["ok", "bad_call", "error", "timeout"] = "ok"
    """`bad_call`: the model's fault (unknown tool, bad arguments); `error`, `timeout`: the tool's, beyond its
    retries."""
    metrics: Mapping[str, float] = field(default_factory=dict)


class Tool(Protocol):
    """A tool of one episode, with a state that lives from its start to its end.

    A fresh one is made for every episode. `release` is always called once after a `create` was begun,
    whatever happened in between.
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
        """The reward for the tool's state at the end of the episode; None: it gives none."""
        ...

    async def release(self) -> None:
        """Give back what it holds."""
        ...


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What an interaction answers to an assistant's turn."""

    text: str = ""
    """The next user turn; not shown where `done`."""
    reward: float | None = None
    """Of the assistant's turn that it answers."""
    done: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)


class Interaction(Protocol):
    """The other side of one episode: gives feedback, plays a user. A fresh one for every episode.

    `finish` is always called once after a `start` was begun.
    """

    async def start(self, **kwargs: Any) -> None:
        """Begin; `kwargs`: the row's `interaction_kwargs` less `name`, and `ground_truth`, `data_source`."""
        ...

    async def respond(self, messages: Sequence[Message]) -> UserTurn:
        """Answer the last assistant's turn."""
        ...

    async def score(self) -> float | None:
        """The reward for the episode as a whole; None: the row's reward alone decides."""
        ...

    async def finish(self) -> None:
        """Give back what it holds."""
        ...


@dataclass(slots=True)
class Turn:
    """One turn of an episode after its prompt; tokens `start` to `end` of the response."""

    role: Role
    text: str
    start: int = 0
    end: int = 0
    """Exclusive. A tool's or user's turn has the template's tokens around it too, all with mask 0."""
    calls: list[Call] = field(default_factory=list)
    reward: float | None = None
    """Of an assistant's turn: what the tools and the interaction gave for it, summed."""
    statuses: list[str] = field(default_factory=list)
    """Of a tool's turn: the status of each observation."""
    finish_reason: str | None = None
    """Of an assistant's turn, as `Reply.finish_reason`."""
