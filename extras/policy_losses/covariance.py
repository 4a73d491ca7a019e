"""Selects the tokens that Clip-Cov and KL-Cov treat differently (Cui et al. 2025, arXiv:2505.22617).

The selected tokens have a high covariance between log-probability and advantage, and their updates reduce the
entropy most. Tokens are selected once from a step's whole batch on all processes, with log-probabilities from
the policy that generated the batch. The selection therefore does not depend on mini- and micro-batches. verl
selects tokens in each micro-batch separately.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.objective import PolicyOptions, StepTokens
from rewardkit.trainer.algorithms.reductions import Reduce, masked_moments


def choose_by_lot(step: StepTokens, options: PolicyOptions) -> Tensor:
    """Select tokens for Clip-Cov at random from the tokens whose covariance is within the bounds.

    The number of selected tokens is the fraction `clip_cov_ratio` of all tokens.
    """
    cov = covariance(step.log_probs, step.advantages, step.mask, step.reduce)
    within = step.mask.bool() & (cov > options.clip_cov_lb) & (cov < options.clip_cov_ub)
    return largest(_draws(step), within, _share(step, options.clip_cov_ratio), step.gather)


def choose_largest(step: StepTokens, options: PolicyOptions) -> Tensor:
    """Select tokens for KL-Cov: the fraction `kl_cov_ratio` of all tokens with the largest covariance."""
    cov = covariance(step.log_probs, step.advantages, step.mask, step.reduce)
    return largest(cov, step.mask.bool(), _share(step, options.kl_cov_ratio), step.gather)


def covariance(log_probs: Tensor, advantages: Tensor, mask: Tensor, reduce: Reduce) -> Tensor:
    """Return (A - mean A) * (log p - mean log p) per token, (B, T) float64.

    Values at masked positions are arbitrary.
    """
    mean_a, _ = masked_moments(advantages, mask, reduce)
    mean_p, _ = masked_moments(log_probs, mask, reduce)
    return (advantages.double() - mean_a) * (log_probs.double() - mean_p)


def largest(keys: Tensor, candidates: Tensor, n: int, gather: Callable[[Any], list[Any]]) -> Tensor:
    """Return a bool mask of the `n` largest `keys` among the candidates on all processes, including ties.

    Args:
        keys: Values to compare, (B, T).
        candidates: Mask of the tokens that may be selected, (B, T).
        n: Number of tokens to select.
        gather: Function that returns the items from all processes.
    """
    mine = keys[candidates.bool()]
    everyone = torch.cat(gather(mine.topk(min(n, len(mine))).values.cpu()))
    if not len(everyone):
        return torch.zeros_like(candidates, dtype=torch.bool)
    threshold = everyone.topk(min(n, len(everyone))).values[-1]
    return candidates.bool() & (keys >= threshold.to(keys.device))


def _share(step: StepTokens, ratio: float) -> int:
    return max(1, int(ratio * int(step.reduce(step.mask.bool().sum()))))


def _draws(step: StepTokens) -> Tensor:
    """Draw uniform random numbers, (B, T). The numbers in a row depend only on the seed of its response."""
    width = step.mask.shape[1]
    generator = torch.Generator()
    rows = [
        torch.rand(width, generator=generator.manual_seed(seed), dtype=torch.float64)
        for seed in step.seeds.tolist()
    ]
    return torch.stack(rows).to(step.mask.device)
