"""Type for policy losses, and the function that applies them. The losses are in `losses.py`.

A loss function returns one value per token, which is to be minimised. This module implements masking,
aggregation, importance weights and statistics for all losses.
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
    """Constants for the policy losses. Each loss uses only some of these constants."""

    clip_low: float = 0.2
    """Lower clip range. PPO clips the ratio to [1 - clip_low, 1 + clip_high]. DAPO's clip-higher raises
    clip_high."""
    clip_high: float = 0.2
    clip_c: float = 3.0
    """Constant for the dual clip. The loss for a negative advantage is at most `clip_c * |advantage|`."""
    tau_pos: float = 1.0
    """SAPO's temperature for positive advantages. `tau_neg` applies to all other advantages."""
    tau_neg: float = 1.05
    ppo_kl_coef: float = 0.1
    """Weight of |log-ratio| on the tokens that KL-Cov chooses."""
    dro_beta: float | None = None
    """Weight of the squared log-ratio in DRO."""
    vespo_k_pos: float = 2.0
    """VESPO's k for advantages of 0 or above. VESPO weights a response with the ratio W by
    W^k exp(lambda (1 - W)). `vespo_lambda_pos` is the corresponding lambda."""
    vespo_lambda_pos: float = 3.0
    vespo_k_neg: float = 3.0
    """VESPO's k for negative advantages. `vespo_lambda_neg` is the corresponding lambda."""
    vespo_lambda_neg: float = 2.0
    clip_cov_ratio: float = 2e-4
    """Fraction of tokens that Clip-Cov chooses, with a covariance between `clip_cov_lb` and `clip_cov_ub`."""
    clip_cov_lb: float = 1.0
    clip_cov_ub: float = 5.0
    kl_cov_ratio: float = 2e-4
    """Fraction of a step's tokens that KL-Cov chooses. The chosen tokens have the largest covariance."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Inputs of a loss function, each (B, T) and 0 where masked."""

    log_probs: Tensor
    log_ratio: Tensor
    """Log-ratio of the trained policy to the policy that generated the tokens."""
    advantages: Tensor
    mask: Tensor
    chosen: Tensor
    """bool: True for tokens chosen by `PolicyLoss.choose`."""

    @property
    def ratio(self) -> Tensor:
        """Return the ratio, with the log-ratio clamped to +-20 to avoid overflow."""
        return self.log_ratio.clamp(-20, 20).exp()


PerToken = tuple[Tensor, dict[str, Tensor]]
"""Loss per token, (B, T), and bool indicators by name, (B, T). The mean of an indicator over tokens is the
statistic of that name."""


@dataclass(frozen=True, slots=True)
class StepTokens:
    """Responses of this process in a whole step. A loss chooses tokens from these responses."""

    log_probs: Tensor
    """(B, T): log-probabilities under the policy that generated the responses."""
    advantages: Tensor
    """(B, T): advantage of each token."""
    mask: Tensor
    """(B, T): 1 on the tokens in the loss."""
    seeds: Tensor
    """(B,) int64: seed for each response."""
    reduce: Reduce
    gather: Callable[[Any], list[Any]]
    """Function that returns the items from all processes, in the same order in every process."""


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """Actor loss and its requirements."""

    per_token: Callable[[Terms, PolicyOptions], PerToken]
    choose: Callable[[StepTokens, PolicyOptions], Tensor] | None = None
    """Function that chooses the tokens in a step to treat differently, (B, T) bool (`Terms.chosen`)."""
    aggregation: str | None = None
    """Value of `loss_agg_mode` that is part of the loss's definition, or None for the configured value."""
    one_weight_per_sequence: bool = False
    """If True, each response has a single importance weight, which is the geometric mean over its tokens."""
    at_zero: Literal["nothing", "chosen", "all"] = "nothing"
    """Which tokens have a gradient even if their advantage is 0: no tokens, chosen tokens, or all tokens."""

    def live(self, advantages: Tensor, mask: Tensor, chosen: Tensor | None) -> Tensor:
        """Return a mask of the responses that have a gradient, (B,) bool.

        The gradients of all other responses are exactly 0.

        Args:
            advantages, mask: Advantages and mask of the tokens, (B, T).
            chosen: Tokens returned by `choose`, (B, T) bool.
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
    """Return the loss and statistics for a piece of a mini-batch.

    Args:
        log_probs, old_log_probs, advantages, mask: Values per token, (B, T).
        totals: Denominators for the whole mini-batch.
        aggregation, horizon: See `reductions.aggregate`.
        weights: Constant importance weights relative to the rollout engine's distribution, (B, T).
        chosen: Tokens in these rows that `loss.choose` has chosen, (B, T) bool.

    Returns:
        The loss, and the statistics `pg_loss`, `pg_clipfrac`, `pg_clipfrac_lower`, `trained_rows/ratio` and
        `trained_rows/approx_kl` (k1, old against new). The latter two are means over computed rows.
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
    stats["trained_rows/ratio"] = masked_sum(terms.ratio.detach(), mask) / totals.computed
    stats["trained_rows/approx_kl"] = masked_sum(-terms.log_ratio.detach(), mask) / totals.computed
    return total, stats


def _terms(
    log_probs: Tensor, old_log_probs: Tensor, advantages: Tensor, mask: Tensor, chosen: Tensor | None
) -> Terms:
    """Return the inputs of a loss function. Zeros at masked positions keep `exp` and its gradient finite."""
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
