"""PF-PPO (Shen et al. 2024, arXiv:2409.06957): trains more on responses with reliable scores.

The responses of a step are resampled by their scores, over all processes.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.training_run import TrainingRun
from rewardkit.trainer.workers.batching import Exchange


def filtered(run: TrainingRun, batch: Batch) -> Batch:
    """Return as many responses, drawn from those of all processes: tensors alone, without their Python rows.

    Scores are those of the rewards, without the KL. Which are drawn depends on the step's own seeds alone.
    """
    world = run.world
    mine = (batch["token_level_scores"].sum(dim=1).cpu(), batch["scored"].bool().cpu(), batch["seeds"].cpu())
    scores, scored, seeds = (torch.cat(share) for share in zip(*world.gather(mine), strict=True))
    order = seeds.argsort(stable=True)  # one that does not depend on the number of processes
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
"""Functions by the names of `algorithm.pf_ppo.reweight_method`."""


def draw(scores: Tensor, scored: Tensor, method: str, power: float, seed: int) -> Tensor:
    """Draw as many responses as there are, with replacement, by weights of their scores.

    Args:
        scores: (N,), of all responses of a step.
        scored: (N,) bool; the others are never drawn, unless there are no scored ones.
        power: of `pow`.

    Returns:
        the drawn ones, (N,) indices.
    """
    if not bool(scored.any()):
        return torch.arange(len(scores))
    weights = torch.zeros(len(scores), dtype=torch.float64)
    weights[scored] = REWEIGHTINGS[method](scores[scored].double(), power) + 1e-8
    generator = torch.Generator().manual_seed(seed)
    return weights.multinomial(len(scores), replacement=True, generator=generator)
