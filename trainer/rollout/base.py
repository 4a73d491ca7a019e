"""Defines the interface for rollout engines, with argument and result types. Each engine has its own file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from rewardkit.agents.types import Reply, TokenModel
from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.model_shapes import Shape
from rewardkit.pictures import Picture
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import ActorRolloutRefConfig
from rewardkit.trainer.models.vision import Vision


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling settings, which are passed with every call, because training and validation may differ."""

    n: int = 1
    """Number of responses per prompt."""
    do_sample: bool = True
    """False to decode greedily and ignore temperature, top_k and top_p."""
    temperature: float = 1.0
    top_k: int = -1
    """Number of most likely tokens to sample from, or -1 for all tokens."""
    top_p: float = 1.0
    """Cumulative probability of the most likely tokens to sample from."""
    log_probs: bool = True
    """True if the engine must return the log-probability of each sampled token."""
    first: bool = False
    """True to generate this call's responses before all waiting responses.

    The option has no effect on servers that the run did not start.
    """
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments for vLLM's `SamplingParams`, by name."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """Responses to B prompts, n per prompt. Responses to the same prompt are adjacent."""

    responses: Tensor
    """(B * n, T) int64: token ids, padded on the right to the response length."""
    response_mask: Tensor
    """(B * n, T) int64: 1 up to and including the first end-of-sequence token, then 0."""
    rollout_log_probs: Tensor | None
    """(B * n, T) float32: log-probability of each token under the distribution from which it was sampled
    (for greedy decoding, the distribution at temperature 1), and 0 on padding. The value is None if
    `Sampling.log_probs` is False."""
    weight_versions: Tensor | None = None
    """(B * n, T) int64: version of the weights that generated each token, if the engine can generate during
    a sync."""
    routed_experts: list[Any] | None = None
    """Experts chosen for the tokens in each row's prompt and response, without padding. See
    `Reply.routed_experts`."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """Reason for each row that the engine could not generate. Such a row has no tokens."""


class TurnFailedError(RewardkitError, ValueError):
    """Raised if the engine cannot generate one turn, although it can generate others."""


OnEnded = Callable[[dict[int, list[int]]], None]
"""Callback that receives the unpadded token ids of finished responses by row.

Rows that failed are left out.
"""


E = TypeVar("E")
R = TypeVar("R")
Play = Callable[[TokenModel, E], Coroutine[Any, Any, R]]
"""Function that plays one episode with a model."""


@dataclass(frozen=True, slots=True)
class TurnCosts:
    """Cost of all turns in an engine's episodes."""

    turns: int = 0
    prompt_tokens: int = 0
    """Total number of prompt tokens in all turns.

    Each turn's prompt includes the tokens of the episode's earlier turns.
    """
    cached_tokens: int = 0
    """Number of prompt tokens read from the cache instead of being computed again."""


class RolloutEngine(Protocol):
    """Engine that generates with its own copy of the policy's weights.

    The trainer calls `sync_weights`, then `generate` and `converse` any number of times, and then `release`
    before the policy trains. The trainer repeats this cycle until the run ends.
    """

    @property
    def turn_costs(self) -> TurnCosts:
        """Return the costs of the last `converse` call in this process."""
        ...

    def generate(
        self,
        prompt_ids: Tensor,
        prompt_mask: Tensor,
        sampling: Sampling,
        seeds: Sequence[int],
        ended: OnEnded | None = None,
        pictures: Sequence[Sequence[Picture]] = (),
    ) -> Rollout:
        """Return `sampling.n` responses to each left-padded prompt.

        All processes must call this method. Each process may pass any number of prompts, including zero.

        Args:
            prompt_ids, prompt_mask: Prompts and their mask, both (B, P).
            seeds: One seed per response, B * n in total. Responses do not depend on other seeds or prompts in
                the batch.
            ended: Callback that receives each response once, as soon as the engine can report it.
            pictures: Pictures of each prompt, or nothing if no prompt has pictures.
        """
        ...

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]:
        """Play all episodes concurrently, each in its own coroutine, and return their results.

        All processes must call this method. Each process may pass any number of episodes, including zero. If
        several processes share an engine, one process plays all their episodes, so episodes and results must
        be picklable.

        Args:
            play: Function that plays one episode. Each call to its model samples one turn with `sampling`.
            ended: Callback that receives each result once, as soon as the engine can report it.
        """
        ...

    def attend(self, work: Future[Any]) -> None:
        """Wait for other threads that use this engine, and recover the engine if it fails.

        All processes must call this method, each in its main thread and with its own work. The weights must
        not change during this call. The method returns when the work in all processes is done, or when it has
        failed in any process.
        """
        ...

    def sync_weights(self, named_tensors: Iterable[tuple[str, Tensor]], version: int = 0) -> None:
        """Load new weights. All processes must call this method.

        Args:
            named_tensors: Full tensors by parameter name. With `rollout.lora_sync=adapter`, only the
                adapter's tensors, named as in the adapter file (`models/lora.py`). If the iterable can be
                iterated over more than once, an engine may read the tensors twice, in all processes.
            version: Version to report for tokens generated with these weights, if the engine can generate
                during a sync.
        """
        ...

    def release(self) -> None:
        """Free the memory that is not needed until the next `sync_weights`."""
        ...

    def close(self) -> None:
        """Shut down the engine. All processes must call this method before the process group is destroyed."""
        ...


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """Arguments for `Engine.open`."""

    policy: ActorRolloutRefConfig
    model: Any
    """Policy as an unsharded Hugging Face model. If the weights are read from files later, the
    parameters are on the meta device. `whole_copy` in `models/load.py` copies the model in both cases."""
    device: torch.device
    eos_ids: list[int]
    """Tokens that end a response. The list is empty if `rollout.ignore_eos` is set."""
    pad_id: int
    vision: Vision | None = None
    """The policy's processor if it is a vision-language model."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Entry in the table in `engines.py`. The engine's module must be fast to import in preflight checks."""

    check: Callable[[Config, int], list[str]]
    """Function that takes the config and the number of processes. It returns a message about each setting
    that has no effect with this engine, and raises ConfigError or MissingDependencyError if the engine cannot
    run."""
    why_not: Callable[[Mapping[str, Any], Config], str | None]
    """Function that takes the model's config.json (empty if the model is not on this machine yet) and the
    run's config. It returns the reason why the engine cannot generate with this model, as a sentence
    fragment, or None if no reason is known."""
    memory: Callable[[Config, Shape, int], dict[str, float]]
    """Function that takes the config, the policy's shape and the number of processes. It returns the bytes
    that the engine occupies in each process while the policy trains, by purpose."""
    open: Callable[[EngineSetup], RolloutEngine]


def complete(
    named_tensors: Iterable[tuple[str, Tensor]], weight_names: Iterable[str]
) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors for a sync, and raise an error if a tensor is unknown or missing.

    Without this check, some of the engine's weights could stay stale.

    Raises:
        ConfigError: A tensor is unknown or missing. The sync is incomplete and the engine unusable.
    """
    missing = set(weight_names)
    for name, tensor in named_tensors:
        if name not in missing:
            raise ConfigError(
                f"the rollout model has no weight '{name}'; the engine must load the same model as the actor"
            )
        missing.remove(name)
        yield name, tensor
    if missing:
        raise ConfigError(f"the actor sent no weights for: {', '.join(sorted(missing))}")


def as_rollout(
    replies: Sequence[Reply],
    response_length: int,
    pad_id: int,
    device: torch.device,
    *,
    log_probs: bool,
) -> Rollout:
    """Convert single-turn replies to a rollout with padded tensors.

    The text of an aborted reply gives the reason.
    """
    shape = (len(replies), response_length)
    responses = torch.full(shape, pad_id, dtype=torch.int64)
    mask = torch.zeros(shape, dtype=torch.int64)
    drawn = torch.zeros(shape)
    versions = torch.zeros_like(mask)
    for row, reply in enumerate(replies):
        length = len(reply.token_ids)
        responses[row, :length] = torch.tensor(reply.token_ids)
        mask[row, :length] = 1
        if reply.log_probs is not None:
            drawn[row, :length] = torch.tensor(reply.log_probs)
        if reply.weight_versions is not None:
            versions[row, :length] = torch.tensor(reply.weight_versions)
    routes = [reply.routed_experts for reply in replies]
    return Rollout(
        responses.to(device),
        mask.to(device),
        drawn.to(device) if log_probs else None,
        versions.to(device),
        routes if routes and all(route is not None for route in routes) else None,
        {row: reply.text for row, reply in enumerate(replies) if reply.finish_reason == "aborted"},
    )


def row_seed(*key: int) -> int:
    """Return a 63-bit seed that depends only on the key, for example (run seed, step, prompt, sample)."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
