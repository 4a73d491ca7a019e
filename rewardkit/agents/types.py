"""Data types and protocols for episodes, such as limits, models, tools, interactions and turns.

`episode.py` defines the episode itself, and `loops/` contains the loops that drive it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from rewardkit.tool_calls.call import Call
from rewardkit.types import Message

Role = Literal["assistant", "tool", "user"]

ENDED = (
    "answered",  # the last turn makes no tool call, so it is the answer
    "done",  # the interaction or a tool ended the episode
    "response_tokens",  # token limit of the whole response, including observations
    "context_tokens",  # context length of the model, including the prompt
    "assistant_turns",
    "user_turns",
    "branches",  # an external program rewrote its history too often
    "seconds",
    "tool_failed",  # a tool failed after all retries, through no fault of the model
    "interaction_failed",
    "cancelled",
    "no_turn",  # the loop, a tool or a limit ended the episode before the model's first turn
    "error",  # the loop or the model raised an exception
)
"""Reasons for the end of an episode. An episode ends for exactly one reason, and its tokens are always
kept."""


@dataclass(frozen=True, slots=True)
class EpisodeLimits:
    """Limits of one episode. None means no limit."""

    response_tokens: int
    """Maximum number of tokens in the response, including tokens from tools and the user."""
    context_tokens: int | None = None
    """Maximum number of tokens in the prompt and the response together."""
    prompt_tokens: int | None = None
    """Maximum number of tokens in a prompt that a program or an environment writes."""
    turn_tokens: int | None = None
    """Maximum number of tokens in one turn of the model."""
    assistant_turns: int | None = None
    user_turns: int | None = None
    seconds: float | None = None
    """Time limit for the whole episode in seconds. It is checked between turns and also limits the wait for a
    tool or an interaction. It does not interrupt a turn of the model."""
    parallel_calls: int = 1
    """Maximum number of calls that are executed in one turn. These calls run concurrently. For each further
    call, the observation says that the call was not executed."""
    tool_response_chars: int = 256
    """Maximum number of characters in an observation. Longer observations are truncated, as with verl's
    `max_tool_response_length`."""
    tool_response_truncate_side: Literal["left", "middle", "right"] = "middle"
    tool_seconds: float = 30.0
    """Time limit in seconds for one execution of a tool, or for one reply from an interaction."""
    tool_retries: int = 1
    """Number of retries if the tool itself fails. Invalid calls are not retried."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of the model."""

    text: str
    token_ids: Sequence[int] = ()
    """Token ids as generated, including the end token, or () if the engine does not return token ids."""
    log_probs: Sequence[float] | None = None
    finish_reason: Literal["stop", "length", "aborted"] = "stop"
    calls: Sequence[Call] | None = None
    """Calls parsed by the engine, such as a chat endpoint, or None if the calls are still in the text."""
    tokens: int | None = None
    """Number of tokens in the turn, from engines that return this number instead of token ids."""
    weight_versions: Sequence[int] | None = None
    """Version of the weights that sampled each token, for engines whose weights may change during a turn."""
    routed_experts: Any = None
    """Experts chosen for each token of the prompt and the turn except the last token, as an integer array of
    shape (tokens - 1, layers, experts), or None if the engine does not report the experts."""


class TokenModel(Protocol):
    """Engine that continues a sequence of token ids. Many coroutines call it concurrently.

    Some engines answer the requests of several episodes together. Such an engine also has the method `idle`,
    which returns a context manager; inside it, the engine does not wait for a request from this episode. If
    an engine's attribute `constrains` is True, its `generate` also takes `constraint`. It contains the fields
    of vLLM's SamplingParams that restrict the tokens of a turn: `structured_outputs` and `min_tokens`.
    """

    async def generate(
        self, token_ids: Sequence[int], *, seed: int, max_tokens: int, stop_token_ids: Sequence[int] = ()
    ) -> Reply:
        """Return the continuation of `token_ids`. Cancelling the call aborts the request."""
        ...


class ChatModel(Protocol):
    """Engine that takes messages and returns text without token ids, such as a chat endpoint."""

    async def chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        seed: int,
        max_tokens: int,
    ) -> Reply:
        """Return the next turn. `tools` are OpenAI function schemas."""
        ...


@dataclass(frozen=True, slots=True)
class Observation:
    """Result of one tool call."""

    text: str
    reward: float | None = None
    """Reward to add to the turn that made the call, or None for no reward."""
    done: bool = False
    """True if the observation ends the episode."""
    status: Literal["ok", "bad_call", "error", "timeout"] = "ok"
    """Outcome of the call. `bad_call` means a mistake by the model, such as an unknown tool or invalid
    arguments. `error` and `timeout` mean that the tool failed, even after retries."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    whole: bool = False
    """True if the text is never truncated. This is set for environments, which limit their texts
    themselves."""


class Tool(Protocol):
    """Tool for one episode, with state that is kept until the episode ends.

    Each episode has its own instance. Once `create` has been called, `release` is called exactly once, even
    after failures.
    """

    name: str
    schema: Mapping[str, Any]
    """OpenAI function schema: `{"type": "function", "function": {"name", "description", "parameters"}}`."""

    async def create(self, **kwargs: Any) -> None:
        """Initialise the state from the row's `tools_kwargs[name]["create_kwargs"]`."""
        ...

    async def execute(self, arguments: Mapping[str, Any]) -> Observation:
        """Execute one call. An episode makes one call at a time unless `parallel_calls` is above 1."""
        ...

    async def reward(self) -> float | None:
        """Return the reward for the tool's final state, or None if the tool gives no reward."""
        ...

    async def release(self) -> None:
        """Release the tool's resources."""
        ...


@dataclass(frozen=True, slots=True)
class UserTurn:
    """Reply from an interaction to a turn of the model."""

    text: str = ""
    """Text of the next user turn. If `done` is True, the model does not receive this text."""
    reward: float | None = None
    """Reward to add to the model's turn, or None for no reward."""
    done: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)


class Busy(Exception):
    """Raised by `Interaction.start` if the interaction can start only after another episode has ended."""

    def __init__(self, free: Callable[[], Awaitable[None]]) -> None:
        """Create the exception. `free` is a coroutine function that returns when `start` may be called
        again."""
        super().__init__("no session is free")
        self.free = free


class Interaction(Protocol):
    """User in one episode, simulated by code that gives feedback or plays a person.

    Each episode has its own instance. Once `start` has been called, `finish` is called exactly once.
    """

    async def start(self, **kwargs: Any) -> None:
        """Start the interaction.

        The arguments are `ground_truth`, `data_source` and the row's `interaction_kwargs` except `name`.

        Raises:
            Busy: The interaction cannot start yet. The time limit of the episode excludes the wait.
        """
        ...

    async def respond(self, messages: Sequence[Message]) -> UserTurn:
        """Reply to the last assistant turn."""
        ...

    async def score(self) -> float | None:
        """Return the reward for the whole episode, or None to leave scoring to the row's reward."""
        ...

    async def finish(self) -> None:
        """Release the interaction's resources."""
        ...


@dataclass(slots=True)
class Turn:
    """One turn after an episode's prompt. Its tokens are `response_ids[start:end]` of the episode."""

    role: Role
    text: str
    start: int = 0
    end: int = 0
    """Exclusive end of the turn's tokens. A tool or user turn includes the tokens that the template adds
    around the text, and all its tokens have mask 0."""
    calls: list[Call] = field(default_factory=list)
    reward: float | None = None
    """Sum of the rewards that tools, the interaction and the loop gave to an assistant turn."""
    statuses: list[str] = field(default_factory=list)
    """Status of each observation in a tool turn."""
    finish_reason: str | None = None
    """Finish reason of an assistant turn, as in `Reply`."""
    tokens: int | None = None
    """Number of tokens in an assistant turn without token ids, as in `Reply`."""
