"""Implements PF-PPO (Shen et al. 2024, arXiv:2409.06957), which favours responses with reliable scores.

The responses from all processes in a step are resampled according to their scores.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.trainer.workers.batching import Exchange


def filtered(run: TrainingRun, batch: Batch) -> Batch:
    """Resample the responses from all processes. Return a batch of the same size, without Python objects.

    The scores are rewards without the KL penalty. The random choice depends only on the seeds of the step's
    responses.
    """
    world = run.world
    mine = (batch["token_level_scores"].sum(dim=1).cpu(), batch["scored"].bool().cpu(), batch["seeds"].cpu())
    scores, scored, seeds = (torch.cat(share) for share in zip(*world.gather(mine), strict=True))
    order = seeds.argsort(stable=True)  # this order does not depend on the number of processes
    how = run.config.algorithm.pf_ppo
    seed = int(seeds.min())
    drawn = order[draw(scores[order], scored[order], how.reweight_method, how.weight_pow, seed)]
    wanted = [drawn[rank :: world.size] for rank in range(world.size)]
    came = Exchange.of(wanted, len(batch), world).there(batch)
    places = (wanted[world.rank] // len(batch)).argsort(stable=True).argsort()
    return came.select(places.to(world.device))


def _power(scores: Tensor, power: float) -> Tensor:
    return scores.abs().pow(power)


def _extremes(scores: Tensor, power: float) -> Tensor:
    return ((scores == scores.max()) | (scores == scores.min())).to(scores)


def _best(scores: Tensor, power: float) -> Tensor:
    return torch.where(scores == scores.max(), 0.4, 0.1).to(scores)


REWEIGHTINGS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "pow": _power,
    "max_min": _extremes,
    "max_random": _best,
}
"""Weight functions by their names in `algorithm.pf_ppo.reweight_method`."""


def draw(scores: Tensor, scored: Tensor, method: str, power: float, seed: int) -> Tensor:
    """Sample N responses with replacement, with weights that depend on their scores.

    Args:
        scores: Scores of all responses in a step, (N,).
        scored: True for responses that were scored, (N,) bool. Other responses are returned only if no
            response was scored.
        power: Exponent for `pow`.

    Returns:
        Indices of the sampled responses, (N,).
    """
    if not bool(scored.any()):
        return torch.arange(len(scores))
    weights = torch.zeros(len(scores), dtype=torch.float64)
    weights[scored] = REWEIGHTINGS[method](scores[scored].double(), power) + 1e-8
    generator = torch.Generator().manual_seed(seed)
    return weights.multinomial(len(scores), replacement=True, generator=generator)
