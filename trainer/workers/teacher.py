"""Teacher model, which evaluates the tokens of the policy's responses for distillation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.root import DistillationLossConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.heads import PolicyModel
from rewardkit.trainer.workers.actor import Reference, without_routes
from rewardkit.trainer.workers.batching import Batching, map_rows
from rewardkit.trainer.workers.distillation import (
    Head,
    compares_distributions,
    stored_figures,
    stored_tensors,
)
from rewardkit.trainer.workers.forward import response_figures


class Teacher(Reference):
    """Teacher model, which is never updated."""

    def __init__(
        self,
        model: nn.Module,
        world: World,
        batching: Batching,
        given: DistillationLossConfig,
        *,
        vocabulary: int,
        dtype: torch.dtype,
        temperature: float,
        sequence_parallel: int = 1,
    ) -> None:
        """Create a teacher.

        Args:
            vocabulary: Size of the policy's vocabulary.
            dtype: Data type in which the teacher computes.
            sequence_parallel: Number of processes that share the tokens in each row.
        """
        super().__init__(model, world, batching, temperature=temperature, sequence_parallel=sequence_parallel)
        self._given = given
        self._stored = stored_figures(given, vocabulary)
        self._dtype = dtype

    @torch.no_grad()
    def evaluate(self, batch: Batch) -> None:
        """Set `teacher_log_prob`, (B, T), and the tensors that the distance needs. See `distillation.py`."""
        if not compares_distributions(self._given):
            batch["teacher_log_prob"] = self.log_probs(batch)
            return
        given = without_routes(batch)
        found = map_rows(given, self._chosen_and_stored, self._batching, self._parallel, self.model)
        batch["teacher_log_prob"] = found[0]
        for name, tensor in stored_tensors(self._given, found[1]).items():
            batch[name] = tensor

    def _chosen_and_stored(self, batch: Batch) -> tuple[Tensor, ...]:
        sharing = self._parallel.sharing
        log_probs, _, figures = response_figures(
            self.model, batch, self._temperature, self._stored, sharing=sharing
        )
        assert figures is not None
        return log_probs, figures

    @torch.no_grad()
    def copy_head(self) -> Head:
        """Return a copy of the output layer that needs no other process. All processes must call this."""
        model = self.model if isinstance(self.model, PolicyModel) else PolicyModel(self.model)
        return model.copy_head(self._dtype)
