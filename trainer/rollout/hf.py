"""Rollout engine that consists of a Hugging Face model and a loop over tokens, without extra dependencies.

The loop replaces transformers' `generate`. Each response has its own random numbers, which do not depend on
the batch, the process or the order. The loop leaves global random states unchanged, and computes
log-probabilities along the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from dataclasses import fields
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rewardkit.agents.runner import drive
from rewardkit.agents.types import Reply
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import DTYPE_NAMES, RolloutConfig
from rewardkit.trainer.models.shape import Shape
from rewardkit.trainer.rollout.base import (
    EngineSetup,
    OnEnded,
    Play,
    Rollout,
    Sampling,
    TurnCosts,
    complete,
    until_eos,
)
from rewardkit.trainer.rollout.conversing import Ask, Rounds, Seat, cut_at, play_all

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
    "router_replay",
)
"""Settings that have no effect with this engine, which has neither a scheduler nor a paged cache."""


def check(config: Config, processes: int) -> list[str]:
    """See `Engine.check`."""
    rollout = config.actor_rollout_ref.rollout
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


Over = Callable[[Tensor, Tensor, int], Tensor]
"""Function that takes tokens, their rows and their index in the response. It returns a (B,) bool tensor that
is True for tokens that end a response."""


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
    )


class HfRollout:
    """Engine that generates with an unsharded copy of the policy, which `sync_weights` updates."""

    def __init__(
        self,
        model: nn.Module,
        *,
        eos_ids: Sequence[int],
        pad_id: int,
        response_length: int,
        micro_batch_size: int | None = None,
    ) -> None:
        """Create an engine that generates `micro_batch_size` responses at a time, or all if it is None."""
        # This import is local, because transformers takes seconds to import and preflight imports this file.
        from rewardkit.trainer.rollout.decoding import make_plain

        self.model = model.eval().requires_grad_(False)
        make_plain(self.model)
        self.device = next(model.parameters()).device
        self.eos_ids = torch.tensor(list(eos_ids), device=self.device)
        self.pad_id = pad_id
        self.response_length = response_length
        self.micro_batch_size = micro_batch_size
        self.turn_costs = TurnCosts()

    @torch.no_grad()
    def generate(
        self,
        prompt_ids: Tensor,
        prompt_mask: Tensor,
        sampling: Sampling,
        seeds: Sequence[int],
        ended: OnEnded | None = None,
    ) -> Rollout:
        """See `RolloutEngine.generate`."""
        ids = prompt_ids.to(self.device).repeat_interleave(sampling.n, dim=0)
        mask = prompt_mask.to(self.device).repeat_interleave(sampling.n, dim=0)
        if len(seeds) != len(ids):
            raise ValueError(f"expected {len(ids)} seeds (prompts x n), found {len(seeds)}")
        size = self.micro_batch_size or max(len(ids), 1)
        pieces = []
        for i in range(0, max(len(ids), 1), size):
            part = slice(i, i + size)
            responses, log_probs = self._generate(
                ids[part], mask[part], sampling, seeds[part], self.response_length, self._at_eos
            )
            response_mask = until_eos(responses, self.eos_ids)
            pieces.append((responses, log_probs, response_mask))
            if ended is not None and len(ids):
                lengths = response_mask.sum(dim=1).tolist()
                ended({i + k: row[: lengths[k]] for k, row in enumerate(responses.tolist())})
        responses, log_probs, response_mask = (torch.cat(tensors) for tensors in zip(*pieces, strict=True))
        return Rollout(
            responses.masked_fill(response_mask == 0, self.pad_id),
            response_mask,
            log_probs.masked_fill(response_mask == 0, 0.0) if sampling.log_probs else None,
        )

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
        width = max(len(ask.token_ids) for ask in asks)
        ids = torch.full((len(asks), width), self.pad_id, device=self.device)
        mask = torch.zeros_like(ids)
        for i, ask in enumerate(asks):
            ids[i, width - len(ask.token_ids) :] = torch.tensor(ask.token_ids, device=self.device)
            mask[i, width - len(ask.token_ids) :] = 1
        eos: list[int] = self.eos_ids.tolist()
        stops = [{*eos, *ask.stop_token_ids} for ask in asks]

        def over(tokens: Tensor, rows: Tensor, t: int) -> Tensor:
            found = [
                token in stops[row] or t + 1 >= asks[row].max_tokens
                for token, row in zip(tokens.tolist(), rows.tolist(), strict=True)
            ]
            return torch.tensor(found, device=self.device)

        length = max(ask.max_tokens for ask in asks)
        drawn, log_probs = self._generate(ids, mask, sampling, [ask.seed for ask in asks], length, over)
        replies = []
        for i, ask in enumerate(asks):
            turn: list[int] = drawn[i].tolist()
            kept, stopped = cut_at(turn, list(stops[i]), ask.max_tokens)
            of_tokens = log_probs[i, :kept].tolist() if sampling.log_probs else None
            replies.append(Reply("", turn[:kept], of_tokens, "stop" if stopped else "length"))
        return replies

    def _at_eos(self, tokens: Tensor, rows: Tensor, t: int) -> Tensor:
        return torch.isin(tokens, self.eos_ids)

    def _generate(
        self,
        ids: Tensor,
        mask: Tensor,
        sampling: Sampling,
        seeds: Sequence[int],
        length: int,
        over: Over,
    ) -> tuple[Tensor, Tensor]:
        """Return up to `length` tokens for each row, and the tokens' log-probabilities.

        A row ends when `over` returns True for one of its tokens.
        """
        responses = ids.new_full((len(ids), length), self.pad_id)
        log_probs = torch.zeros((len(ids), length), device=self.device)
        if len(ids):
            uniforms = _uniforms(seeds, length).to(self.device) if sampling.do_sample else None
            first = int(mask.any(dim=0).int().argmax())  # all earlier columns are padding
            self.decode(ids[:, first:], mask[:, first:], sampling, uniforms, over, responses, log_probs)
        return responses, log_probs

    def decode(
        self,
        ids: Tensor,
        mask: Tensor,
        sampling: Sampling,
        uniforms: Tensor | None,
        over: Over,
        responses: Tensor,
        log_probs: Tensor,
    ) -> None:
        """Generate tokens until all rows have ended. Derived classes may override this method.

        Args:
            ids, mask: Prompts and their mask, (B, P), padded on the left. B is at least 1.
            uniforms: Random numbers that `draw` uses to choose tokens, (B, T) float64, or None for greedy
                decoding.
            responses, log_probs: Output tensors, (B, T). Values after the end of a row are ignored.
        """
        from rewardkit.trainer.rollout.decoding import BatchDecoder  # transformers takes seconds to import

        length = responses.shape[1]
        decoder = BatchDecoder(self.model, ids, mask, length)
        rows = torch.arange(len(ids), device=self.device)
        done = torch.zeros(len(ids), dtype=torch.bool, device=self.device)
        logits = decoder.begin()
        for t in range(length):
            tokens, chosen = draw(logits, sampling, uniforms[rows, t] if uniforms is not None else None)
            responses[rows, t] = tokens
            log_probs[rows, t] = chosen
            done |= over(tokens, rows, t)
            if t + 1 == length or bool(done.all()):
                break
            left = decoder.drop(done)
            if left is not None:
                rows, tokens, done = rows[left], tokens[left], done[left]
            logits = decoder.go_on(tokens)

    @torch.no_grad()
    def sync_weights(self, named_tensors: Iterable[tuple[str, Tensor]], version: int = 0) -> None:
        """See `RolloutEngine.sync_weights`."""
        mine = dict(self.model.named_parameters())
        for name, tensor in complete(named_tensors, mine):
            mine[name].copy_(tensor)

    def attend(self, work: Future[Any]) -> None:
        """See `RolloutEngine.attend`."""
        wait([work])

    def release(self) -> None:
        """See `RolloutEngine.release`. Nothing is freed, because only the weights are kept between calls."""

    def close(self) -> None:
        """See `RolloutEngine.close`. This method does nothing."""


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
    # Rounding errors must not move the result before the block's first probability or past the last one.
    rest = rest.clamp(min=0.0).minimum(torch.nextafter(within[:, -1:], torch.zeros_like(rest)))
    place = torch.searchsorted(within, rest, right=True).clamp(max=BLOCK - 1)
    # NaN probabilities would otherwise give an index that is too large.
    return (block * BLOCK + place).squeeze(-1).clamp(max=size - 1)


def restrict(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """Set all logits to -inf except those of the `top_k` likeliest tokens within the mass `top_p`."""
    if 0 < top_k < logits.shape[-1]:
        threshold = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < threshold, -torch.inf)
    if top_p < 1.0:
        ordered, index = logits.sort(dim=-1, descending=True)
        probs = ordered.softmax(-1)
        beyond = probs.cumsum(-1) - probs >= top_p  # keep the token that reaches top_p
        beyond[:, 0] = False
        logits = logits.masked_fill(beyond.scatter(-1, index, beyond), -torch.inf)
    return logits


def _uniforms(seeds: Sequence[int], length: int) -> Tensor:
    """Return random numbers in [0, 1), (len(seeds), length) float64. Each row has its own seed."""
    generator = torch.Generator()
    rows = [torch.rand(length, generator=generator.manual_seed(s), dtype=torch.float64) for s in seeds]
    return torch.stack(rows)
