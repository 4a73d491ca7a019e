"""Data types for the settings of a run, the requests to an engine and the completions from an engine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.http_addresses import NO_ADDRESS, Address, NetworkSettings
from rewardkit.types import Message, Status


@dataclass(frozen=True, slots=True)
class EpisodeSettings(NetworkSettings):
    """Settings for multi-turn episodes. Settings that also exist in verl's `multi_turn` have verl's names."""

    agent: str | None = None
    """Agent loop for all rows, or None to use the loop that each row names."""
    default_agent: str | None = None
    """Agent loop for rows that do not name a loop, or None to select the loop based on the tools,
    interactions and environment."""
    agent_file: str = ""
    """Path of an agent file (see `rewardkit.agents.agent_files`), or empty for none."""
    tools: str = ""
    """Names or paths of YAML files for `rewardkit.agents.loading.load_tools`."""
    env: Address = NO_ADDRESS
    """Environment for all rows (`KIND:TARGET`) in the loop `env`, or empty to use the rows' environments."""
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
    """Maximum number of characters in a tool response."""
    tool_response_truncate_side: Literal["left", "middle", "right"] = "middle"
    tool_seconds: float = 30.0
    episode_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """Settings for sampling responses. The same settings, prompts and model give the same responses."""

    n: int = 1
    """Number of responses to each prompt."""
    temperature: float = 1.0
    """Sampling temperature, or 0 for greedy decoding."""
    top_p: float = 1.0
    top_k: int = -1
    """Number of most likely tokens to sample from, or -1 for all tokens."""
    max_tokens: int = 1024
    """Maximum number of tokens in a response. In an episode, tokens from tools and users are included."""
    max_prompt_tokens: int | None = None
    """Maximum number of tokens in a prompt, or None for the model's limit. A longer prompt is an error."""
    seed: int = 0
    stop: tuple[str, ...] = ()
    """Strings that end a response. They are not part of the response."""
    log_probs: bool = False
    """True to keep the log-probability of each generated token, in nats."""
    sampling_params: dict[str, Any] = field(default_factory=dict)
    """Further arguments for vLLM's `SamplingParams`, or further fields of requests to an endpoint."""
    episodes: EpisodeSettings | None = None
    """Settings for multi-turn episodes, or None if responses are single turns."""


@dataclass(frozen=True, slots=True)
class EngineSettings(NetworkSettings):
    """Name and settings of an engine."""

    name: str
    """Name of the engine, such as `vllm`, `hf` or `endpoint`."""
    model: str
    url: Address | None = None
    """URL of an OpenAI-compatible server, including `/v1`."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that contains the API key for the endpoint."""
    concurrency: int = 64
    """Maximum number of requests in flight at an endpoint."""
    retries: int = 5
    request_timeout_s: float = 600.0
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_num_seqs: int = 256
    """Maximum number of sequences that are generated concurrently."""
    max_model_len: int | None = None
    trust_remote_code: bool = False


class GenerationRequest(msgspec.Struct, frozen=True):
    """Request for a response."""

    row: int
    """Zero-based index of the prompt in its file."""
    sample: int
    """Zero-based index of the response among all responses to the prompt."""
    messages: list[Message]
    seed: int
    episode: EpisodeRow | None = None
    """Row for the episode, or None if the response is a single turn."""


class TurnRecord(msgspec.Struct, frozen=True):
    """Record of a turn in an episode."""

    role: str
    """Role of the turn, which is `assistant`, `tool` or `user`."""
    text: str
    tokens: int | None
    """Number of tokens, or None if an endpoint does not count them."""
    reward: float | None = None
    calls: list[str] = msgspec.field(default_factory=list)
    """Tool calls, each as JSON with `name`, `arguments` and, if the call could not be parsed, `error`."""
    statuses: list[str] = msgspec.field(default_factory=list)
    """Status of each observation in a tool turn."""


class EpisodeRecord(msgspec.Struct, frozen=True):
    """Record of an episode, which is written to the journal and to files."""

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
        """Return the reward for each of the model's turns."""
        return [turn.reward for turn in self.turns if turn.role == "assistant"]


class Completion(msgspec.Struct, frozen=True):
    """Response to a prompt. A failed request has an `error` and no text."""

    row: int
    sample: int
    text: str | None = None
    finish_reason: str = "stop"
    """Reason why the response ended, which is `stop`, `length` or another reason from an endpoint."""
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    log_probs: list[float] | None = None
    error: str | None = None
    episode: EpisodeRecord | None = None
    """Episode, or None if the response is a single turn. For an episode, `text` is the model's last turn, and
    the response tokens and log-probabilities come from the model's turns only."""


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
    """Return the seed for a response. The seed has 31 bits, so that every server accepts it."""
    digest = hashlib.blake2b(repr((seed, row, sample)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 33
