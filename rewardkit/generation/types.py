"""The settings of a run, the requests to an engine and its answers, as plain data."""

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
    """Settings of episodes of several turns. Names are those of verl's `multi_turn` keys where there are
    any."""

    agent: str | None = None
    """Loop of every row, whatever rows name; None: rows choose."""
    default_agent: str | None = None
    """Loop of rows that name none; None: the one that fits the tools, interactions and environment."""
    agent_file: str = ""
    """A file of agents, see `rewardkit.agents.agent_files`; empty: none."""
    tools: str = ""
    """Names, or paths of YAML files, as `rewardkit.agents.loading.load_tools` takes them."""
    env: Address = NO_ADDRESS
    """Environment of every row, `KIND:TARGET`, for the loop `env`; empty: rows name theirs."""
    interactions: str = ""
    """Names, or paths of YAML files, as `rewardkit.agents.interactions.load_interactions` takes them."""
    calls: str | None = None
    """The format in which the model writes calls; None: the one that its chat template asks for."""
    max_assistant_turns: int | None = None
    max_user_turns: int | None = None
    """Rounds of tools count too."""
    max_turn_tokens: int | None = None
    max_parallel_calls: int = 1
    max_tool_response_length: int = 256
    """Characters."""
    tool_response_truncate_side: Literal["left", "middle", "right"] = "middle"
    tool_seconds: float = 30.0
    episode_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """Settings by which responses are drawn. Two runs with the same settings, prompts and model give the same
    responses."""

    n: int = 1
    """Responses to each prompt."""
    temperature: float = 1.0
    """0: greedy."""
    top_p: float = 1.0
    top_k: int = -1
    """-1: all tokens."""
    max_tokens: int = 1024
    """Tokens of a response. In an episode the tokens of tools and users count too."""
    max_prompt_tokens: int | None = None
    """A longer prompt is an error. None: prompts may be as long as the model takes."""
    seed: int = 0
    stop: tuple[str, ...] = ()
    """Texts that end a response; they are not part of it."""
    log_probs: bool = False
    """Keep the log-probability of each token that the model produced, in nats."""
    episodes: EpisodeSettings | None = None
    """None: a response is one turn."""


@dataclass(frozen=True, slots=True)
class EngineSettings(NetworkSettings):
    """One engine, and the settings with which it starts."""

    name: str
    """`vllm`, `hf` or `endpoint`."""
    model: str
    url: Address | None = None
    """URL of an OpenAI-compatible server, up to and with `/v1`."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable that holds the endpoint's key."""
    concurrency: int = 64
    """Requests in flight at an endpoint."""
    retries: int = 5
    request_timeout_s: float = 600.0
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_num_seqs: int = 256
    """Sequences that are generated at once."""
    max_model_len: int | None = None
    trust_remote_code: bool = False


class GenerationRequest(msgspec.Struct, frozen=True):
    """One response that is wanted."""

    row: int
    """Number of the prompt in its file, from 0."""
    sample: int
    """Number of the response to it, from 0."""
    messages: list[Message]
    seed: int
    episode: EpisodeRow | None = None
    """Row of the prompt as an episode needs it; None: the response is one turn."""


class TurnRecord(msgspec.Struct, frozen=True):
    """One turn of an episode."""

    role: str
    """`assistant`, `tool` or `user`."""
    text: str
    tokens: int | None
    """None behind an endpoint, for what it does not count."""
    reward: float | None = None
    calls: list[str] = msgspec.field(default_factory=list)
    """Calls of tools, each as JSON with `name`, `arguments` and, if it could not be read, `error`."""
    statuses: list[str] = msgspec.field(default_factory=list)
    """Status of each observation in a tool's turn."""


class EpisodeRecord(msgspec.Struct, frozen=True):
    """An episode as it is written to the journal and to files."""

    agent: str
    ended: str
    """Reason why it ended: one of `rewardkit.agents.types.ENDED`."""
    status: Status
    turns: list[TurnRecord]
    detail: str | None = None
    tool_rewards: dict[str, float] = msgspec.field(default_factory=dict)
    interaction_score: float | None = None

    @property
    def turn_rewards(self) -> list[float | None]:
        """The reward of each of the model's turns."""
        return [turn.reward for turn in self.turns if turn.role == "assistant"]


class Completion(msgspec.Struct, frozen=True):
    """One response. With an `error` there is no text."""

    row: int
    sample: int
    text: str | None = None
    finish_reason: str = "stop"
    """`stop` or `length`; an endpoint may give other reasons."""
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    log_probs: list[float] | None = None
    error: str | None = None
    episode: EpisodeRecord | None = None
    """The episode, if the response is one. Then `text` is the model's last turn, and only its tokens
    count."""


Done = Callable[[Completion], None]
"""Called with each response when it ends, in the thread that runs the engine."""


class GenerationEngine(Protocol):
    """Turns requests into completions."""

    def run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        """Answer every request once, in any order."""
        ...

    def close(self) -> None:
        """Release what the engine holds."""
        ...


def request_seed(seed: int, row: int, sample: int) -> int:
    """Return the seed of one response. It has 31 bits, which every server takes."""
    digest = hashlib.blake2b(repr((seed, row, sample)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 33
