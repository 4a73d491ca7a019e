"""The critic: values of the states a response passes through, and their regression on the returns."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rewardkit.trainer.algorithms.losses import Stats, value_loss
from rewardkit.trainer.algorithms.reductions import Totals
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config import CriticConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.workers.update import Optimizer, update


def response_values(model: nn.Module, batch: Batch) -> Tensor:
    """Return V(s_t) for each response token, (B, T).

    s_t is the state in which the token at t was chosen: the head's output one position before it.
    """
    values: Tensor = model(batch["input_ids"], batch["attention_mask"], batch["position_ids"])
    return values[:, -batch["responses"].shape[1] - 1 : -1]


class Critic:
    """A value model and its optimizer."""

    def __init__(
        self, model: nn.Module, world: World, config: CriticConfig, *, samples_per_prompt: int
    ) -> None:
        self.model, self._world, self._config = model, world, config
        self._mini_batch_size = config.ppo_mini_batch_size * samples_per_prompt // world.size
        self.optimizer = Optimizer(model, config.optim, config.grad_clip)

    @torch.no_grad()
    def values(self, batch: Batch) -> Tensor:
        """Return the values of the response tokens, (B, T)."""
        width = batch["responses"].shape[1]
        pieces = [
            response_values(self.model, piece.trimmed())
            for piece in batch.split(self._config.ppo_micro_batch_size_per_gpu)
        ]
        return torch.cat([F.pad(v, (0, width - v.shape[1])) for v in pieces])

    def update(self, batch: Batch, step: int, seed: int) -> dict[str, float]:
        """Take the regression steps of training step `step` and return their metrics."""
        lr = self.optimizer.set_step(step)
        metrics = update(
            batch,
            self._loss,
            self.optimizer,
            self._world,
            mini_batch_size=self._mini_batch_size,
            micro_batch_size=self._config.ppo_micro_batch_size_per_gpu,
            epochs=self._config.ppo_epochs,
            shuffle_seed=seed if self._config.shuffle else None,
        )
        return {**metrics, "lr": lr}

    def _loss(self, batch: Batch, totals: Totals) -> tuple[Tensor, Stats]:
        return value_loss(
            response_values(self.model, batch),
            batch["values"],
            batch["returns"],
            batch["response_mask"],
            totals,
            clip_range=self._config.cliprange_value,
            aggregation=self._config.loss_agg_mode,
            horizon=self._config.loss_scale_factor,
        )
