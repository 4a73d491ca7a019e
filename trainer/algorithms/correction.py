"""Importance weights that correct for a rollout engine whose distribution is not quite the trainer's."""

from __future__ import annotations

import torch
from torch import Tensor

LEVELS = ("token", "sequence")


def rollout_log_weights(old_log_probs: Tensor, rollout_log_probs: Tensor, mask: Tensor, level: str) -> Tensor:
    """Return log of p_trainer / p_rollout, (B, T), 0 where masked; clamped to +-20 against overflow.

    `token`: of each token (biased, little variance). `sequence`: of the whole response, on each of its
    tokens (unbiased, much variance).
    """
    kept = mask.bool()
    log_ratio = torch.where(kept, old_log_probs - rollout_log_probs, torch.zeros_like(old_log_probs)).detach()
    if level == "sequence":
        log_ratio = torch.where(kept, log_ratio.sum(dim=1, keepdim=True), torch.zeros_like(log_ratio))
    return log_ratio.clamp(-20, 20)


def truncate(log_weights: Tensor, mask: Tensor, cap: float) -> Tensor:
    """Truncated importance sampling (Yao et al. 2025): min(weight, cap), 0 where masked; constants."""
    return torch.where(mask.bool(), log_weights.exp().clamp(max=cap), torch.zeros_like(log_weights))
