"""Data types for the settings of a run, the requests to an engine and the engine's answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings
from rewardkit.types import Message, Status


@dataclass(frozen=True, slots=True)
class EpisodeSettings(NetworkSettings):
    """Settings of multi-turn episodes. Settings that verl's `multi_turn` also has are named as in verl."""

    agent: str | None = None
    """Agent loop for all rows, which overrides the rows' own loops, or None to let rows choose."""
    default_agent: str | None = None
    """Agent loop for rows that name none, or None to choose by the tools, interactions and environment."""
    agent_file: str = ""
    """File of agents, see `rewardkit.agents.agent_files`, or empty for none."""
    tools: str = ""
    """Names or paths of YAML files for `rewardkit.agents.loading.load_tools`."""
    env: Address = NO_ADDRESS
    """Environment of all rows as `KIND:TARGET`, for the loop `env`, or empty to use that of each row."""
    interactions: str = ""
    """Names or paths of YAML files for `rewardkit.agents.interactions.load_interactions`."""
    calls: str | None = None
    """Format in which the model writes tool calls, or None to detect it from the chat template."""
    max_assistant_turns: int | None = None
    max_user_turns: int | None = None
    """Maximum number of user turns. Rounds of tool calls count as user turns."""
    max_turn_tokens: int | None = None
    max_parallel_calls: int = 1
    max_tool_response_length: int = 256
    """Maximum number of characters of a tool response."""
    tool_response_truncate_side: Literal["left", "middle", "right"] = "middle"
    tool_seconds: float = 30.0
    episode_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """Settings for drawing responses. The same settings, prompts and model give the same responses."""

    n: int = 1
    """Number of responses to each prompt."""
    temperature: float = 1.0
    """Sampling temperature, or 0 for greedy decoding."""
    top_p: float = 1.0
    top_k: int = -1
    """Number of most likely tokens to sample from, or -1 for all tokens."""
    max_tokens: int = 1024
    """Maximum number of tokens of a response. In an episode, tokens of tools and users are included."""
    max_prompt_tokens: int | None = None
    """Maximum number of tokens of a prompt, or None for the model's limit. A longer prompt is an error."""
    seed: int = 0
    stop: tuple[str, ...] = ()
    """Texts that end a response. They are not part of the response."""
    log_probs: bool = False
    """True to keep the log-probability of each generated token, in nats."""
    episodes: EpisodeSettings | None = None
    """Settings of multi-turn episodes, or None if responses are single turns."""


@dataclass(frozen=True, slots=True)
class EngineSettings(NetworkSettings):
    """Name and settings of an engine."""

    name: str
    """Name of the engine: `vllm`, `hf` or `endpoint`."""
    model: str
    url: Address | None = None
    """URL of an OpenAI-compatible server, including `/v1`."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that contains the endpoint's key."""
    concurrency: int = 64
    """Maximum number of requests in flight at an endpoint."""
    retries: int = 5
    request_timeout_s: float = 600.0
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_num_seqs: int = 256
    """Maximum number of sequences generated at once."""
    max_model_len: int | None = None
    trust_remote_code: bool = False


class GenerationRequest(msgspec.Struct, frozen=True):
    """Request for a response."""

    row: int
    """Index of the prompt in its file, from 0."""
    sample: int
    """Index of the response among the responses to the prompt, from 0."""
    messages: list[Message]
    seed: int
    episode: EpisodeRow | None = None
    """Row of the prompt in the form that an episode needs, or None if the response is a single turn."""


class TurnRecord(msgspec.Struct, frozen=True):
    """Record of a turn in an episode."""

    role: str
    """Role of the turn: `assistant`, `tool` or `user`."""
    text: str
    tokens: int | None
    """Number of tokens, or None if an endpoint does not count them."""
    reward: float | None = None
    calls: list[str] = msgspec.field(default_factory=list)
    """Tool calls, each as JSON with `name`, `arguments` and, if the call could not be parsed, `error`."""
    statuses: list[str] = msgspec.field(default_factory=list)
    """Status of each observation in a tool's turn."""


class EpisodeRecord(msgspec.Struct, frozen=True):
    """Record of an episode, as written to the journal and to files."""

    agent: str
    ended: str
    """Reason why the episode ended, one of `rewardkit.agents.types.ENDED`."""
    status: Status
    turns: list[TurnRecord]
    detail: str | None = None
    tool_rewards: dict[str, float] = msgspec.field(default_factory=dict)
    interaction_score: float | None = None

    @property
    def turn_rewards(self) -> list[float | None]:
        """Return the reward of each of the model's turns."""
        return [turn.reward for turn in self.turns if turn.role == "assistant"]


class Completion(msgspec.Struct, frozen=True):
    """Response to a prompt, or the `error` of a failed request, which has no text."""

    row: int
    sample: int
    text: str | None = None
    finish_reason: str = "stop"
    """Reason why the response ended: `stop`, `length` or, from an endpoint, another reason."""
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    log_probs: list[float] | None = None
    error: str | None = None
    episode: EpisodeRecord | None = None
    """Episode, if the response is an episode. `text` is then the model's last turn, and the tokens and
    log-probabilities are those of the model's turns."""


Done = Callable[[Completion], None]
"""Callback for each finished response, called in the thread that runs the engine."""


class GenerationEngine(Protocol):
    """Engine that answers requests with completions."""

    def run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        """Answer every request once, in any order."""
        ...

    def close(self) -> None:
        """Release the engine's resources."""
        ...


def request_seed(seed: int, row: int, sample: int) -> int:
    """Return the seed of a response. It has 31 bits, so that every server accepts it."""
    digest = hashlib.blake2b(repr((seed, row, sample)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 33
