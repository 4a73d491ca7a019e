"""Masked sums and moments. What is masked out may be anything, NaN included, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Reduce = Callable[[Tensor], Tensor]
"""Sums a tensor over all processes, elementwise."""


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
    count, total = reduce(torch.stack([mask.bool().sum().double(), masked_sum(values, mask)]))
    mean = total / count.clamp(min=1)
    squares = reduce(masked_sum((values - mean) ** 2, mask))
    return mean, squares / (count - 1).clamp(min=1)


def masked_whiten(values: Tensor, mask: Tensor, reduce: Reduce) -> Tensor:
    """Shift and scale the unmasked values to mean 0 and variance 1 over all processes; masked ones to 0.

    The variance is the unbiased one with 1e-8 added, as in verl and TRL (OpenRLHF divides by n).
    """
    mean, variance = masked_moments(values, mask, reduce)
    white = (values.double() - mean) * torch.rsqrt(variance + 1e-8)
    return torch.where(mask.bool(), white, torch.zeros_like(white)).to(values.dtype)
