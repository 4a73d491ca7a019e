"""Masked sums, moments and loss aggregation. Masked values, NaN included, never affect a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Reduce = Callable[[Tensor], Tensor]
"""Sums a tensor over all processes, elementwise."""

Stats = dict[str, Tensor]
"""Statistics of a loss by name, scalars, each this piece's share of the whole mini-batch's."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The denominators of a mini-batch: counts over all of its micro-batches and all processes."""

    tokens: Tensor
    """Unmasked tokens; at least 1."""
    sequences: Tensor
    """Responses with an unmasked token; at least 1."""
    computed: Tensor
    """Unmasked tokens of the rows that are computed, for statistics that have no value for the others (see
    `PolicyLoss.live`); at least 1."""


def count(mask: Tensor, reduce: Reduce) -> Totals:
    """Count what is unmasked in (B, T) masks of all processes."""
    kept = mask.bool()
    tokens, sequences = reduce(torch.stack([kept.sum(), kept.any(dim=1).sum()])).clamp(min=1).unbind()
    return Totals(tokens, sequences, tokens)


AGGREGATIONS = (
    "token-mean",
    "token-sum",
    "seq-mean-token-sum",
    "seq-mean-token-mean",
    "seq-mean-token-sum-norm",
)
"""Functions by the names of `loss_agg_mode`."""


def aggregate(values: Tensor, mask: Tensor, totals: Totals, mode: str, horizon: int) -> Tensor:
    """Reduce per-token values of a piece of a mini-batch to its share of the mini-batch's loss.

    The shares of all pieces add up to the whole, however the rows were split. The mean over sequences is
    over those with an unmasked token.

    Args:
        values, mask: (B, T).
        mode: `token-mean`; `token-sum`; `seq-mean-token-sum`; `seq-mean-token-mean` (GRPO);
            `seq-mean-token-sum-norm` (Dr.GRPO, arXiv:2503.20783): the sum of a sequence divided by `horizon`.
        horizon: a constant, usually the response length; never the padded width, which differs by piece.
    """
    if mode == "token-mean":
        return masked_sum(values, mask) / totals.tokens
    if mode == "token-sum":
        return masked_sum(values, mask)
    if mode == "seq-mean-token-mean":
        return masked_row_means(values, mask).sum() / totals.sequences
    if mode not in AGGREGATIONS:
        raise ValueError(f"loss_agg_mode must be one of {', '.join(AGGREGATIONS)}, found '{mode}'")
    per_sequence = masked_sum(values, mask) / totals.sequences
    return per_sequence / horizon if mode == "seq-mean-token-sum-norm" else per_sequence


def masked_sum(values: Tensor, mask: Tensor) -> Tensor:
    """Sum `values` where `mask` is not 0. By selection: multiplying by 0 would keep a NaN."""
    return torch.where(mask.bool(), values, torch.zeros_like(values)).sum()


def masked_row_means(values: Tensor, mask: Tensor) -> Tensor:
    """Return the masked mean of each row, (B, T) -> (B,); 0 for a row that is masked out entirely."""
    kept = mask.bool()
    sums = torch.where(kept, values, torch.zeros_like(values)).sum(dim=1)
    return sums / kept.sum(dim=1).clamp(min=1)


def masked_moments(values: Tensor, mask: Tensor, reduce: Reduce) -> tuple[Tensor, Tensor]:
    """Return mean and unbiased variance of the unmasked values of all processes.

    Two passes in float64 (the sum of squares around the true mean), so that the split over processes and
    cancellation do not show.
    """
    values = values.double()
    number, total = reduce(torch.stack([mask.bool().sum().double(), masked_sum(values, mask)]))
    mean = total / number.clamp(min=1)
    squares = reduce(masked_sum((values - mean) ** 2, mask))
    return mean, squares / (number - 1).clamp(min=1)


def masked_whiten(values: Tensor, mask: Tensor, reduce: Reduce) -> Tensor:
    """Shift and scale the unmasked values to mean 0 and variance 1 over all processes; masked ones to 0.

    The variance is the unbiased one with 1e-8 added, as in verl and TRL (OpenRLHF divides by n).
    """
    mean, variance = masked_moments(values, mask, reduce)
    white = (values.double() - mean) * torch.rsqrt(variance + 1e-8)
    return torch.where(mask.bool(), white, torch.zeros_like(white)).to(values.dtype)
