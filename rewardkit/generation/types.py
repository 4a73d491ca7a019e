"""What is asked of an engine and what it answers, and the settings of a run. Plain data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from rewardkit.types import Message


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """How responses are drawn. Two runs with the same settings, prompts and model give the same responses."""

    n: int = 1
    """Responses to each prompt."""
    temperature: float = 1.0
    """0: greedy."""
    top_p: float = 1.0
    top_k: int = -1
    """-1: all tokens."""
    max_tokens: int = 1024
    """Of a response."""
    max_prompt_tokens: int | None = None
    """A longer prompt is an error; None: as long as the model takes."""
    seed: int = 0
    stop: tuple[str, ...] = ()
    """Texts that end a response; they are not part of it."""
    log_probs: bool = False
    """Keep the log-probability of each token."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which engine, and what it needs to start."""

    name: str
    """`vllm`, `hf` or `endpoint`."""
    model: str
    url: str | None = None
    """Of an OpenAI-compatible server, up to and with `/v1`."""
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
    """Of the prompt in its file, from 0."""
    sample: int
    """Number of the response to it, from 0."""
    messages: list[Message]
    seed: int


class Completion(msgspec.Struct, frozen=True):
    """One response. With an `error` there is no text."""

    row: int
    sample: int
    text: str | None = None
    finish_reason: str = "stop"
    """`stop` or `length`; an endpoint may say more."""
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    log_probs: list[float] | None = None
    error: str | None = None


Done = Callable[[Completion], None]
"""Told of each response when it ends, in the thread that runs the engine."""


class GenerationEngine(Protocol):
    """Turns requests into completions."""

    def run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        """Answer every request once, in any order."""
        ...

    def close(self) -> None:
        """Give back what the engine holds."""
        ...


def request_seed(seed: int, row: int, sample: int) -> int:
    """Return a 31-bit seed for one response, which is as many as every server takes."""
    digest = hashlib.blake2b(repr((seed, row, sample)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 33
