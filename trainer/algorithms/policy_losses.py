"""The actor's objectives, by the names of `policy_loss.loss_mode`, and the one function that applies them.

An objective gives a loss per token; masking, aggregation, importance weights and statistics are the same
for all of them and are in `policy_loss`. Signs are those of a loss: to be minimised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.losses import Stats
from rewardkit.trainer.algorithms.reductions import Totals, aggregate, masked_row_means, masked_sum


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """The constants of the objectives; each uses its own few."""

    clip_low: float = 0.2
    """The ratio is clipped to [1 - clip_low, 1 + clip_high]; a higher clip_high is DAPO's clip-higher."""
    clip_high: float = 0.2
    clip_c: float = 3.0
    """Dual clip: the loss of a negative advantage is at most `clip_c * |advantage|`."""
    tau_pos: float = 1.0
    """SAPO's temperature for positive advantages, and for the others:"""
    tau_neg: float = 1.05
    ppo_kl_coef: float = 0.1
    """KL-Cov's weight of |log-ratio| on the chosen tokens."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What an objective is made of; (B, T) each, 0 where masked."""

    log_probs: Tensor
    log_ratio: Tensor
    """Of the policy to the one that acted."""
    advantages: Tensor
    mask: Tensor
    chosen: Tensor
    """bool: the tokens that `covariance.py` chose; used by clip_cov and kl_cov alone."""

    @property
    def ratio(self) -> Tensor:
        """Clamped against overflow."""
        return self.log_ratio.clamp(-20, 20).exp()


PerToken = tuple[Tensor, dict[str, Tensor]]
"""Loss per token, (B, T), and bool (B, T) indicators whose token means are the statistics of their name."""


def vanilla(terms: Terms, options: PolicyOptions) -> PerToken:
    """PPO (Schulman et al. 2017, arXiv:1707.06347) with dual clip (Ye et al. 2020, arXiv:1912.09729)."""
    unclipped, clipped = _clipped(terms.ratio, terms.advantages, options)
    pessimistic = torch.maximum(unclipped, clipped)
    bound = -terms.advantages * options.clip_c
    negative = terms.advantages < 0
    loss = torch.where(negative, torch.minimum(pessimistic, bound), pessimistic)
    return loss, {
        "pg_clipfrac": clipped > unclipped,
        "pg_clipfrac_lower": negative & (pessimistic > bound),
    }


def gspo(terms: Terms, options: PolicyOptions) -> PerToken:
    """GSPO in its token form (Zheng et al. 2025, arXiv:2507.18071): the ratio is the sequence's geometric
    mean, the gradient the token's."""
    log_mean = masked_row_means(terms.log_ratio, terms.mask).detach().unsqueeze(1)
    ratio = (terms.log_probs - terms.log_probs.detach() + log_mean).clamp(max=10).exp()
    unclipped, clipped = _clipped(ratio, terms.advantages, options)
    return torch.maximum(unclipped, clipped), {"pg_clipfrac": clipped > unclipped}


def cispo(terms: Terms, options: PolicyOptions) -> PerToken:
    """CISPO (MiniMax-M1, arXiv:2506.13585): REINFORCE, weighted by the clipped ratio as a constant."""
    ratio = terms.ratio.detach()
    weight = ratio.clamp(1 - options.clip_low, 1 + options.clip_high)
    return -weight * terms.advantages * terms.log_probs, {"pg_clipfrac": ratio != weight}


def sapo(terms: Terms, options: PolicyOptions) -> PerToken:
    """SAPO (arXiv:2511.20347): a sigmoid gate around ratio 1 in place of the clip."""
    tau = torch.where(terms.advantages > 0, options.tau_pos, options.tau_neg).to(terms.advantages.dtype)
    gate = torch.sigmoid(tau * (terms.ratio - 1)) * 4 / tau
    return -gate * terms.advantages, {}


def gpg(terms: Terms, options: PolicyOptions) -> PerToken:
    """GPG (Chu et al. 2025, arXiv:2504.02546): plain REINFORCE; no ratio."""
    return -terms.log_probs * terms.advantages, {}


def geo_mean(terms: Terms, options: PolicyOptions) -> PerToken:
    """GMPO (Zhao et al. 2025, arXiv:2507.20673): a sequence's geometric mean of clipped ratios, which stands
    on each of its tokens here."""
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


def clip_cov(terms: Terms, options: PolicyOptions) -> PerToken:
    """Clip-Cov (Cui et al. 2025, arXiv:2505.22617): PPO without the chosen tokens, whose update would cost
    the most entropy. A chosen token that the ratio clips has no gradient already and keeps its loss."""
    unclipped, clipped = _clipped(terms.ratio, terms.advantages, options)
    left_out = terms.chosen & (clipped <= unclipped)
    loss = torch.maximum(unclipped, clipped).masked_fill(left_out, 0)
    return loss, {"pg_clipfrac": left_out}


def kl_cov(terms: Terms, options: PolicyOptions) -> PerToken:
    """KL-Cov (Cui et al. 2025): no clip; |log-ratio| is penalised on the chosen tokens."""
    penalty = options.ppo_kl_coef * terms.log_ratio.abs()
    loss = -terms.advantages * terms.ratio + torch.where(terms.chosen, penalty, torch.zeros_like(penalty))
    return loss, {}


POLICY_LOSSES: dict[str, Callable[[Terms, PolicyOptions], PerToken]] = {
    "vanilla": vanilla,
    "gspo": gspo,
    "cispo": cispo,
    "sapo": sapo,
    "gpg": gpg,
    "geo_mean": geo_mean,
    "clip_cov": clip_cov,
    "kl_cov": kl_cov,
}
"""By the names of `policy_loss.loss_mode`; a function added here can be asked for by its name."""

PER_SEQUENCE = ("sapo", "geo_mean")
"""Aggregated as `seq-mean-token-mean` by definition, whatever `loss_agg_mode` says (as in verl)."""


def policy_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    totals: Totals,
    *,
    mode: str = "vanilla",
    options: PolicyOptions,
    aggregation: str = "token-mean",
    horizon: int = 1,
    weights: Tensor | None = None,
    chosen: Tensor | None = None,
) -> tuple[Tensor, Stats]:
    """Return the loss of a piece of a mini-batch and its statistics.

    Args:
        log_probs, old_log_probs, advantages, mask: (B, T).
        totals: the denominators of the whole mini-batch.
        mode: a name in `POLICY_LOSSES`.
        aggregation, horizon: see `reductions.aggregate`.
        weights: (B, T), importance weights against the rollout's distribution; constants.
        chosen: (B, T) bool, for clip_cov and kl_cov.

    Returns:
        the loss and `pg_loss`, `pg_clipfrac`, `pg_clipfrac_lower`, `approx_kl` (k1, old against new).
    """
    # Masked positions may hold anything; a zero there keeps exp finite and its gradient zero.
    kept, zero = mask.bool(), torch.zeros_like(log_probs)
    terms = Terms(
        log_probs=torch.where(kept, log_probs, zero),
        log_ratio=torch.where(kept, log_probs - old_log_probs, zero),
        advantages=torch.where(kept, advantages, zero),
        mask=mask,
        chosen=torch.zeros_like(kept) if chosen is None else chosen.bool() & kept,
    )
    per_token, indicators = POLICY_LOSSES[mode](terms, options)
    if weights is not None:
        if mode == "geo_mean":  # one loss per sequence: one weight, the mean of the same kind
            weights = masked_row_means(weights.clamp(min=1e-10).log(), mask).exp().unsqueeze(1)
        per_token = per_token * weights
    aggregation = "seq-mean-token-mean" if mode in PER_SEQUENCE else aggregation
    loss = aggregate(per_token, mask, totals, aggregation, horizon)
    stats = {"pg_loss": loss.detach(), "pg_clipfrac": zero.sum(), "pg_clipfrac_lower": zero.sum()}
    for name, indicator in indicators.items():
        stats[name] = masked_sum(indicator.to(zero.dtype), mask) / totals.tokens
    stats["approx_kl"] = masked_sum(-terms.log_ratio.detach(), mask) / totals.tokens
    return loss, stats


def _clipped(ratio: Tensor, advantages: Tensor, options: PolicyOptions) -> tuple[Tensor, Tensor]:
    return -advantages * ratio, -advantages * ratio.clamp(1 - options.clip_low, 1 + options.clip_high)
