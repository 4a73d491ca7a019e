"""The losses of actor and critic, and log-probabilities and entropy from logits.

Every loss and statistic is a sum over this piece of the batch, divided by the number of tokens of the
whole mini-batch (all micro-batches, all processes): add the pieces up, and you have the token mean of the
whole. No split of the work can change it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import masked_sum

Stats = dict[str, Tensor]


def token_log_probs(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return log p(token) in float32, (B, T, V) and (B, T) -> (B, T)."""
    logits = logits.float()
    chosen = logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    return chosen - logits.logsumexp(-1)


def token_entropy(logits: Tensor) -> Tensor:
    """Return the entropy of each next-token distribution in nats, (B, T, V) -> (B, T)."""
    log_p = logits.float().log_softmax(-1)
    # A token that is ruled out has p log p = 0 and a logit of -inf.
    return -(log_p.exp() * log_p.clamp(min=torch.finfo(log_p.dtype).min)).sum(-1)


def policy_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    clip_c: float,
    denominator: Tensor,
) -> tuple[Tensor, Stats]:
    """PPO's clipped objective (Schulman et al. 2017, arXiv:1707.06347) with dual clip.

    Dual clip (Ye et al. 2020, arXiv:1912.09729) bounds the loss of a negative advantage by
    `clip_c * |advantage|`, however large the ratio.

    Args:
        log_probs, old_log_probs, advantages, mask: (B, T).
        clip_low, clip_high: the ratio is clipped to [1 - clip_low, 1 + clip_high].
        denominator: number of unmasked tokens of the whole mini-batch.

    Returns:
        the loss and `pg_loss`, `pg_clipfrac`, `pg_clipfrac_lower`, `approx_kl` (k1, old against new).
    """
    # Masked positions may hold anything; a zero there keeps exp finite and its gradient zero.
    log_ratio = torch.where(mask.bool(), log_probs - old_log_probs, torch.zeros_like(log_probs))
    advantages = torch.where(mask.bool(), advantages, torch.zeros_like(advantages))
    ratio = log_ratio.clamp(-20, 20).exp()
    unclipped = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip_low, 1 + clip_high)
    pessimistic = torch.maximum(unclipped, clipped)
    bound = -advantages * clip_c
    negative = advantages < 0
    per_token = torch.where(negative, torch.minimum(pessimistic, bound), pessimistic)
    loss = masked_sum(per_token, mask) / denominator
    with torch.no_grad():
        stats = {
            "pg_loss": loss.detach(),
            "pg_clipfrac": masked_sum((clipped > unclipped).float(), mask) / denominator,
            "pg_clipfrac_lower": masked_sum((negative & (pessimistic > bound)).float(), mask) / denominator,
            "approx_kl": masked_sum(-log_ratio, mask) / denominator,
        }
    return loss, stats


def value_loss(
    values: Tensor,
    old_values: Tensor,
    returns: Tensor,
    mask: Tensor,
    *,
    clip_range: float,
    denominator: Tensor,
) -> tuple[Tensor, Stats]:
    """Half the squared error, with the value kept within `clip_range` of the old one (PPO2, as in verl).

    Args:
        values, old_values, returns, mask: (B, T).
        denominator: number of unmasked tokens of the whole mini-batch.

    Returns:
        the loss and `vf_loss`, `vf_clipfrac`, `vpred_mean`.
    """
    kept, zero = mask.bool(), torch.zeros_like(values)
    values, old_values, returns = (torch.where(kept, v, zero) for v in (values, old_values, returns))
    clipped = torch.clamp(values, old_values - clip_range, old_values + clip_range)
    error, clipped_error = (values - returns).square(), (clipped - returns).square()
    loss = 0.5 * masked_sum(torch.maximum(error, clipped_error), mask) / denominator
    with torch.no_grad():
        stats = {
            "vf_loss": loss.detach(),
            "vf_clipfrac": masked_sum((clipped_error > error).float(), mask) / denominator,
            "vpred_mean": masked_sum(values, mask) / denominator,
        }
    return loss, stats
