"""Actor losses per token, and the critic loss.

Each function returns one micro-batch's share of the mini-batch's loss or statistic. The shares of all
micro-batches in all processes add up to the same value regardless of how the work is divided. `objective.py`
contains the common parts of the actor losses, and this module contains their table.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rewardkit.extensions import Table
from rewardkit.trainer.algorithms.objective import PerToken, PolicyLoss, PolicyOptions, Terms
from rewardkit.trainer.algorithms.reductions import Stats, Totals, aggregate, masked_row_means, masked_sum


def vanilla(terms: Terms, options: PolicyOptions) -> PerToken:
    """Return the PPO loss with dual clip.

    PPO: Schulman et al. 2017 (arXiv:1707.06347). Dual clip: Ye et al. 2020 (arXiv:1912.09729).
    """
    unclipped, clipped = clip_surrogates(terms.ratio, terms.advantages, options)
    pessimistic = torch.maximum(unclipped, clipped)
    bound = -terms.advantages * options.clip_c
    negative = terms.advantages < 0
    loss = torch.where(negative, torch.minimum(pessimistic, bound), pessimistic)
    return loss, {
        "pg_clipfrac": clipped > unclipped,
        "pg_clipfrac_lower": negative & (pessimistic > bound),
    }


def gspo(terms: Terms, options: PolicyOptions) -> PerToken:
    """Return the GSPO loss in its token form (Zheng et al. 2025, arXiv:2507.18071).

    The ratio has the value of the geometric mean over the sequence, and the gradient of each token's own
    ratio.
    """
    log_mean = masked_row_means(terms.log_ratio, terms.mask).detach().unsqueeze(1)
    ratio = (terms.log_probs - terms.log_probs.detach() + log_mean).clamp(max=10).exp()
    unclipped, clipped = clip_surrogates(ratio, terms.advantages, options)
    return torch.maximum(unclipped, clipped), {"pg_clipfrac": clipped > unclipped}


def cispo(terms: Terms, options: PolicyOptions) -> PerToken:
    """Return the CISPO loss (MiniMax-M1, arXiv:2506.13585): REINFORCE weighted by a clipped ratio.

    The ratio has no gradient.
    """
    ratio = terms.ratio.detach()
    weight = ratio.clamp(1 - options.clip_low, 1 + options.clip_high)
    return -weight * terms.advantages * terms.log_probs, {"pg_clipfrac": ratio != weight}


def sapo(terms: Terms, options: PolicyOptions) -> PerToken:
    """Return the SAPO loss (arXiv:2511.20347): a sigmoid gate around ratio 1 replaces the clip."""
    tau = torch.where(terms.advantages > 0, options.tau_pos, options.tau_neg).to(terms.advantages.dtype)
    gate = torch.sigmoid(tau * (terms.ratio - 1)) * 4 / tau
    return -gate * terms.advantages, {}


def gpg(terms: Terms, options: PolicyOptions) -> PerToken:
    """Return the GPG loss (Chu et al. 2025, arXiv:2504.02546): REINFORCE without a ratio."""
    return -terms.log_probs * terms.advantages, {}


def geo_mean(terms: Terms, options: PolicyOptions) -> PerToken:
    """Return the GMPO loss (Zhao et al. 2025, arXiv:2507.20673).

    Each token gets the loss of its sequence, which uses the geometric mean of the sequence's clipped ratios.
    """
    sign = terms.advantages.sign()
    clamped = terms.log_ratio.clamp(-options.clip_low, options.clip_high)
    pessimistic = sign * torch.minimum(sign * terms.log_ratio, sign * clamped)
    ratio = masked_row_means(pessimistic, terms.mask).exp()
    loss = -masked_row_means(terms.advantages, terms.mask) * ratio
    outside = terms.log_ratio != clamped
    return loss.unsqueeze(1).expand_as(terms.mask), {
        "pg_clipfrac": outside & (terms.advantages > 0),
        "pg_clipfrac_lower": outside & (terms.advantages < 0),
    }


def dppo_tv(terms: Terms, options: PolicyOptions) -> PerToken:
    """Return the DPPO loss (arXiv:2602.04879) with bounds on the change in a token's probability.

    The change is the total variation between choosing the token and not choosing it.
    """
    moved = terms.log_probs.exp() - (terms.log_probs - terms.log_ratio).exp()
    within = torch.where(terms.advantages > 0, moved <= options.clip_high, moved >= -options.clip_low)
    return _dppo(terms, within, options)


def dppo_kl(terms: Terms, options: PolicyOptions) -> PerToken:
    """Return the DPPO loss with bounds on the KL divergence between choosing a token and not choosing it.

    A token is always within the bounds if its update moves its probability back towards the old policy.
    """
    new, old = terms.log_probs.exp(), (terms.log_probs - terms.log_ratio).exp()
    kl = -old * terms.log_ratio + (1 - old) * ((1 - old + 1e-8) / (1 - new + 1e-8)).log()
    up = (kl <= options.clip_high) | (new <= old)
    down = (kl <= options.clip_low) | (new >= old)
    return _dppo(terms, torch.where(terms.advantages > 0, up, down), options)


def _dppo(terms: Terms, within: Tensor, options: PolicyOptions) -> PerToken:
    """Return the REINFORCE loss for tokens within bounds, weighted by the detached ratio up to `clip_c`."""
    ratio = terms.ratio.detach()
    weight = ratio.clamp(max=options.clip_c) * within
    return -weight * terms.advantages * terms.log_probs, {
        "pg_clipfrac": ~within,
        "pg_clipfrac_lower": (ratio > options.clip_c) & within,
    }


def clip_surrogates(ratio: Tensor, advantages: Tensor, options: PolicyOptions) -> tuple[Tensor, Tensor]:
    """Return the PPO losses without and with a clipped ratio, each (B, T)."""
    return -advantages * ratio, -advantages * ratio.clamp(1 - options.clip_low, 1 + options.clip_high)


POLICY_LOSSES: Table[PolicyLoss] = Table(
    "policy_losses",
    PolicyLoss,
    {
        "vanilla": PolicyLoss(vanilla),
        "gspo": PolicyLoss(gspo),
        "cispo": PolicyLoss(cispo),
        "sapo": PolicyLoss(sapo, aggregation="seq-mean-token-mean"),
        "gpg": PolicyLoss(gpg),
        "dppo_tv": PolicyLoss(dppo_tv),
        "dppo_kl": PolicyLoss(dppo_kl),
        "geo_mean": PolicyLoss(geo_mean, aggregation="seq-mean-token-mean", one_weight_per_sequence=True),
    },
)
"""Losses and their requirements by their names in `actor.policy_loss.loss_mode`."""


def value_loss(
    values: Tensor,
    old_values: Tensor,
    returns: Tensor,
    mask: Tensor,
    totals: Totals,
    *,
    clip_range: float,
    aggregation: str = "token-mean",
    horizon: int = 1,
) -> tuple[Tensor, Stats]:
    """Return half the squared error. As in PPO2, values are clipped to `clip_range` around the old values.

    Args:
        values, old_values, returns, mask: Values per token, (B, T).
        totals: Denominators for the whole mini-batch.
        aggregation, horizon: See `reductions.aggregate`.

    Returns:
        The loss, and the statistics `vf_loss`, `vf_clipfrac` and `vpred_mean`.
    """
    kept = mask.bool()
    zero = torch.zeros_like(values)
    values, old_values, returns = (torch.where(kept, v, zero) for v in (values, old_values, returns))
    clipped = torch.clamp(values, old_values - clip_range, old_values + clip_range)
    error = (values - returns).square()
    clipped_error = (clipped - returns).square()
    loss = 0.5 * aggregate(torch.maximum(error, clipped_error), mask, totals, aggregation, horizon)
    with torch.no_grad():
        stats = {
            "vf_loss": loss.detach(),
            "vf_clipfrac": masked_sum((clipped_error > error).to(values.dtype), mask) / totals.tokens,
            "vpred_mean": masked_sum(values, mask) / totals.tokens,
        }
    return loss, stats
