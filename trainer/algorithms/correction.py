"""Corrections for a rollout engine whose distribution differs slightly from the trainer's distribution.

The corrections are importance weights, and bounds outside which a token or response is excluded from the
loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardkit.trainer.algorithms.reductions import masked_row_means

LEVELS = ("token", "sequence")


def rollout_weights(old_log_probs: Tensor, rollout_log_probs: Tensor, mask: Tensor, level: str) -> Tensor:
    """Return p_trainer / p_rollout without a gradient, (B, T), 0 where masked. The log is clamped to +-20.

    At the level `token`, a weight is the token's ratio (biased, low variance). At the level `sequence`, all
    tokens in a response get the ratio of the whole response (unbiased, high variance). The caller should
    truncate the weights (TIS, Yao et al. 2025).
    """
    kept = mask.bool()
    log_ratio = torch.where(kept, old_log_probs - rollout_log_probs, torch.zeros_like(old_log_probs)).detach()
    if level == "sequence":
        log_ratio = log_ratio.sum(dim=1, keepdim=True).expand_as(log_ratio)
    return torch.where(kept, log_ratio.clamp(-20, 20).exp(), torch.zeros_like(log_ratio))


def bounded(weights: Tensor, low: float, high: float) -> Tensor:
    """Clip weights at `high` if `low` is 0. Otherwise, set weights outside the bounds to 0 (IcePop)."""
    if low == 0:
        return weights.clamp(max=high)
    return torch.where((weights >= low) & (weights <= high), weights, torch.zeros_like(weights))


def read_bounds(given: object) -> tuple[float, float]:
    """Parse bounds such as `2.0` (maximum weight) or `"0.5_5.0"` (minimum and maximum). See `bounded`.

    Raises:
        ValueError: The bounds are invalid. The message explains why.
    """
    low, _, high = str(given).rpartition("_")
    return _ordered(_number(low) if low else 0.0, _number(high))


@dataclass(frozen=True, slots=True)
class Rejection:
    """Bound on a divergence between the log-probabilities of the trainer and the rollout engine."""

    name: str
    """Level at which the divergence is bounded, and estimate of the KL: `token_k1` to `seq_max_k3`."""
    low: float
    high: float

    @property
    def level(self) -> str:
        """Return the level, which is `token`, `seq_sum`, `seq_mean` or `seq_max`."""
        return self.name.rpartition("_")[0]

    @property
    def estimate(self) -> str:
        """Return the estimate, which is `k1`, `k2` or `k3`."""
        return self.name.rpartition("_")[2]


REJECTIONS = (
    *(f"{level}_k{k}" for level in ("token", "seq_sum", "seq_mean") for k in (1, 2, 3)),
    "seq_max_k2",
    "seq_max_k3",
)
"""Valid names in `algorithm.rollout_correction.rollout_rs`."""


def read_rejections(names: str, thresholds: object) -> list[Rejection]:
    """Parse comma-separated names and thresholds. There is one threshold per name, or one for all names.

    k1 may be negative, so its bounds apply to the ratio p_rollout / p_trainer. `0.6_1.6` is a lower and an
    upper bound, and `1.6` bounds both the ratio and its reciprocal. For k2 and k3, a threshold is an upper
    bound on the divergence.

    Raises:
        ValueError: A name or threshold is invalid. The message explains why.
    """
    asked = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if unknown := [name for name in asked if name not in REJECTIONS]:
        raise ValueError(
            f"unknown name '{unknown[0]}' in rollout_rs; expected one of {', '.join(REJECTIONS)}"
        )
    given = [] if thresholds is None else [one.strip() for one in str(thresholds).split(",") if one.strip()]
    if asked and len(given) not in (1, len(asked)):
        raise ValueError(
            f"rollout_rs has {len(asked)} names, so rollout_rs_threshold must have one threshold for all or "
            f"{len(asked)} thresholds; found {len(given)}"
        )
    each = given * len(asked) if len(given) == 1 else given
    return [_rejection(name, threshold) for name, threshold in zip(asked, each, strict=False)]


def _rejection(name: str, threshold: str) -> Rejection:
    key = "rollout_rs_threshold: "
    low, _, high = threshold.rpartition("_")
    if not name.endswith("k1"):
        if low:
            raise ValueError(
                f"the threshold of {name} must be a single number, an upper bound; found '{threshold}'"
            )
        return Rejection(name, -math.inf, _number(high, key))
    most = _number(high, key)
    least, most = _ordered(_number(low, key) if low else 1 / most, most)
    return Rejection(name, math.log(least), math.log(most))


def _number(text: str, key: str = "") -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{key}the threshold '{text}' is not a number") from None
    if not 0 < number < math.inf:
        raise ValueError(f"{key}a threshold must be a finite number above 0, found {text}")
    return number


def _ordered(low: float, high: float) -> tuple[float, float]:
    if low > high:
        raise ValueError(f"the lower bound {low:g} is above the upper bound {high:g}")
    return low, high


def divergence(
    old_log_probs: Tensor, rollout_log_probs: Tensor, mask: Tensor, rejection: Rejection
) -> Tensor:
    """Return the divergence to bound, (B, T) or (B, 1), 0 where masked. Log-ratios are clamped to +-20."""
    kept = mask.bool()
    log_ratio = torch.where(kept, old_log_probs - rollout_log_probs, torch.zeros_like(old_log_probs))
    log_ratio = log_ratio.detach().clamp(-20, 20)
    values = {
        "k1": lambda: -log_ratio,
        "k2": lambda: 0.5 * log_ratio.square(),
        "k3": lambda: log_ratio.exp() - 1 - log_ratio,
    }[rejection.estimate]()
    if rejection.level == "seq_sum":
        return values.sum(dim=1, keepdim=True)
    if rejection.level == "seq_mean":
        return masked_row_means(values, mask).unsqueeze(1)
    return values.amax(dim=1, keepdim=True) if rejection.level == "seq_max" else values


def within(found: Sequence[Tensor], rejections: Sequence[Rejection], mask: Tensor) -> Tensor:
    """Return a mask of the tokens that are within all bounds, (B, T) bool.

    Args:
        found: Divergence for each rejection, from `divergence`.
        mask: Mask of the tokens to consider, (B, T).
    """
    kept = mask.bool()
    for values, rejection in zip(found, rejections, strict=True):
        kept = kept & (values >= rejection.low) & (values <= rejection.high)
    return kept
