"""Which tokens Clip-Cov and KL-Cov treat apart: those with a high covariance of log-probability and
advantage, whose updates cost the most entropy (Cui et al. 2025, arXiv:2505.22617).

The choice is made once, over the whole batch of a step and all processes, under the policy that acted: it is
the same in any split into mini- and micro-batches. verl chooses anew in each micro-batch, by its share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import Reduce, masked_moments

Gather = Callable[[Any], list[Any]]
"""Returns every process's item."""


def covariance(log_probs: Tensor, advantages: Tensor, mask: Tensor, reduce: Reduce) -> Tensor:
    """Return (A - mean A) * (log p - mean log p) per token, (B, T) float64; garbage where masked."""
    mean_a, _ = masked_moments(advantages, mask, reduce)
    mean_p, _ = masked_moments(log_probs, mask, reduce)
    return (advantages.double() - mean_a) * (log_probs.double() - mean_p)


def largest(keys: Tensor, candidates: Tensor, n: int, gather: Gather) -> Tensor:
    """Return a bool mask of the `n` largest `keys` among the candidates of all processes, and their ties."""
    mine = keys[candidates.bool()]
    everyone = torch.cat(gather(mine.topk(min(n, len(mine))).values.cpu()))
    if not len(everyone):
        return torch.zeros_like(candidates, dtype=torch.bool)
    threshold = everyone.topk(min(n, len(everyone))).values[-1]
    return candidates.bool() & (keys >= threshold.to(keys.device))


def choose_clip_cov(
    cov: Tensor,
    mask: Tensor,
    draws: Tensor,
    *,
    ratio: float,
    bounds: tuple[float, float],
    reduce: Reduce,
    gather: Gather,
) -> Tensor:
    """Return a random share `ratio` of all tokens (at least one), drawn from those with `cov` in `bounds`.

    Args:
        cov, mask: (B, T).
        draws: (B, T) uniform random numbers; those of a response must not depend on the rest of the batch.
    """
    within = mask.bool() & (cov > bounds[0]) & (cov < bounds[1])
    return largest(draws, within, _share(ratio, mask, reduce), gather)


def choose_kl_cov(cov: Tensor, mask: Tensor, *, ratio: float, reduce: Reduce, gather: Gather) -> Tensor:
    """Return the share `ratio` of all tokens (at least one) with the largest `cov`."""
    return largest(cov, mask.bool(), _share(ratio, mask, reduce), gather)


def _share(ratio: float, mask: Tensor, reduce: Reduce) -> int:
    return max(1, int(ratio * int(reduce(mask.bool().sum()))))
