"""From rewards, values and groups of responses to advantages and returns, by the names of
`algorithm.adv_estimator`.

The mathematics is in functions of whole tensors. An estimator of the registry puts them to one process's
share: group statistics are taken over the responses of all processes, wherever the members of a group are,
and whitening is reduced over them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import Reduce, masked_whiten

GroupEstimator = Callable[[Tensor, Tensor, Tensor, bool], Tensor]
"""(scores (N,), groups (N,) int64, lengths (N,), normalise by the group's std) -> advantages (N,)."""


@dataclass(frozen=True, slots=True)
class Experience:
    """One process's share of a step, as an estimator sees it: B responses of up to T tokens."""

    rewards: Tensor
    """(B, T)."""
    mask: Tensor
    """(B, T), 1 where the token is the policy's own; 0 for all of a response that was not judged."""
    judged: Tensor
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


Estimator = Callable[[Experience], tuple[Tensor, Tensor]]
"""Returns advantages and returns, (B, T), 0 where masked."""


def gae(rewards: Tensor, values: Tensor, mask: Tensor, *, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation (Schulman et al. 2016, arXiv:1506.02438).

    A masked position (padding, or a tool's tokens between two turns) is no step: value and advantage of
    the next unmasked step are carried over it undiscounted, as in verl; OpenRLHF discounts through it. The
    state after the last step is terminal, also for a response cut off by its length limit.

    Args:
        rewards: (B, T), for the token at t.
        values: (B, T), of the state in which the token at t was chosen.
        mask: (B, T), 1 where the token is the policy's own.

    Returns:
        advantages and returns (advantages + values), each (B, T), 0 where masked.
    """
    kept = mask.bool()
    zero = torch.zeros_like(values[:, 0])
    next_value, running = zero, zero
    advantages = torch.zeros_like(values)
    for t in reversed(range(values.shape[1])):
        here = kept[:, t]
        delta = rewards[:, t] + gamma * next_value - values[:, t]
        running = torch.where(here, delta + gamma * lam * running, running)
        next_value = torch.where(here, values[:, t], next_value)
        advantages[:, t] = torch.where(here, running, zero)
    returns = torch.where(kept, advantages + values, torch.zeros_like(values))
    return advantages, returns


def discounted_returns(rewards: Tensor, mask: Tensor, gamma: float) -> Tensor:
    """Return the discounted sum of the rewards from each step on, (B, T), 0 where masked."""
    return gae(rewards, torch.zeros_like(rewards), mask, gamma=gamma, lam=1.0)[0]


def grpo(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """GRPO (Shao et al. 2024, arXiv:2402.03300): (score - mean) / (std + 1e-6) in the group, std unbiased.

    Dr.GRPO (arXiv:2503.20783) without the std. A response alone in its group keeps its score, as in verl.
    """
    centred, inverse, sizes = _centred(scores, groups)
    if not norm_by_std:
        return centred
    variance = _group_sum(centred.square(), inverse, sizes) / (sizes - 1).clamp(min=1)
    std = torch.where(sizes > 1, variance.sqrt(), 1.0)
    return centred / (std[inverse] + 1e-6)


def grpo_passk(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """Pass@k (arXiv:2503.19595): the best of a group gets its lead over the second, the others 0.

    Of equally good ones none has a lead. A response alone in its group gets 0.
    """
    advantages = torch.zeros_like(scores)
    inverse, sizes = _numbered(groups)
    for group in range(len(sizes)):
        members = (inverse == group).nonzero().squeeze(1)
        if len(members) > 1:
            first, second = scores[members].topk(2).values
            lead = first - second
            best = members[scores[members].argmax()]
            advantages[best] = lead / (scores[members].std() + 1e-6) if norm_by_std else lead
    return advantages


def rloo(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """RLOO (Ahmadian et al. 2024, arXiv:2402.14740): score less the mean of the others in the group."""
    centred, inverse, sizes = _centred(scores, groups)
    return centred * (sizes / (sizes - 1).clamp(min=1))[inverse]


def opo(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """OPO (Hao et al. 2025, arXiv:2505.23585): score less the group's mean weighted by length."""
    inverse, sizes = _numbered(groups)
    total_length = _group_sum(lengths, inverse, sizes).clamp(min=1)
    baselines = _group_sum(scores * lengths, inverse, sizes) / total_length
    return scores - torch.where(sizes > 1, baselines, 0.0)[inverse]


def group_centred(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """Score less the group's mean (REINFORCE++-baseline, before it is whitened)."""
    return _centred(scores, groups)[0]


def gpg(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """GPG (Chu et al. 2025, arXiv:2504.02546): score less the group's mean, times the number of responses
    over the number of those with a score other than 0."""
    return _centred(scores, groups)[0] * len(scores) / scores.count_nonzero().clamp(min=1)


def _centred(scores: Tensor, groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return scores less their group's mean (less 0 in a group of one), group numbers from 0, group sizes."""
    inverse, sizes = _numbered(groups)
    means = torch.where(sizes > 1, _group_sum(scores, inverse, sizes) / sizes, 0.0)
    return scores - means[inverse], inverse, sizes


def _numbered(groups: Tensor) -> tuple[Tensor, Tensor]:
    """Return the groups renumbered from 0, (N,), and the size of each."""
    _, inverse, sizes = torch.unique(groups, return_inverse=True, return_counts=True)
    return inverse, sizes


def _group_sum(values: Tensor, inverse: Tensor, sizes: Tensor) -> Tensor:
    return values.new_zeros(len(sizes)).index_add(0, inverse, values)


def _estimate_gae(given: Experience) -> tuple[Tensor, Tensor]:
    assert given.values is not None
    advantages, returns = gae(given.rewards, given.values, given.mask, gamma=given.gamma, lam=given.lam)
    return masked_whiten(advantages, given.mask, given.reduce), returns


def _estimate_reinforce_plus_plus(given: Experience) -> tuple[Tensor, Tensor]:
    """REINFORCE++ (Hu 2025, arXiv:2501.03262): whitened discounted returns."""
    returns = discounted_returns(given.rewards, given.mask, given.gamma)
    return masked_whiten(returns, given.mask, given.reduce), returns


def _estimate_remax(given: Experience) -> tuple[Tensor, Tensor]:
    """ReMax (Li et al. 2024, arXiv:2310.10505): returns less the score of the greedy response."""
    assert given.baselines is not None
    returns = discounted_returns(given.rewards, given.mask, 1.0)
    return _where(given.mask, returns - given.baselines.unsqueeze(1)), returns


def _in_groups(estimator: GroupEstimator) -> Estimator:
    """Make an estimator of a share from one of all responses: scores are the sums of a response's rewards."""

    def estimate(given: Experience) -> tuple[Tensor, Tensor]:
        kept, judged = given.mask.bool(), given.judged.bool()
        scores = torch.where(kept, given.rewards, torch.zeros_like(given.rewards)).double().sum(dim=1)
        mine = torch.stack([scores, given.groups.double(), kept.sum(dim=1).double()])[:, judged].cpu()
        shares = given.gather(mine)
        start = sum(share.shape[1] for share in shares[: given.rank])
        scores, groups, lengths = torch.cat(shares, dim=1)
        of_all = estimator(scores, groups.long(), lengths, given.norm_by_std)
        advantages = given.rewards.new_zeros(len(judged))
        advantages[judged] = of_all[start : start + mine.shape[1]].to(advantages)
        per_token = _where(given.mask, advantages.unsqueeze(1).expand_as(given.rewards))
        return per_token, per_token

    return estimate


def _estimate_reinforce_plus_plus_baseline(given: Experience) -> tuple[Tensor, Tensor]:
    """REINFORCE++-baseline (Hu 2025): less the group's mean, then whitened over all tokens."""
    advantages, _ = _in_groups(group_centred)(given)
    white = masked_whiten(advantages, given.mask, given.reduce)
    return white, white


def _where(mask: Tensor, values: Tensor) -> Tensor:
    return torch.where(mask.bool(), values, torch.zeros_like(values))


ESTIMATORS: dict[str, Estimator] = {
    "gae": _estimate_gae,
    "grpo": _in_groups(grpo),
    "grpo_passk": _in_groups(grpo_passk),
    "rloo": _in_groups(rloo),
    "opo": _in_groups(opo),
    "gpg": _in_groups(gpg),
    "reinforce_plus_plus": _estimate_reinforce_plus_plus,
    "reinforce_plus_plus_baseline": _estimate_reinforce_plus_plus_baseline,
    "remax": _estimate_remax,
}
"""By the names of `algorithm.adv_estimator`; a function added here can be asked for by its name."""

WITH_CRITIC = ("gae",)
NEEDS_GROUPS = ("grpo", "grpo_passk", "rloo", "opo", "gpg", "reinforce_plus_plus_baseline")
"""Those that learn nothing from, or are not defined for, one response per prompt."""
