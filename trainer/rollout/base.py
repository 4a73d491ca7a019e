"""Defines a rollout engine and its arguments. The engines are in this folder, one file each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from rewardkit.agents.types import Reply, TokenModel
from rewardkit.errors import ConfigError
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import ActorRolloutRefConfig
from rewardkit.trainer.models.shape import Shape


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings by which responses are drawn; given with every call, so that training and validation may
    differ."""

    n: int = 1
    """Responses per prompt."""
    do_sample: bool = True
    """False: greedy; temperature, top_k and top_p do not matter."""
    temperature: float = 1.0
    top_k: int = -1
    """Keep the k likeliest tokens; -1 keeps all."""
    top_p: float = 1.0
    """Keep the smallest set of likeliest tokens that holds this much probability."""
    log_probs: bool = True
    """Return the log-probabilities of what was drawn."""

    @property
    def unrestricted(self) -> bool:
        """True where tokens are drawn from the model's whole distribution."""
        return self.do_sample and self.top_k <= 0 and self.top_p >= 1.0


@dataclass(frozen=True, slots=True)
class Rollout:
    """Responses to B prompts, n each, those of one prompt next to each other."""

    responses: Tensor
    """(B * n, T) int64, padded on the right to the response length."""
    response_mask: Tensor
    """(B * n, T) int64: 1 up to and including the first end-of-sequence token, then 0."""
    rollout_log_probs: Tensor | None
    """(B * n, T) float32: of each token in the distribution it was drawn from (greedy: at temperature 1);
    0 on padding. None where `Sampling.log_probs` is False."""
    weight_versions: Tensor | None = None
    """(B * n, T) int64: of the weights that each token was drawn with, from an engine that may draw during a
    sync."""
    routed_experts: list[Any] | None = None
    """Experts of each row's tokens, prompt and response without padding; see `Reply.routed_experts`."""


OnEnded = Callable[[dict[int, list[int]]], None]
"""Gets responses as they end: token ids by row, without padding."""


E = TypeVar("E")
R = TypeVar("R")
Play = Callable[[TokenModel, E], Coroutine[Any, Any, R]]
"""Plays one episode with a model."""


@dataclass(frozen=True, slots=True)
class TurnCosts:
    """Cost of the turns of all episodes for an engine."""

    turns: int = 0
    prompt_tokens: int = 0
    """Tokens that turns began with, those of earlier turns included."""
    cached_tokens: int = 0
    """Number of these tokens that were not computed again."""


class RolloutEngine(Protocol):
    """Generates with a copy of the policy's weights of its own.

    Its life is a circle: `sync_weights`, any number of `generate` and `converse`, `release` while the policy
    trains.
    """

    @property
    def turn_costs(self) -> TurnCosts:
        """Return the costs of the last `converse`, in this process."""
        ...

    def generate(
        self,
        prompt_ids: Tensor,
        prompt_mask: Tensor,
        sampling: Sampling,
        seeds: Sequence[int],
        ended: OnEnded | None = None,
    ) -> Rollout:
        """Return `sampling.n` responses to each left-padded prompt.

        All processes call it, with any number of prompts each, none included.

        Args:
            prompt_ids, prompt_mask: (B, P).
            seeds: one for each response, (B * n): it alone decides the draw, whatever else is in the batch.
            ended: told of each response once, as early as the engine can.
        """
        ...

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]:
        """Play all episodes at once, each a coroutine of its own, and return what they came to.

        All processes call it, with any number of episodes each, none included. Of processes that share an
        engine one plays the episodes of all: episodes and results must be such as can be pickled.

        Args:
            play: gets a model that draws as `sampling` says, one turn for each call.
            ended: told of each result once, as early as the engine can.
        """
        ...

    def sync_weights(self, named_tensors: Iterable[tuple[str, Tensor]], version: int = 0) -> None:
        """Take over new weights. All processes call it.

        Args:
            named_tensors: full tensors by parameter name; with `rollout.lora_sync=adapter` the adapter's
                alone, by the names of its file (`models/lora.py`). An engine may go through them once more
                where that gives them anew, and then does so in all processes.
            version: what an engine that draws during a sync says of the tokens that come after it.
        """
        ...

    def release(self) -> None:
        """Give memory back until the next `sync_weights`, where there is any to give."""
        ...

    def close(self) -> None:
        """End, in all processes, while the process group is still there."""
        ...


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """Arguments with which an engine is opened."""

    policy: ActorRolloutRefConfig
    model: Any
    """The policy, a Hugging Face model, not yet sharded; an outline, whose parameters are on the meta device,
    where they are read from its files: `models/load.py`'s `whole_copy` makes a copy of either."""
    device: torch.device
    eos_ids: list[int]
    """Tokens that end a response; none where `rollout.ignore_eos` is set."""
    pad_id: int


@dataclass(frozen=True, slots=True)
class Engine:
    """A row of the table in `engines.py`. It imports nothing heavy: preflight calls `check` and `memory`."""

    check: Callable[[Config, int], list[str]]
    """Given the config and the number of processes, raises ConfigError or MissingDependencyError, or returns
    lines about settings that have no effect with this engine."""
    why_not: Callable[[Mapping[str, Any], Config], str | None]
    """Given the model's config.json (empty: it is not on this machine yet) and the config, returns why the
    engine cannot generate with this model here, in half a sentence; None: nothing is known against it."""
    memory: Callable[[Config, Shape, int], dict[str, float]]
    """Given the policy's shape too, returns the bytes a process that it keeps while the policy learns."""
    open: Callable[[EngineSetup], RolloutEngine]


def complete(
    named_tensors: Iterable[tuple[str, Tensor]], weight_names: Iterable[str]
) -> Iterator[tuple[str, Tensor]]:
    """Pass on the tensors of a sync; one too many or too few is an error, not a stale weight.

    Raises:
        ConfigError: in the middle of the sync: the engine is of no use afterwards.
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
    """Return responses, each one turn, as padded tensors."""
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
    )


def row_seed(*key: int) -> int:
    """Return a 63-bit seed for a key such as (run seed, step, prompt, sample): same key, same seed."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def until_eos(responses: Tensor, eos_ids: Tensor) -> Tensor:
    """Return the response mask, (B, T) int64: 1 up to and including the first end-of-sequence token."""
    is_eos = torch.isin(responses, eos_ids).long()
    return (is_eos.cumsum(dim=1) - is_eos == 0).long()
