"""Rollout engine that samples from a Hugging Face model: the reference for the other engines.

Each response has its own random numbers, which do not depend on the batch, the process or the order. The
global random states stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from itertools import count
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rewardkit.agents.runner import drive
from rewardkit.agents.types import Reply
from rewardkit.errors import ConfigError
from rewardkit.model_shapes import Shape
from rewardkit.pictures import Picture
from rewardkit.trainer.batch import positions
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import DTYPE_NAMES, RolloutConfig
from rewardkit.trainer.models.vision import Vision
from rewardkit.trainer.rollout.base import (
    EngineSetup,
    Play,
    Sampling,
    TurnCosts,
    complete,
)
from rewardkit.trainer.rollout.conversing import Ask, Rounds, Seat, TurnwiseEngine, play_all

E = TypeVar("E")
R = TypeVar("R")

BLOCK = 256
"""Number of tokens whose probabilities are summed as one block during sampling."""

KEY = "actor_rollout_ref.rollout"
VLLM_ONLY = (
    "tensor_model_parallel_size",
    "gpu_memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "enforce_eager",
    "compile_on_cpu",
    "free_cache_engine",
    "load_format",
    "disable_log_stats",
    "quantization",
    "router_replay",
)
"""Settings that have no effect with this engine, which has neither a scheduler nor a paged cache."""


def check(config: Config, processes: int) -> list[str]:
    """See `Engine.check`."""
    rollout = config.actor_rollout_ref.rollout
    for name, given in (("", rollout.sampling_params), ("val_kwargs.", rollout.val_kwargs.sampling_params)):
        if given:
            raise ConfigError(f"{KEY}.{name}sampling_params needs {KEY}.name=vllm or vllm_server")
    defaults = {f.name: f.default for f in fields(RolloutConfig)}
    without_effect = [name for name in VLLM_ONLY if getattr(rollout, name) != defaults[name]]
    if not without_effect:
        return []
    return [
        (
            f"{KEY}.name=hf generates with a plain copy of the model, without a scheduler or a "
            f"paged cache; these settings have no effect: {', '.join(without_effect)}"
        )
    ]


def memory(config: Config, shape: Shape, processes: int) -> dict[str, float]:
    """See `Engine.memory`. The engine needs a copy of the weights and a KV cache for concurrent responses."""
    rollout = config.actor_rollout_ref.rollout
    width = getattr(torch, DTYPE_NAMES[rollout.dtype]).itemsize
    at_once = rollout.micro_batch_size or config.data.train_batch_size * rollout.n // processes
    tokens = at_once * (rollout.prompt_length + rollout.response_length)
    return {
        "rollout": float(width * shape.parameters),
        "cache": float(width * tokens * shape.layers * shape.kv_width),
    }


def open_engine(setup: EngineSetup, kind: type[HfRollout] | None = None) -> HfRollout:
    """See `Engine.open`. `kind` is the engine's class, `HfRollout` by default."""
    # This import is local, because transformers takes seconds to import.
    from rewardkit.trainer.models.load import DTYPES, whole_copy

    rollout = setup.policy.rollout
    given = setup.policy.model
    return (kind or HfRollout)(
        whole_copy(setup.model, DTYPES[rollout.dtype], setup.device, given.path, given),
        eos_ids=setup.eos_ids,
        pad_id=setup.pad_id,
        response_length=rollout.response_length,
        micro_batch_size=rollout.micro_batch_size,
        vision=setup.vision,
    )


class HfRollout(TurnwiseEngine):
    """Engine that generates with an unsharded copy of the policy. `sync_weights` updates the copy."""

    def __init__(
        self,
        model: nn.Module,
        *,
        eos_ids: Sequence[int],
        pad_id: int,
        response_length: int,
        micro_batch_size: int | None = None,
        vision: Vision | None = None,
    ) -> None:
        """Create an engine that generates `micro_batch_size` responses at a time, or all if it is None.

        `vision` is the model's processor if prompts may contain pictures.
        """
        self.model = model.eval().requires_grad_(False)
        self.device = next(model.parameters()).device
        self.eos_ids = list(eos_ids)
        self.pad_id = pad_id
        self.response_length = response_length
        self.micro_batch_size = micro_batch_size
        self.vision = vision
        self.turn_costs = TurnCosts()

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]:
        """See `RolloutEngine.converse`. A round starts once every running episode is waiting for a turn."""
        self.turn_costs = TurnCosts()
        rounds = Rounds(len(episodes), lambda asks: self._draw_turns(asks, sampling))
        vocabulary: int = self.model.get_input_embeddings().num_embeddings  # type: ignore[operator]

        def left(place: int, result: R) -> None:
            rounds.left()
            if ended is not None:
                ended(place, result)

        found = drive(play_all(play, episodes, lambda place: Seat(place, rounds, vocabulary), left))
        if rounds.error is not None:
            raise rounds.error
        return found

    @torch.no_grad()
    def _draw_turns(self, asks: Sequence[Ask], sampling: Sampling) -> list[Reply]:
        size = self.micro_batch_size or len(asks)
        replies = [
            r for i in range(0, len(asks), size) for r in self._draw_some(asks[i : i + size], sampling)
        ]
        costs = self.turn_costs
        read = sum(len(ask.token_ids) for ask in asks)
        self.turn_costs = TurnCosts(costs.turns + len(asks), costs.prompt_tokens + read)
        return replies

    def _draw_some(self, asks: Sequence[Ask], sampling: Sampling) -> list[Reply]:
        """Sample several turns at the same time.

        Ended turns leave the batch as soon as they make up a quarter of it.
        """
        stops = [{*self.eos_ids, *ask.stop_token_ids} for ask in asks]
        turns: list[list[int]] = [[] for _ in asks]
        log_probs: list[list[float]] = [[] for _ in asks]
        most = max(ask.max_tokens for ask in asks)
        uniforms = _uniforms([ask.seed for ask in asks], most).to(self.device) if sampling.do_sample else None
        rows = list(range(len(asks)))
        ended: set[int] = set()
        reading = self._read(asks)
        logits = reading.begin()
        for t in count():
            used = None if uniforms is None else uniforms[rows, t]
            tokens, chosen = draw(logits, sampling, used)
            for row, token, log_prob in zip(rows, tokens.tolist(), chosen.tolist(), strict=True):
                if row not in ended:
                    turns[row].append(token)
                    log_probs[row].append(log_prob)
                    if len(turns[row]) == asks[row].max_tokens or token in stops[row]:
                        ended.add(row)
            if len(ended) == len(asks):
                break
            kept = [row not in ended for row in rows]
            # Copying the cache would cost more than keeping the few ended turns.
            if 4 * sum(kept) > 3 * len(kept):
                kept = [True] * len(rows)
            rows = [row for row, keep in zip(rows, kept, strict=True) if keep]
            logits = reading.go_on(tokens, kept)
        return [
            Reply("", turn, found if sampling.log_probs else None, "stop" if turn[-1] in ends else "length")
            for turn, found, ends in zip(turns, log_probs, stops, strict=True)
        ]

    def _read(self, asks: Sequence[Ask]) -> Reading:
        prompts = [ask.token_ids for ask in asks]
        if self.vision is None:
            return self.read(prompts)
        pictures = [ask.pictures for ask in asks]
        return CachedReading(self.model, prompts, self.pad_id, self.device, self.vision, pictures)

    def read(self, prompts: Sequence[list[int]]) -> Reading:
        """Return the reader of a batch of prompts. Derived classes may return another one."""
        return CachedReading(self.model, prompts, self.pad_id, self.device)

    @torch.no_grad()
    def sync_weights(self, named_tensors: Iterable[tuple[str, Tensor]], version: int = 0) -> None:
        """See `RolloutEngine.sync_weights`."""
        mine = dict(self.model.named_parameters())
        for name, tensor in complete(named_tensors, mine):
            mine[name].copy_(tensor)


class Reading(Protocol):
    """Model that reads a batch of prompts, and then one token at a time."""

    def begin(self) -> Tensor:
        """Return the logits for each row's first token, (B, V)."""
        ...

    def go_on(self, tokens: Tensor, kept: Sequence[bool]) -> Tensor:
        """Append a token to each row, (B,), drop some rows, and return the logits for the remaining rows."""
        ...


class CachedReading:
    """Implementation of `Reading` with a cache. A prompt in several rows is read only once."""

    def __init__(
        self,
        model: nn.Module,
        prompts: Sequence[list[int]],
        pad_id: int,
        device: torch.device,
        vision: Vision | None = None,
        pictures: Sequence[Sequence[Picture]] = (),
    ) -> None:
        """Create a reader. A vision-language model also gets its processor and the prompts' pictures."""
        # This import is local, because transformers takes seconds to import and preflight imports this file.
        from transformers import DynamicCache

        self._model: Any = model
        self._device = device
        self._cache = DynamicCache(config=self._model.config)
        shown = pictures or [()] * len(prompts)
        keys = [
            (tuple(prompt), tuple(picture.digest for picture in some))
            for prompt, some in zip(prompts, shown, strict=True)
        ]
        numbers: dict[tuple[tuple[int, ...], tuple[str, ...]], int] = {}
        self._which = [numbers.setdefault(key, len(numbers)) for key in keys]
        """Index of each row's prompt among the distinct prompts."""
        width = max(len(prompt) for prompt, _ in numbers)
        self._ids = torch.full((len(numbers), width), pad_id, device=device)
        self._mask = torch.zeros_like(self._ids)
        for (prompt, _), row in numbers.items():
            self._ids[row, width - len(prompt) :] = torch.tensor(prompt, device=device)
            self._mask[row, width - len(prompt) :] = 1
        self._barred: list[int] = []
        """Tokens that are never generated."""
        self._tensors: dict[str, Tensor] = {}
        """Pictures in the prompts, until the prompts have been read."""
        self._positions = positions(self._mask)
        if vision is not None:
            of_prompts = [one for row in range(len(numbers)) for one in shown[self._which.index(row)]]
            self._barred = vision.placeholders
            self._tensors = vision.tensors(of_prompts, device)
            of_pictures = vision.positions(model, self._ids, self._mask, self._tensors)
            self._positions = self._positions if of_pictures is None else of_pictures

    def begin(self) -> Tensor:
        """See `Reading.begin`."""
        logits = self._logits(self._ids)
        which = torch.tensor(self._which, device=self._device)
        if len(self._which) > len(self._ids):
            self._select(which)
        return logits[which]

    def go_on(self, tokens: Tensor, kept: Sequence[bool]) -> Tensor:
        """See `Reading.go_on`."""
        left = torch.tensor(kept, device=self._device).nonzero().squeeze(1)
        if len(left) < len(tokens):
            self._select(left)
        self._mask = pad(self._mask, (0, 1), value=1)
        self._positions = self._positions[..., -1:] + 1
        return self._logits(tokens[left, None])

    def _select(self, rows: Tensor) -> None:
        self._cache.reorder_cache(rows)
        self._mask = self._mask[rows]
        self._positions = self._positions[..., rows, :]

    def _logits(self, tokens: Tensor) -> Tensor:
        found: Tensor = self._model(
            input_ids=tokens,
            attention_mask=self._mask,
            position_ids=self._positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **self._tensors,
        ).logits
        self._tensors = {}
        logits = found[:, -1]
        if self._barred:
            logits[:, self._barred] = -torch.inf
        return logits


def draw(logits: Tensor, sampling: Sampling, uniforms: Tensor | None) -> tuple[Tensor, Tensor]:
    """Choose the next token for each row.

    Args:
        logits: Logits for the next token, (B, V).
        uniforms: Random numbers in [0, 1), (B,) float64, or None for greedy decoding.

    Returns:
        Tokens, (B,), and their log-probabilities, (B,), under the distribution from which they were sampled.
    """
    logits = logits.float()
    if uniforms is None:
        tokens = logits.argmax(dim=-1)
    else:
        if sampling.temperature != 1.0:
            logits = logits / sampling.temperature
        logits = restrict(logits, sampling.top_k, sampling.top_p)
        tokens = _find(logits.softmax(-1), uniforms.unsqueeze(-1))
    chosen = logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    return tokens, chosen - logits.logsumexp(-1)


def _find(probabilities: Tensor, uniforms: Tensor) -> Tensor:
    """Return the first index at which each row's running sum exceeds `uniforms` times the row's total.

    The shapes are (B, V) and (B, 1) -> (B,). Sums use float64, because a float32 running sum over 10^5 tokens
    would lose unlikely tokens. The search finds a block first and then an index in the block, because a
    running sum over all tokens would take most of the sampling time.
    """
    rows, size = probabilities.shape
    blocks = pad(probabilities, (0, -size % BLOCK)).view(rows, -1, BLOCK)
    sums = blocks.sum(-1, dtype=torch.float64)
    running = sums.cumsum(-1)
    target = uniforms * running[:, -1:]
    block = torch.searchsorted(running, target, right=True).clamp(max=sums.shape[1] - 1)
    within = blocks[torch.arange(rows, device=block.device), block[:, 0]].double().cumsum(-1)
    rest = target - (running - sums).gather(1, block)
    # Rounding errors must not move the index out of the block.
    rest = rest.clamp(min=0.0).minimum(torch.nextafter(within[:, -1:], torch.zeros_like(rest)))
    place = torch.searchsorted(within, rest, right=True).clamp(max=BLOCK - 1)
    # NaN probabilities give an index that is too large, so the index is limited.
    return (block * BLOCK + place).squeeze(-1).clamp(max=size - 1)


def restrict(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """Set all logits to -inf except those of the `top_k` likeliest tokens within the mass `top_p`."""
    if 0 < top_k < logits.shape[-1]:
        threshold = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < threshold, -torch.inf)
    if top_p < 1.0:
        ordered, index = logits.sort(dim=-1, descending=True)
        probs = ordered.softmax(-1)
        beyond = probs.cumsum(-1) - probs >= top_p  # The token that reaches top_p is kept.
        beyond[:, 0] = False
        logits = logits.masked_fill(beyond.scatter(-1, index, beyond), -torch.inf)
    return logits


def _uniforms(seeds: Sequence[int], length: int) -> Tensor:
    """Return random numbers in [0, 1), (len(seeds), length) float64. Each row has its own seed."""
    generator = torch.Generator()
    rows = [torch.rand(length, generator=generator.manual_seed(s), dtype=torch.float64) for s in seeds]
    return torch.stack(rows)
