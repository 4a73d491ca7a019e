"""Update loop for actor and critic, with mini-batches, micro-batches, denominators and the optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule

from rewardkit.trainer.algorithms.reductions import Stats, Totals, count
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.workers import ActorConfig, CriticConfig, FsdpConfig, OptimConfig
from rewardkit.trainer.models.lora import drop_out
from rewardkit.trainer.workers.batching import Batching
from rewardkit.trainer.workers.optimizers import make_optimizer
from rewardkit.trainer.workers.parallel import Parallel

LossOf = Callable[[Batch, Totals], tuple[Tensor, Stats]]
"""Function that takes a micro-batch and the counts for its whole mini-batch. Returns the micro-batch's share
of the mini-batch's loss and statistics (see `algorithms/losses.py`)."""

LiveIn = Callable[[Batch], Tensor]
"""Function that returns a mask of the rows that have a gradient, (B,) bool. Other rows are not computed, but
they count in all denominators except `Totals.computed`."""


class Optimizer:
    """Optimizer with gradient clipping and a learning rate that depends on the training step."""

    def __init__(
        self, model: nn.Module, config: OptimConfig, fsdp: FsdpConfig, grad_clip: float, total_steps: int
    ) -> None:
        """Create an optimizer for the trainable parameters of `model` in a run of `total_steps` steps."""
        self.model = model
        self._config = config
        self._fsdp = fsdp
        self._grad_clip = grad_clip
        self._total_steps = total_steps
        self.inner = make_optimizer(model.named_parameters(), config)
        """torch's optimizer, whose state is part of a checkpoint."""

    def set_step(self, step: int) -> float:
        """Set and return the learning rate for training step `step`, counted from 1."""
        lr = self._config.lr * lr_factor(self._config, step, self._total_steps)
        for group in self.inner.param_groups:
            group["lr"] = lr
        return lr

    def accumulate(self, *, last: bool) -> None:
        """Prepare for a backward pass, after which gradients are summed over processes and sharded.

        With `fsdp_config.no_sync`, gradients are summed and sharded only after the last backward pass for a
        mini-batch. Until then, each process stores complete gradients.
        """
        if isinstance(self.model, FSDPModule):
            self.model.set_requires_gradient_sync(last or not self._fsdp.no_sync)

    def step(self) -> float:
        """Take an optimizer step if the gradient is finite, and return its norm before clipping."""
        norm = float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), self._grad_clip))
        if math.isfinite(norm):
            self.inner.step()
        self.inner.zero_grad()
        return norm

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Move the optimizer's state to the weights' device for the block if `optimizer_offload` is set."""
        if not self._fsdp.optimizer_offload:
            yield
            return
        self._move(None)
        yield
        self._move("cpu")

    def _move(self, device: str | None) -> None:
        for parameter, state in self.inner.state.items():
            for name, value in state.items():
                if isinstance(value, Tensor) and value.dim():  # the step count is not moved
                    state[name] = value.to(device or parameter.device)


def lr_factor(config: OptimConfig, step: int, total_steps: int) -> float:
    """Return the learning rate for step `step` (from 1) as a fraction of `config.lr`.

    The schedules match transformers' `get_cosine_schedule_with_warmup`, `get_linear_schedule_with_warmup` and
    `get_wsd_schedule` with a linear decay. The first step after the warm-up has the full rate, and the last
    step has more than `min_lr_ratio`.
    """
    total = config.total_training_steps if config.total_training_steps > 0 else total_steps
    warmup = config.lr_warmup_steps
    if warmup < 0:
        warmup = int(config.lr_warmup_steps_ratio * total)
    if step <= warmup:
        return step / warmup
    kind = config.warmup_style or config.lr_scheduler_type
    if kind == "constant":
        return 1.0
    begin = max(warmup, total - int(config.lr_decay_steps_ratio * total)) if kind == "wsd" else warmup
    progress = min(max(step - 1 - begin, 0) / max(total - begin, 1), 1.0)
    left = (
        0.5 * (1 + math.cos(2 * math.pi * config.num_cycles * progress)) if kind == "cosine" else 1 - progress
    )
    return config.min_lr_ratio + (1 - config.min_lr_ratio) * left


@dataclass(frozen=True, slots=True)
class UpdatePlan:
    """Order in which an actor or a critic processes its rows in one training step."""

    mini_batch_size: int
    """Number of rows in a mini-batch, in this process or in the group that shares this process's rows."""
    batching: Batching
    epochs: int
    shuffle: bool

    @classmethod
    def of(
        cls, config: ActorConfig | CriticConfig, parallel: Parallel, samples_per_prompt: int, *, balance: bool
    ) -> UpdatePlan:
        """Return the plan for a worker's settings. `ppo_mini_batch_size` counts prompts in all processes."""
        batching = Batching.of(
            config.ppo_micro_batch_size_per_gpu,
            config.ppo_max_token_len_per_gpu,
            dynamic=config.use_dynamic_bsz,
            balance=balance,
            sharing=parallel.sequence.size,
        )
        rows = config.ppo_mini_batch_size * samples_per_prompt // parallel.data.size
        return cls(rows, batching, config.ppo_epochs, config.shuffle)


def update(
    batch: Batch,
    loss_of: LossOf,
    live_in: LiveIn,
    optimizer: Optimizer,
    parallel: Parallel,
    plan: UpdatePlan,
    *,
    step: int,
    seed: int,
) -> dict[str, float]:
    """Train on this process's share of the batch as planned, with one optimizer step per mini-batch.

    Args:
        step: Training step, from 1, which determines the learning rate.
        seed: Seed for shuffling the rows, the same in all processes.

    Returns:
        The statistics and `grad_norm`, averaged over mini-batches; `lr`; `rows_left_out`, the fraction of
        rows that have no gradient; and, if above 0, `skipped_updates`, the number of mini-batches whose
        gradient was not finite.
    """
    totals: dict[str, Tensor] = {}
    norms: list[float] = []
    lr = optimizer.set_step(step)
    generator = torch.Generator().manual_seed(seed)
    batch = parallel.together(batch)
    batch = Batch({**batch.tensors, "live": live_in(batch)}, [])
    size = _mini_batch_size(batch, plan)
    left_out = parallel.data.sum(batch["live"].logical_not().double().mean()) / parallel.data.size
    with optimizer.at_work():
        drop_out(optimizer.model, active=True)
        for _ in range(plan.epochs):
            if plan.shuffle:
                order = torch.randperm(len(batch), generator=generator)
                batch = batch.select(order.to(parallel.world.device))
            for mini in batch.split(size):
                for name, value in _backward(mini, loss_of, optimizer, parallel, plan.batching).items():
                    totals[name] = totals.get(name, torch.zeros_like(value)) + value
                norms.append(optimizer.step())
        drop_out(optimizer.model, active=False)
    summed = parallel.data.sum(torch.stack(list(totals.values()))) / len(norms)
    metrics = {**dict(zip(totals, summed.tolist(), strict=True)), "lr": lr, "rows_left_out": float(left_out)}
    finite = [n for n in norms if math.isfinite(n)]
    metrics["grad_norm"] = sum(finite) / len(finite) if finite else math.nan
    if len(finite) < len(norms):
        metrics["skipped_updates"] = float(len(norms) - len(finite))
    return metrics


def _mini_batch_size(batch: Batch, plan: UpdatePlan) -> int:
    """Return the number of rows in a mini-batch. Branches enlarge mini-batches instead of adding steps."""
    if "is_branch" not in batch.tensors:
        return plan.mini_batch_size
    episodes = int(batch["is_branch"].logical_not().sum())
    return len(batch) // max(episodes // plan.mini_batch_size, 1)


def _backward(
    mini: Batch, loss_of: LossOf, optimizer: Optimizer, parallel: Parallel, batching: Batching
) -> Stats:
    """Accumulate the gradient of a mini-batch and return this process's share of its statistics.

    If no row has a gradient, one row is computed anyway, because Adam needs a gradient of zeros to update its
    momentum.
    """
    totals: Stats = {}
    of_mini = count(mini["response_mask"], parallel.data.sum)
    exchange = batching.exchange(mini, parallel.data, mini["live"])
    mini = exchange.there(mini) if exchange else mini
    pieces = batching.pieces(mini, parallel.data, optimizer.model, mini["live"])
    computed = count(mini["response_mask"][torch.cat(pieces)], parallel.data.sum)
    of_mini = replace(of_mini, computed=computed.tokens)
    for i, piece in enumerate(pieces, start=1):
        optimizer.accumulate(last=i == len(pieces))
        loss, stats = loss_of(mini.select(piece), of_mini)
        # FSDP averages gradients over processes, but the shares must be summed.
        # Processes that compute a loss together each have only the gradient for their own tokens.
        (loss * parallel.world.size).backward()  # type: ignore[no-untyped-call]
        for name, value in stats.items():
            totals[name] = totals.get(name, torch.zeros_like(value)) + value
    return totals
