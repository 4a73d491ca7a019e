"""What the updates of actor and critic share: mini-batches, micro-batches, denominators, the optimizer."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from rewardkit.trainer.algorithms.losses import Stats
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config import OptimConfig
from rewardkit.trainer.distributed import World

LossOf = Callable[[Batch, Tensor], tuple[Tensor, Stats]]
"""Given a micro-batch and the token count of its whole mini-batch: the loss and its statistics, as shares
of the mini-batch's token mean (see `algorithms/losses.py`)."""


class Optimizer:
    """AdamW with gradient clipping and linear warm-up."""

    def __init__(self, model: nn.Module, config: OptimConfig, grad_clip: float) -> None:
        self._model, self._config, self._grad_clip = model, config, grad_clip
        self.adamw = torch.optim.AdamW(  # public: checkpoints hold its state
            model.parameters(),
            lr=config.lr,
            betas=config.betas,
            weight_decay=config.weight_decay,
            fused=True,  # one kernel; without it, DTensor's dispatch costs more than the arithmetic
        )

    def set_step(self, step: int) -> float:
        """Set and return the learning rate of training step `step`, counted from 1."""
        lr = self._config.lr * min(1.0, step / max(self._config.lr_warmup_steps, 1))
        for group in self.adamw.param_groups:
            group["lr"] = lr
        return lr

    def step(self) -> float:
        """Take one step and return the gradient norm before clipping; none where it is not finite."""
        norm = float(torch.nn.utils.clip_grad_norm_(self._model.parameters(), self._grad_clip))
        if math.isfinite(norm):
            self.adamw.step()
        self.adamw.zero_grad()
        return norm


def update(
    batch: Batch,
    loss_of: LossOf,
    optimizer: Optimizer,
    world: World,
    *,
    mini_batch_size: int,
    micro_batch_size: int | None,
    epochs: int,
    shuffle_seed: int | None,
) -> dict[str, float]:
    """Go `epochs` times through this process's share of the batch, one optimizer step for each mini-batch.

    Args:
        mini_batch_size: rows of this process in a mini-batch.
        shuffle_seed: permutes the rows before each epoch; the same in all processes. None: as they come.

    Returns:
        the statistics and `grad_norm`, averaged over mini-batches; `skipped_updates`, the number of
        mini-batches whose gradient was not finite, when there are any.
    """
    totals: dict[str, Tensor] = {}
    norms: list[float] = []
    generator = torch.Generator().manual_seed(shuffle_seed or 0)
    for _ in range(epochs):
        if shuffle_seed is not None:
            order = torch.randperm(len(batch), generator=generator)
            batch = batch.select(order.to(world.device))
        for mini in batch.split(mini_batch_size):
            tokens = world.sum(mini["response_mask"].sum()).clamp(min=1)
            for micro in mini.split(micro_batch_size):
                loss, stats = loss_of(micro.trimmed(), tokens)
                # FSDP averages gradients over the processes; the shares must be added up.
                (loss * world.size).backward()  # type: ignore[no-untyped-call]
                for name, value in stats.items():
                    totals[name] = totals.get(name, torch.zeros_like(value)) + value
            norms.append(optimizer.step())
    summed = world.sum(torch.stack(list(totals.values()))) / len(norms)
    metrics = dict(zip(totals, summed.tolist(), strict=True))
    finite = [n for n in norms if math.isfinite(n)]
    metrics["grad_norm"] = sum(finite) / len(finite) if finite else math.nan
    if len(finite) < len(norms):
        metrics["skipped_updates"] = float(len(norms) - len(finite))
    return metrics
