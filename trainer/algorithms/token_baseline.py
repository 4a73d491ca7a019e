"""The optimal token baseline (OTB): for each token of a group of responses to one prompt, the baseline of
least variance."""

from __future__ import annotations

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.estimation import Estimator, Experience, where_kept
from rewardkit.trainer.algorithms.reductions import Reduce


def energies(log_probs: Tensor, squares: Tensor, mask: Tensor, weights: Tensor | None) -> Tensor:
    """Return how much of the gradient's variance a response has gathered up to each token, (B, T).

    The squared length of the gradient of log p(token) by the logits is 1 - 2 p + sum p^2; with importance
    weights it is that times their square.
    """
    each = 1 - 2 * log_probs.double().exp() + squares.double()
    if weights is not None:
        each = each * weights.double().square()
    return where_kept(mask, each).cumsum(dim=1)


def token_baselines(
    returns: Tensor, energy: Tensor, mask: Tensor, members: Tensor, groups: int, reduce: Reduce
) -> Tensor:
    """Return for each token the group's mean return from there on, weighted by energy, (B, T) float64.

    0 where no other response of the group has a token at that place: its own return would be its baseline.

    Args:
        members: (B,), the number of each response's group among the `groups` of all processes.
    """
    kept = mask.bool()
    sums = torch.stack([returns * energy, energy, torch.ones_like(energy)])
    sums = torch.where(kept, sums, torch.zeros_like(sums))
    empty = sums.new_zeros((3, groups, mask.shape[1]))
    above, below, count = reduce(empty.index_add(1, members, sums))
    baselines = torch.where(count > 1, above / (below + 1e-8), torch.zeros_like(above))
    return baselines[members]


def estimate_otb(given: Experience) -> tuple[Tensor, Tensor]:
    """OTB (arXiv:2602.07078): the return from a token on, less the baseline of its place in the group.

    Places are counted over the policy's own tokens, so that what a tool says between them moves none.
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
