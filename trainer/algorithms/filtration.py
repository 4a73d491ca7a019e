"""PF-PPO (Shen et al. 2024, arXiv:2409.06957): what has a score that can be trusted is learned from more."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


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
"""By the names of `algorithm.pf_ppo.reweight_method`."""


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
