"""Importance weights that correct for a rollout engine whose distribution is not quite the trainer's."""

from __future__ import annotations

import torch
from torch import Tensor

LEVELS = ("token", "sequence")


def rollout_weights(old_log_probs: Tensor, rollout_log_probs: Tensor, mask: Tensor, level: str) -> Tensor:
    """Return p_trainer / p_rollout, (B, T), 0 where masked; a constant, its log clamped to +-20.

    `token`: of each token (biased, little variance). `sequence`: of the whole response, on each of its
    tokens (unbiased, much variance). To be truncated by the caller (TIS, Yao et al. 2025).
    """
    kept = mask.bool()
    log_ratio = torch.where(kept, old_log_probs - rollout_log_probs, torch.zeros_like(old_log_probs)).detach()
    if level == "sequence":
        log_ratio = log_ratio.sum(dim=1, keepdim=True).expand_as(log_ratio)
    return torch.where(kept, log_ratio.clamp(-20, 20).exp(), torch.zeros_like(log_ratio))
