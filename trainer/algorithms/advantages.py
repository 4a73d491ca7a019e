"""From rewards and values to advantages and returns."""

from __future__ import annotations

import torch
from torch import Tensor


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
