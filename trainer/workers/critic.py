"""Critic, which estimates the values of states during a response and is trained to predict the returns."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rewardkit.trainer.algorithms.losses import value_loss
from rewardkit.trainer.algorithms.reductions import Stats, Totals
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.workers import CriticConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.workers.batching import Batching, map_rows
from rewardkit.trainer.workers.forward import response_values
from rewardkit.trainer.workers.parallel import parallel_to
from rewardkit.trainer.workers.update import Optimizer, UpdatePlan, update


class Critic:
    """Value model and its optimizer."""

    def __init__(
        self,
        model: nn.Module,
        world: World,
        config: CriticConfig,
        *,
        samples_per_prompt: int,
        balance: bool = False,
        total_steps: int = 1,
    ) -> None:
        self.model = model
        self._parallel = parallel_to(model, world, config.ulysses_sequence_parallel_size)
        self._config = config
        self._plan = UpdatePlan.of(config, self._parallel, samples_per_prompt, balance=balance)
        self._forward_batching = Batching.of(
            config.forward_micro_batch_size_per_gpu,
            config.forward_max_token_len_per_gpu,
            dynamic=config.use_dynamic_bsz,
            balance=balance,
            sharing=self._parallel.sequence.size,
        )
        self.optimizer = Optimizer(model, config.optim, config.fsdp_config, config.grad_clip, total_steps)

    @torch.no_grad()
    def values(self, batch: Batch) -> Tensor:
        """Return the values of the response tokens, (B, T)."""
        (values,) = map_rows(
            batch,
            lambda b: (response_values(self.model, b, self._parallel.sharing),),
            self._forward_batching,
            self._parallel,
            self.model,
        )
        return values

    def update(self, batch: Batch, step: int, seed: int) -> dict[str, float]:
        """Run the regression updates for training step `step` and return their metrics."""
        work = (self._loss, self.live, self.optimizer, self._parallel, self._plan)
        return update(batch, *work, step=step, seed=seed)

    def live(self, batch: Batch) -> Tensor:
        """Return a mask of the rows that have a gradient, (B,) bool, which are all rows with a token."""
        return batch["response_mask"].bool().any(dim=1)

    def _loss(self, batch: Batch, totals: Totals) -> tuple[Tensor, Stats]:
        return value_loss(
            response_values(self.model, batch, self._parallel.sharing),
            batch["values"],
            batch["returns"],
            batch["response_mask"],
            totals,
            clip_range=self._config.cliprange_value,
            aggregation=self._config.loss_agg_mode,
            horizon=self._config.loss_scale_factor,
        )
