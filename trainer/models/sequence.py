"""Sequence parallelism, in which each process computes an equal part of the tokens in a row.

For attention, processes exchange their parts, so that each process has all tokens of some heads
(DeepSpeed-Ulysses, Jacobs et al. 2023). All processes must call these functions together.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import pad

from rewardkit.trainer.distributed import World


def own_part(tokens: Tensor, sharing: World) -> Tensor:
    """Return this process's part of a tensor with one element per token, (1, W) -> (1, W / size)."""
    return tokens.chunk(sharing.size, dim=1)[sharing.rank]


def gather_values(values: Tensor, owners: Tensor, sharing: World) -> Tensor:
    """Return the values from all processes, (N, ...), with element i from process `owners[i]`.

    All processes must compute the same loss from the result. Each process gets the gradient for its values.
    """
    gathered: Tensor = _Gather.apply(values, owners, sharing)  # type: ignore[no-untyped-call]
    return gathered


def to_heads(query: Tensor, key: Tensor, value: Tensor, sharing: World) -> list[Tensor]:
    """Exchange some tokens of all heads for all tokens of some heads.

    The shapes are (1, heads, W / size, D) -> (1, heads / size, W, D). Keys and values are repeated until the
    number of processes divides the number of their heads. If it does not divide the number of query heads,
    heads of zeros are added.
    """
    size = sharing.size
    tensors = [_even(t, size) for t in _repeat(query, key, value, size)]
    sent = torch.cat([t.reshape(size, -1) for t in tensors], dim=1)
    received = torch.split(_exchange(sent, sharing), [t.numel() // size for t in tensors], dim=1)
    shapes = [(size, t.shape[1] // size, *t.shape[2:]) for t in tensors]
    return [
        r.reshape(shape).transpose(0, 1).flatten(1, 2).unsqueeze(0)
        for r, shape in zip(received, shapes, strict=True)
    ]


def to_tokens(out: Tensor, sharing: World) -> Tensor:
    """Undo `to_heads` by exchanging all tokens of some heads for some tokens of all heads."""
    _, heads, tokens, width = out.shape
    parts = out.reshape(heads, sharing.size, -1).transpose(0, 1).flatten(1)
    return _exchange(parts, sharing).view(1, sharing.size * heads, tokens // sharing.size, width)


def _repeat(query: Tensor, key: Tensor, value: Tensor, size: int) -> list[Tensor]:
    """Repeat keys and values until `size` divides their number of heads, or to one head per query head."""
    heads = key.shape[1]
    groups = query.shape[1] // heads
    times = [f for f in range(1, groups + 1) if groups % f == 0 and heads * f % size == 0]
    least = times[0] if times else groups
    return [query, *(t.repeat_interleave(least, dim=1) if least > 1 else t for t in (key, value))]


def _even(tensor: Tensor, size: int) -> Tensor:
    missing = -tensor.shape[1] % size
    return pad(tensor, (0, 0, 0, 0, 0, missing)) if missing else tensor


def _exchange(parts: Tensor, sharing: World) -> Tensor:
    """Send row r of `parts`, (size, M), to process r, and return the received rows in order of rank."""
    received: Tensor = _Exchange.apply(parts, sharing)  # type: ignore[no-untyped-call]
    return received


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parts: Tensor, sharing: World) -> Tensor:
        ctx.sharing = sharing
        return _swap(parts, sharing)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _swap(gradients[0], ctx.sharing), None


def _swap(parts: Tensor, sharing: World) -> Tensor:
    parts = parts.contiguous()
    received = torch.empty_like(parts)
    dist.all_to_all_single(received, parts, group=sharing.group)
    return received


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, owners: Tensor, sharing: World) -> Tensor:
        ctx.mine = owners == sharing.rank
        counts = owners.bincount(minlength=sharing.size)
        most = int(counts.max()) if len(owners) else 0
        filled = values.new_zeros(most, *values.shape[1:])
        filled[: len(values)] = values
        by_process = filled.new_empty(sharing.size, *filled.shape)
        if most:
            dist.all_gather(list(by_process), filled, group=sharing.group)
        real = torch.arange(most, device=values.device) < counts.unsqueeze(1)
        return by_process[real][owners.argsort(stable=True).argsort()]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return gradients[0][ctx.mine], None, None
