"""Reward model, which scores whole responses and is trained on given derivatives of a loss by the scores."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rewardkit.trainer.algorithms.reductions import Stats, Totals
from rewardkit.trainer.batch import Batch, last_tokens
from rewardkit.trainer.config.workers import ActorConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.workers.batching import Batching, map_rows
from rewardkit.trainer.workers.forward import last_values
from rewardkit.trainer.workers.parallel import parallel_to
from rewardkit.trainer.workers.update import Optimizer, UpdatePlan, update


class Scorer:
    """Reward model and its optimizer."""

    def __init__(
        self,
        model: nn.Module,
        world: World,
        config: ActorConfig,
        *,
        samples_per_prompt: int,
        batching: Batching,
        balance: bool,
        total_steps: int,
    ) -> None:
        self.model = model
        self._parallel = parallel_to(model, world, config.ulysses_sequence_parallel_size)
        self._batching = batching
        self._plan = UpdatePlan.of(config, self._parallel, samples_per_prompt, balance=balance)
        self.optimizer = Optimizer(model, config.optim, config.fsdp_config, config.grad_clip, total_steps)

    @torch.no_grad()
    def scores(self, batch: Batch) -> Tensor:
        """Return the score of each response, (B,)."""
        (scores,) = map_rows(batch, lambda b: (self._scores(b),), self._batching, self._parallel, self.model)
        return scores

    def update(self, batch: Batch, step: int, seed: int) -> dict[str, float]:
        """Train on the loss -A * score, where A is the advantage of a response's last token."""
        work = (self._loss, self.live, self.optimizer, self._parallel, self._plan)
        return update(batch, *work, step=step, seed=seed)

    def live(self, batch: Batch) -> Tensor:
        """Return a mask of the rows that have a gradient, (B,) bool."""
        return self._advantages(batch) != 0

    def _scores(self, batch: Batch) -> Tensor:
        return last_values(self.model, batch, self._parallel.sharing)

    def _advantages(self, batch: Batch) -> Tensor:
        last = last_tokens(batch["response_mask"]).unsqueeze(1)
        return batch["advantages"].gather(1, last).squeeze(1)

    def _loss(self, batch: Batch, totals: Totals) -> tuple[Tensor, Stats]:
        loss = -(self._advantages(batch) * self._scores(batch)).sum()
        return loss, {"pg_loss": loss.detach()}
