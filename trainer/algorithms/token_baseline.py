"""Optimal token baseline (OTB), which minimises the variance for each token in a prompt's responses."""

from __future__ import annotations

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.estimation import Estimator, Experience, where_kept
from rewardkit.trainer.algorithms.reductions import Reduce


def energies(log_probs: Tensor, squares: Tensor, mask: Tensor, weights: Tensor | None) -> Tensor:
    """Return the gradient variance that a response has accumulated up to each token, (B, T).

    The squared norm of the gradient of log p(token) with respect to the logits is 1 - 2 p + sum p^2. The norm
    is multiplied by the square of the importance weight, if given.
    """
    each = 1 - 2 * log_probs.double().exp() + squares.double()
    if weights is not None:
        each = each * weights.double().square()
    return where_kept(mask, each).cumsum(dim=1)


def token_baselines(
    returns: Tensor, energy: Tensor, mask: Tensor, members: Tensor, groups: int, reduce: Reduce
) -> Tensor:
    """Return the baseline for each token, (B, T) float64.

    The baseline is the group's mean return from the token onwards, weighted by energy. The baseline is 0 if
    no other response in the group has a token at this position, because it would otherwise be the response's
    own return.

    Args:
        members: Number of each response's group, (B,).
        groups: Number of groups in all processes.
    """
    kept = mask.bool()
    sums = torch.stack([returns * energy, energy, torch.ones_like(energy)])
    sums = torch.where(kept, sums, torch.zeros_like(sums))
    empty = sums.new_zeros((3, groups, mask.shape[1]))
    above, below, count = reduce(empty.index_add(1, members, sums))
    baselines = torch.where(count > 1, above / (below + 1e-8), torch.zeros_like(above))
    return baselines[members]


def estimate_otb(given: Experience) -> tuple[Tensor, Tensor]:
    """Return OTB advantages (arXiv:2602.07078), which are returns minus the group's baseline per position.

    Positions count only tokens from the policy, so that tool outputs in between do not shift the positions.
    """
    assert given.log_probs is not None
    assert given.squares is not None
    mask = given.mask
    rewards = where_kept(mask, given.rewards).double()
    returns = rewards.flip(1).cumsum(dim=1).flip(1)
    energy = energies(given.log_probs, given.squares, mask, given.weights)
    numbers = sorted({group for share in given.gather(given.groups.tolist()) for group in share})
    place = {group: k for k, group in enumerate(numbers)}
    members = torch.tensor([place[group] for group in given.groups.tolist()], device=mask.device)
    order = (~mask.bool()).to(torch.uint8).argsort(dim=1, stable=True)
    moved = [t.gather(1, order) for t in (returns, energy, mask)]
    found = token_baselines(moved[0], moved[1], moved[2], members, len(numbers), given.reduce)
    baselines = torch.zeros_like(found).scatter(1, order, found)
    advantages = where_kept(mask, returns - baselines).to(given.rewards)
    return advantages, where_kept(mask, returns).to(given.rewards)


OTB = Estimator(estimate_otb, groups=True, squares=True)
