"""Advantage estimators, as functions of whole tensors and as estimators for one process's share of a step.

`estimation.py` defines the types.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rewardkit.extensions import Table
from rewardkit.trainer.algorithms.estimation import Estimator, Experience, compared, in_groups, where_kept
from rewardkit.trainer.algorithms.reductions import masked_whiten
from rewardkit.trainer.algorithms.token_baseline import OTB


def gae(rewards: Tensor, values: Tensor, mask: Tensor, *, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    """Return generalised advantage estimates (Schulman et al. 2016, arXiv:1506.02438) and returns.

    A masked position (padding, or tool output between two turns) is not a step. The value and advantage at
    the next unmasked step are carried across it without discount, as in verl (OpenRLHF applies a discount).
    The state after the last step is terminal, even if the response was cut off at the length limit.

    Args:
        rewards: Reward for the token at t, (B, T).
        values: Value of the state in which the token at t was chosen, (B, T).
        mask: Mask that is 1 on tokens from the policy, (B, T).

    Returns:
        Advantages and returns (advantages + values), each (B, T) and 0 where masked.
    """
    kept = mask.bool()
    zero = torch.zeros_like(values[:, 0])
    next_value = zero
    running = zero
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
    """Return the discounted sum of the rewards from each step to the end, (B, T), and 0 where masked."""
    return gae(rewards, torch.zeros_like(rewards), mask, gamma=gamma, lam=1.0)[0]


def grpo(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """Return GRPO advantages (Shao et al. 2024, arXiv:2402.03300): (score - mean) / (std + 1e-6).

    The mean and the unbiased std are computed over the group. Without `norm_by_std`, this is Dr.GRPO
    (arXiv:2503.20783). A response that is alone in its group keeps its score, as in verl.
    """
    centred, inverse, sizes = _centred(scores, groups)
    if not norm_by_std:
        return centred
    variance = _group_sum(centred.square(), inverse, sizes) / (sizes - 1).clamp(min=1)
    std = torch.where(sizes > 1, variance.sqrt(), 1.0)
    return centred / (std[inverse] + 1e-6)


def grpo_passk(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """Return Pass@k advantages (arXiv:2503.19595).

    A group's best response gets the difference to the second-best score. All other responses get 0. If
    several responses share the best score, or if a group has only one response, all advantages are 0.
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
    """Return RLOO advantages (Ahmadian et al. 2024, arXiv:2402.14740).

    An advantage is the response's score minus the mean score of the other responses in the group.
    """
    centred, inverse, sizes = _centred(scores, groups)
    return centred * (sizes / (sizes - 1).clamp(min=1))[inverse]


def opo(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """Return OPO advantages (Hao et al. 2025, arXiv:2505.23585).

    An advantage is the score minus the group's length-weighted mean score.
    """
    inverse, sizes = _numbered(groups)
    total_length = _group_sum(lengths, inverse, sizes).clamp(min=1)
    baselines = _group_sum(scores * lengths, inverse, sizes) / total_length
    return scores - torch.where(sizes > 1, baselines, 0.0)[inverse]


def group_centred(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """Return scores minus their group's mean (REINFORCE++-baseline before whitening)."""
    return _centred(scores, groups)[0]


def gpg(scores: Tensor, groups: Tensor, lengths: Tensor, norm_by_std: bool) -> Tensor:
    """Return GPG advantages (Chu et al. 2025, arXiv:2504.02546).

    An advantage is the score minus the group's mean, times the number of responses divided by the number of
    nonzero scores.
    """
    return _centred(scores, groups)[0] * len(scores) / scores.count_nonzero().clamp(min=1)


def _centred(scores: Tensor, groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return scores minus their group's mean, group numbers from 0, and group sizes.

    A score that is alone in its group is returned unchanged.
    """
    inverse, sizes = _numbered(groups)
    means = torch.where(sizes > 1, _group_sum(scores, inverse, sizes) / sizes, 0.0)
    return scores - means[inverse], inverse, sizes


def _numbered(groups: Tensor) -> tuple[Tensor, Tensor]:
    """Return group numbers that start at 0, (N,), and the size of each group."""
    _, inverse, sizes = torch.unique(groups, return_inverse=True, return_counts=True)
    return inverse, sizes


def _group_sum(values: Tensor, inverse: Tensor, sizes: Tensor) -> Tensor:
    return values.new_zeros(len(sizes)).index_add(0, inverse, values)


def estimate_gae(given: Experience) -> tuple[Tensor, Tensor]:
    """Return GAE advantages from a critic's values, whitened over all tokens, and returns."""
    assert given.values is not None
    advantages, returns = gae(given.rewards, given.values, given.mask, gamma=given.gamma, lam=given.lam)
    return masked_whiten(advantages, given.mask, given.reduce), returns


def estimate_reinforce_plus_plus(given: Experience) -> tuple[Tensor, Tensor]:
    """Return REINFORCE++ advantages (Hu 2025, arXiv:2501.03262), which are whitened discounted returns."""
    returns = discounted_returns(given.rewards, given.mask, given.gamma)
    return masked_whiten(returns, given.mask, given.reduce), returns


def estimate_remax(given: Experience) -> tuple[Tensor, Tensor]:
    """Return ReMax advantages (Li et al. 2024, arXiv:2310.10505), which are returns minus greedy scores."""
    assert given.baselines is not None
    returns = discounted_returns(given.rewards, given.mask, 1.0)
    return where_kept(given.mask, returns - given.baselines.unsqueeze(1)), returns


def estimate_reinforce_plus_plus_baseline(given: Experience) -> tuple[Tensor, Tensor]:
    """Return REINFORCE++-baseline advantages (Hu 2025), which are whitened scores minus the group's mean."""
    advantages, _ = in_groups(group_centred).estimate(given)
    white = masked_whiten(advantages, given.mask, given.reduce)
    return white, white


def estimate_gdpo(given: Experience) -> tuple[Tensor, Tensor]:
    """Return GDPO advantages (Liu et al. 2026, arXiv:2601.05242).

    GRPO advantages are computed separately for each part of the score, so that no part dominates. The
    weighted sum of these advantages is whitened over all tokens.
    """
    assert given.parts is not None
    of_parts = compared(grpo, given, given.parts)
    weights = torch.tensor(given.part_weights).to(of_parts)
    summed = where_kept(given.mask, (of_parts * weights).sum(dim=1, keepdim=True).expand_as(given.mask))
    white = masked_whiten(summed, given.mask, given.reduce)
    return white, white


ESTIMATORS: Table[Estimator] = Table(
    "estimators",
    Estimator,
    {
        "gae": Estimator(estimate_gae, critic=True),
        "grpo": in_groups(grpo, by_turns=True),
        "gdpo": Estimator(estimate_gdpo, groups=True, parts=True),
        "grpo_passk": in_groups(grpo_passk),
        "rloo": in_groups(rloo, by_turns=True),
        "opo": in_groups(opo, by_turns=True),
        "gpg": in_groups(gpg),
        "reinforce_plus_plus": Estimator(estimate_reinforce_plus_plus),
        "reinforce_plus_plus_baseline": Estimator(
            estimate_reinforce_plus_plus_baseline, groups=True, by_turns=True
        ),
        "remax": Estimator(estimate_remax, greedy=True),
        "optimal_token_baseline": OTB,
        "tir_optimal_token_baseline": OTB,
    },
)
"""Estimators by their names in `algorithm.adv_estimator` (docs/extending_trainer.md)."""
