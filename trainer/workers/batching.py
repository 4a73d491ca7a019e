"""How a worker's rows are cut into forward passes, and shared out so that all processes have as much to do.

Rows travel to another process for a computation and their results come back: outside of the workers every
row stays where it was generated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.distributed import World

MODEL_INPUTS = ("input_ids", "attention_mask", "position_ids", "responses")


@dataclass(frozen=True, slots=True)
class Batching:
    """Changes memory and speed, never a result."""

    size: int | None = None
    """Rows per forward; None: all of them."""
    tokens: int | None = None
    """Tokens per forward; when set, `size` is not used."""
    balance: bool = False
    """Let rows travel between processes."""

    def pieces(self, batch: Batch, world: World, model: nn.Module) -> list[Tensor]:
        """Return the rows of each forward of `model`, equally many forwards in all processes.

        Rows of like length come together: less padding where there is any.
        """
        lengths = batch["attention_mask"].sum(dim=1)
        order = lengths.argsort(descending=True, stable=True)
        if self.tokens is None:
            return list(torch.split(order, self.size or len(order)))
        packed = getattr(model, "packing", "off") != "off"
        pieces = list(torch.split(order, _counts(lengths[order].tolist(), self.tokens, packed=packed)))
        wanted = int(world.max(torch.tensor(len(pieces))))
        while len(pieces) < wanted:
            longest = max(range(len(pieces)), key=lambda i: len(pieces[i]))
            piece = pieces.pop(longest)
            assert len(piece) > 1, "all processes have equally many rows"
            pieces[longest:longest] = piece.tensor_split(2)
        return pieces

    def exchange(self, batch: Batch, world: World) -> Exchange | None:
        """Return how rows shall travel, agreed upon with all processes; None: they stay."""
        return Exchange.plan(batch, world) if self.balance and world.size > 1 else None


def _counts(lengths: Sequence[int], limit: int, *, packed: bool) -> list[int]:
    """Cut rows, longest first, into runs of at most `limit` tokens, padding included; return their sizes."""
    counts: list[int] = []
    longest = total = 0
    for length in lengths:
        if counts and (total + length if packed else (counts[-1] + 1) * longest) <= limit:
            counts[-1] += 1
            total += length
        else:
            counts.append(1)
            longest = total = length
    return counts


def map_rows(
    batch: Batch,
    compute: Callable[[Batch], tuple[Tensor, ...]],
    batching: Batching,
    world: World,
    model: nn.Module,
) -> tuple[Tensor, ...]:
    """Return what `compute` says to each row, forward by forward, (B, T) tensors in the batch's order."""
    given = Batch({name: batch[name] for name in MODEL_INPUTS}, [])
    exchange = batching.exchange(batch, world)
    here = exchange.there(given) if exchange else given
    pieces = batching.pieces(here, world, model)
    back = torch.cat(pieces).argsort()
    parts = zip(*(compute(here.select(piece)) for piece in pieces), strict=True)
    results = tuple(torch.cat(part)[back] for part in parts)
    return tuple(exchange.back(r) for r in results) if exchange else results


@dataclass(frozen=True, slots=True)
class Exchange:
    """Moves rows between processes so that all have equally many, and about as many tokens."""

    order: Tensor
    """This process's rows, by the process they go to."""
    sent: list[int]
    received: list[int]

    @classmethod
    def plan(cls, batch: Batch, world: World) -> Exchange:
        """Agree with all processes on who computes which row."""
        gathered = world.gather(batch["attention_mask"].sum(dim=1).tolist())
        owners = share_out([length for lengths in gathered for length in lengths], world.size)
        by_source = torch.tensor(owners).view(world.size, -1)
        mine = by_source[world.rank]
        return cls(
            mine.argsort(stable=True).to(world.device),
            mine.bincount(minlength=world.size).tolist(),
            (by_source == world.rank).sum(dim=1).tolist(),
        )

    def there(self, batch: Batch) -> Batch:
        """Return the rows this process shall compute. Their Python objects stay at home."""
        return Batch(
            {k: _swap(v[self.order], self.received, self.sent) for k, v in batch.tensors.items()}, []
        )

    def back(self, result: Tensor) -> Tensor:
        """Return the results of this process's own rows, in their order."""
        home = _swap(result, self.sent, self.received)
        return home[self.order.argsort()]


def share_out(lengths: Sequence[int], shares: int) -> list[int]:
    """Return the share of each item: equally many items in each, their sums about equal.

    Greedy: the longest item left goes to the lightest share with room (LPT, Graham 1969).
    """
    room = [len(lengths) // shares] * shares
    load, owners = [0] * shares, [0] * len(lengths)
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        owner = min((s for s in range(shares) if room[s]), key=lambda s: load[s])
        owners[i] = owner
        room[owner] -= 1
        load[owner] += lengths[i]
    return owners


def _swap(rows: Tensor, received: list[int], sent: list[int]) -> Tensor:
    incoming = rows.new_empty((sum(received), *rows.shape[1:]))
    dist.all_to_all_single(incoming, rows.contiguous(), received, sent)
    return incoming
