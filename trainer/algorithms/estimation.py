"""What an advantage estimator is, and how one that compares responses meets those of other processes.

The estimators themselves are in `advantages.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import Reduce

GroupEstimator = Callable[[Tensor, Tensor, Tensor, bool], Tensor]
"""(scores (N,), groups (N,) int64, lengths (N,), normalise by the group's std) -> advantages (N,)."""


@dataclass(frozen=True, slots=True)
class Experience:
    """One process's share of a step, as an estimator sees it: B responses of up to T tokens."""

    rewards: Tensor
    """(B, T)."""
    mask: Tensor
    """(B, T), 1 where the token is the policy's own; 0 for all of a response that was not scored."""
    scored: Tensor
    """(B,) bool: the reward's status was `ok`. The others are in no statistic."""
    groups: Tensor
    """(B,) int64: responses to the same prompt have the same number, in all processes."""
    values: Tensor | None
    """(B, T), where there is a critic."""
    baselines: Tensor | None
    """(B,), ReMax: the score of the greedy response to the same prompt."""
    gamma: float
    lam: float
    norm_by_std: bool
    """GRPO divides by the group's standard deviation; Dr.GRPO does not."""
    reduce: Reduce
    gather: Callable[[Any], list[Any]]
    """Returns every process's item, in the same order everywhere."""
    rank: int


@dataclass(frozen=True, slots=True)
class Estimator:
    """An advantage estimator, and what it needs."""

    estimate: Callable[[Experience], tuple[Tensor, Tensor]]
    """Returns advantages and returns, (B, T), 0 where masked."""
    critic: bool = False
    """It reads `Experience.values`: a critic is trained beside the policy."""
    groups: bool = False
    """It compares the responses to one prompt: there must be two or more."""
    greedy: bool = False
    """It reads `Experience.baselines`: the greedy response to each prompt is drawn and scored too."""


def in_groups(estimator: GroupEstimator) -> Estimator:
    """Return the estimator of a process's share that puts `estimator` to the responses of all.

    Scores are the sums of a response's rewards.
    """

    def estimate(given: Experience) -> tuple[Tensor, Tensor]:
        kept = given.mask.bool()
        scored = given.scored.bool()
        scores = torch.where(kept, given.rewards, torch.zeros_like(given.rewards)).double().sum(dim=1)
        mine = torch.stack([scores, given.groups.double(), kept.sum(dim=1).double()])[:, scored].cpu()
        shares = given.gather(mine)
        start = sum(share.shape[1] for share in shares[: given.rank])
        scores, groups, lengths = torch.cat(shares, dim=1)
        of_all = estimator(scores, groups.long(), lengths, given.norm_by_std)
        advantages = given.rewards.new_zeros(len(scored))
        advantages[scored] = of_all[start : start + mine.shape[1]].to(advantages)
        per_token = where_kept(given.mask, advantages.unsqueeze(1).expand_as(given.rewards))
        return per_token, per_token

    return Estimator(estimate, groups=True)


def where_kept(mask: Tensor, values: Tensor) -> Tensor:
    """Return `values` where `mask` is not 0, and 0 elsewhere; (B, T)."""
    return torch.where(mask.bool(), values, torch.zeros_like(values))
