"""Policy losses as a type, and the one function that applies them. The losses are in `losses.py`.

A loss gives a figure per token; masking, aggregation, importance weights and statistics are the same for all
of them and are here. Signs are those of a loss: to be minimised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import (
    Reduce,
    Stats,
    Totals,
    aggregate,
    masked_row_means,
    masked_sum,
)


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
    dro_beta: float | None = None
    """DRO's weight of the squared log-ratio."""
    vespo_k_pos: float = 2.0
    """VESPO's weight of a response of ratio W is W^k exp(lambda (1 - W)): these for advantages from 0 on."""
    vespo_lambda_pos: float = 3.0
    vespo_k_neg: float = 3.0
    """And for the others."""
    vespo_lambda_neg: float = 2.0
    clip_cov_ratio: float = 2e-4
    """Clip-Cov: the share of a step's tokens that is chosen, of those with a covariance between these:"""
    clip_cov_lb: float = 1.0
    clip_cov_ub: float = 5.0
    kl_cov_ratio: float = 2e-4
    """KL-Cov: the share of a step's tokens, those of the largest covariance, that is chosen."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of an objective; (B, T) each, 0 where masked."""

    log_probs: Tensor
    log_ratio: Tensor
    """Log-ratio of the policy to the one that acted."""
    advantages: Tensor
    mask: Tensor
    chosen: Tensor
    """bool: the tokens that `PolicyLoss.choose` chose."""

    @property
    def ratio(self) -> Tensor:
        """Clamped against overflow."""
        return self.log_ratio.clamp(-20, 20).exp()


PerToken = tuple[Tensor, dict[str, Tensor]]
"""Loss per token, (B, T), and bool (B, T) indicators whose token means are the statistics of their name."""


@dataclass(frozen=True, slots=True)
class StepTokens:
    """This process's responses of a whole step, for a loss that chooses tokens among all of them."""

    log_probs: Tensor
    """(B, T), of the policy that acted."""
    advantages: Tensor
    """(B, T)."""
    mask: Tensor
    """(B, T)."""
    seeds: Tensor
    """(B,) int64, one for each response."""
    reduce: Reduce
    gather: Callable[[Any], list[Any]]
    """Returns every process's item, in the same order everywhere."""


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """A loss of the actor, and what it needs."""

    per_token: Callable[[Terms, PolicyOptions], PerToken]
    choose: Callable[[StepTokens, PolicyOptions], Tensor] | None = None
    """Returns the tokens of a step, (B, T) bool, that it treats apart: they come back as `Terms.chosen`."""
    aggregation: str | None = None
    """The `loss_agg_mode` that belongs to its definition; None: the config's."""
    one_weight_per_sequence: bool = False
    """Importance weights are averaged (geometric mean) over each response, as its loss is."""
    at_zero: Literal["nothing", "chosen", "all"] = "nothing"
    """The tokens that it has a gradient for although their advantage is 0: none, those it chose, or all."""

    def live(self, advantages: Tensor, mask: Tensor, chosen: Tensor | None) -> Tensor:
        """Return which responses have a gradient, (B,) bool: exactly none comes of the others.

        Args:
            advantages, mask: (B, T).
            chosen: (B, T) bool, what `choose` returned.
        """
        if self.at_zero == "all":
            return mask.bool().any(dim=1)
        moved = advantages != 0
        if self.at_zero == "chosen" and chosen is not None:
            moved = moved | chosen.bool()
        return (moved & mask.bool()).any(dim=1)


def policy_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    totals: Totals,
    *,
    loss: PolicyLoss,
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
        aggregation, horizon: see `reductions.aggregate`.
        weights: (B, T), importance weights against the rollout's distribution; constants.
        chosen: (B, T) bool, what `loss.choose` returned for these rows.

    Returns:
        the loss and `pg_loss`, `pg_clipfrac`, `pg_clipfrac_lower`; of the rows that are computed, the means
        `ratio` and `approx_kl` (k1, old against new).
    """
    terms = _terms(log_probs, old_log_probs, advantages, mask, chosen)
    per_token, indicators = loss.per_token(terms, options)
    if weights is not None:
        per_token = per_token * (_per_sequence(weights, mask) if loss.one_weight_per_sequence else weights)
    total = aggregate(per_token, mask, totals, loss.aggregation or aggregation, horizon)
    nothing = log_probs.new_zeros(())
    stats = {"pg_loss": total.detach(), "pg_clipfrac": nothing, "pg_clipfrac_lower": nothing}
    for name, indicator in indicators.items():
        stats[name] = masked_sum(indicator.to(log_probs.dtype), mask) / totals.tokens
    stats["ratio"] = masked_sum(terms.ratio.detach(), mask) / totals.computed
    stats["approx_kl"] = masked_sum(-terms.log_ratio.detach(), mask) / totals.computed
    return total, stats


def _terms(
    log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, mask: Tensor, chosen: Tensor | None
) -> Terms:
    """Masked positions may hold anything; a zero there keeps exp finite and its gradient zero."""
    kept = mask.bool()
    zero = torch.zeros_like(log_probs)
    return Terms(
        log_probs=torch.where(kept, log_probs, zero),
        log_ratio=torch.where(kept, log_probs - old_log_probs, zero),
        advantages=torch.where(kept, advantages, zero),
        mask=mask,
        chosen=torch.zeros_like(kept) if chosen is None else chosen.bool() & kept,
    )


def _per_sequence(weights: Tensor, mask: Tensor) -> Tensor:
    return masked_row_means(weights.clamp(min=1e-10).log(), mask).exp().unsqueeze(1)
