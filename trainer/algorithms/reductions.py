"""Masked sums, masked moments and loss aggregation. Masked values, including NaN, never affect a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Reduce = Callable[[Tensor], Tensor]
"""Function that sums a tensor elementwise over all processes."""

Stats = dict[str, Tensor]
"""Statistics for a loss by name. Each is a scalar, a piece's share of the mini-batch's statistic."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Denominators for a mini-batch, counted over all its micro-batches in all processes."""

    tokens: Tensor
    """Number of unmasked tokens, at least 1."""
    sequences: Tensor
    """Number of responses with an unmasked token, at least 1."""
    computed: Tensor
    """Number of unmasked tokens in computed rows, at least 1. Denominator for statistics that exist only for
    computed rows (see `PolicyLoss.live`)."""


def count(mask: Tensor, reduce: Reduce) -> Totals:
    """Count the unmasked tokens and responses in the masks, (B, T), from all processes."""
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
"""Valid values of `loss_agg_mode`."""


def aggregate(values: Tensor, mask: Tensor, totals: Totals, mode: str, horizon: int) -> Tensor:
    """Reduce values per token in a piece of a mini-batch to the piece's share of the mini-batch's loss.

    The shares of all pieces add up to the loss, regardless of how rows are split. Means over sequences
    include only sequences with an unmasked token.

    Args:
        values, mask: Values and their mask, (B, T).
        totals: Denominators for the whole mini-batch.
        mode: `token-mean`, `token-sum`, `seq-mean-token-sum`, `seq-mean-token-mean` (GRPO), or
            `seq-mean-token-sum-norm` (Dr.GRPO, arXiv:2503.20783), which divides a sequence's sum by
            `horizon`.
        horizon: Constant, usually the response length. The padded width would differ between pieces.
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
    """Sum `values` where `mask` is not 0. Multiplying by the mask instead would keep NaN."""
    return torch.where(mask.bool(), values, torch.zeros_like(values)).sum()


def masked_row_means(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the unmasked values in each row, (B, T) -> (B,), or 0 if a row has none."""
    kept = mask.bool()
    sums = torch.where(kept, values, torch.zeros_like(values)).sum(dim=1)
    return sums / kept.sum(dim=1).clamp(min=1)


def masked_moments(values: Tensor, mask: Tensor, reduce: Reduce) -> tuple[Tensor, Tensor]:
    """Return the mean and unbiased variance of the unmasked values in all processes.

    The sums use float64, and squares are summed around the true mean in a second pass, so that neither
    cancellation nor the division among processes affects the result.
    """
    values = values.double()
    number, total = reduce(torch.stack([mask.bool().sum().double(), masked_sum(values, mask)]))
    mean = total / number.clamp(min=1)
    squares = reduce(masked_sum((values - mean) ** 2, mask))
    return mean, squares / (number - 1).clamp(min=1)


def masked_whiten(values: Tensor, mask: Tensor, reduce: Reduce) -> Tensor:
    """Normalise the unmasked values to mean 0 and variance 1 over all processes, and set masked values to 0.

    The unbiased variance plus 1e-8 is used, as in verl and TRL (OpenRLHF divides by n).
    """
    mean, variance = masked_moments(values, mask, reduce)
    white = (values.double() - mean) * torch.rsqrt(variance + 1e-8)
    return torch.where(mask.bool(), white, torch.zeros_like(white)).to(values.dtype)
