"""Splits a worker's rows into forward passes, and balances the rows over all processes.

A row may be sent to another process for a computation, and only the result is sent back. Outside the workers,
every row stays in the process that generated it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from rewardkit.trainer.batch import Batch, PromptTokens, prompts_of, rows_by_prompt
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.heads import Packing
from rewardkit.trainer.models.routing import ROUTES
from rewardkit.trainer.models.sharding import drop_gathered
from rewardkit.trainer.models.vision import PICTURES
from rewardkit.trainer.workers.parallel import Parallel

MODEL_INPUTS = ("input_ids", "attention_mask", "position_ids", "responses", PICTURES)


@dataclass(frozen=True, slots=True)
class Batching:
    """Settings that affect memory and speed but never the results."""

    size: int | None = None
    """Maximum number of rows per forward pass, or None for all rows."""
    tokens: int | None = None
    """Maximum number of tokens per forward pass. If set, `size` is ignored."""
    balance: bool = False
    """If True, rows may be computed in other processes."""

    @classmethod
    def of(cls, size: int | None, tokens: int, *, dynamic: bool, balance: bool, sharing: int = 1) -> Batching:
        """Return the batching for a worker's settings, by tokens if `dynamic` is True, else by rows.

        Args:
            tokens: Maximum number of tokens per forward pass and process.
            sharing: Number of processes that compute the same rows together.
        """
        return cls(size, tokens * sharing if dynamic else None, balance)

    def pieces(
        self, batch: Batch, world: World, model: nn.Module, live: Tensor | None = None
    ) -> list[Tensor]:
        """Return the rows for each forward pass of `model`, with equally many passes in each process.

        Each process has at least one pass.

        Args:
            live: Rows to compute, (B,) bool, or None for all rows. If this process would have fewer passes
                than another process, it also computes other rows one by one, the shortest first.
        """
        lengths: list[int] = batch["attention_mask"].sum(dim=1).tolist()
        rows = list(range(len(lengths))) if live is None else live.nonzero().squeeze(1).tolist()
        given = batch if live is None else batch.select(live)
        packing: Packing = getattr(model, "packing", "off")
        prompts = prompts_of(given) if packing == "flat" else None
        pieces = self._cut([lengths[i] for i in rows], prompts, 1, packing) if rows else []
        wanted = max(int(world.max(torch.tensor(len(pieces)))), 1)
        if rows and len(pieces) < wanted:
            pieces = self._cut([lengths[i] for i in rows], prompts, min(wanted, len(rows)), packing)
        found = [[rows[k] for k in piece] for piece in pieces]
        idle = sorted(set(range(len(lengths))).difference(rows), key=lambda i: (lengths[i], i))
        found += [[i] for i in idle[: wanted - len(found)]]
        return [torch.tensor(piece, device=world.device) for piece in found]

    def _cut(
        self, lengths: Sequence[int], prompts: Sequence[PromptTokens] | None, least: int, packing: Packing
    ) -> list[list[int]]:
        if self.tokens is None:
            return _split_up(_equal(lengths, prompts, self.size or len(lengths)), least)
        return _cut(lengths, prompts, self.tokens, least, packed=packing != "off")

    def exchange(self, batch: Batch, world: World, live: Tensor | None = None) -> Exchange | None:
        """Return a plan for sending rows that all processes agree on, or None if no rows are sent."""
        return Exchange.plan(batch, world, live) if self.balance and world.size > 1 else None


def _equal(lengths: Sequence[int], prompts: Sequence[PromptTokens] | None, size: int) -> list[list[int]]:
    """Cut rows into pieces of `size`. Group rows by prompt, or by length if `prompts` is None."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    if prompts is not None:
        first = {prompt: i for i, prompt in reversed(list(enumerate(prompts)))}
        order = sorted(range(len(lengths)), key=lambda i: first[prompts[i]])
    return [order[i : i + size] for i in range(0, len(order), size)]


def _cut(
    lengths: Sequence[int], prompts: Sequence[PromptTokens] | None, limit: int, least: int, *, packed: bool
) -> list[list[int]]:
    """Cut rows into at least `least` pieces of at most `limit` tokens."""
    if prompts is not None:
        return _split_up(_bundled(lengths, prompts, limit), least)
    return (_mixtures if packed else _runs)(lengths, limit, least)


def _bundled(lengths: Sequence[int], prompts: Sequence[PromptTokens], limit: int) -> list[list[int]]:
    """Distribute rows over pieces of at most `limit` tokens. A prompt counts once per piece.

    Rows with the same prompt share a piece as far as they fit. A row that exceeds the limit gets a piece of
    its own.
    """
    bundles: list[list[int]] = []
    weights: list[int] = []
    for prompt, rows in rows_by_prompt(prompts).items():
        own = [lengths[i] - len(prompt) for i in rows]
        for piece in _mixtures(own, max(limit - len(prompt), 1), 1):
            bundles.append([rows[k] for k in piece])
            weights.append(len(prompt) + sum(own[k] for k in piece))
    return [[i for k in piece for i in bundles[k]] for piece in _mixtures(weights, limit, 1)]


def _split_up(pieces: Sequence[list[int]], wanted: int) -> list[list[int]]:
    """Split the pieces with the most rows in half until there are `wanted` pieces."""
    found = list(pieces)
    while len(found) < wanted:
        most = max(range(len(found)), key=lambda k: len(found[k]))
        half = (len(found[most]) + 1) // 2
        found[most : most + 1] = [found[most][:half], found[most][half:]]
    return found


def _runs(lengths: Sequence[int], limit: int, least: int) -> list[list[int]]:
    """Cut rows, longest first, into at least `least` runs of at most `limit` tokens, including padding.

    Each row is padded to the longest row in its run, so a run contains rows of similar length.
    """
    runs: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if runs and (len(runs[-1]) + 1) * lengths[runs[-1][0]] <= limit:
            runs[-1].append(i)
        else:
            runs.append([i])
    return _split_up(runs, least)


def _mixtures(lengths: Sequence[int], limit: int, least: int) -> list[list[int]]:
    """Distribute rows over at least `least` pieces of at most `limit` tokens.

    A row that exceeds the limit gets a piece of its own. Short rows are combined with long rows, because they
    can be packed together.
    """
    shares = max(min(math.ceil(sum(lengths) / limit), len(lengths)), least)
    while True:
        pieces: list[list[int]] = [[] for _ in range(shares)]
        for i, owner in enumerate(share_out(lengths, shares)):
            pieces[owner].append(i)
        if all(len(piece) == 1 or sum(lengths[i] for i in piece) <= limit for piece in pieces):
            return pieces
        shares += 1


def map_rows(
    batch: Batch,
    compute: Callable[[Batch], tuple[Tensor, ...]],
    batching: Batching,
    parallel: Parallel,
    model: nn.Module,
) -> tuple[Tensor, ...]:
    """Return the results of `compute` for all rows as (B, T) tensors in the batch's order.

    No backward pass can follow, because the model's gathered weights are freed.
    """
    names = [name for name in (*MODEL_INPUTS, ROUTES) if name in batch.tensors]
    given = parallel.together(Batch({name: batch[name] for name in names}, []))
    exchange = batching.exchange(given, parallel.data)
    here = exchange.there(given) if exchange else given
    pieces = batching.pieces(here, parallel.data, model)
    back = torch.cat(pieces).argsort()
    parts = zip(*(compute(here.select(piece)) for piece in pieces), strict=True)
    results = tuple(torch.cat(part)[back] for part in parts)
    drop_gathered(model)
    return tuple(parallel.own(exchange.back(r) if exchange else r) for r in results)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Plan for sending rows to other processes and returning their results."""

    order: Tensor
    """Indices of this process's rows, ordered by the process that receives them."""
    sent: list[int]
    received: list[int]
    group: Any
    """Group of the processes that exchange rows, or None for the default process group."""

    @classmethod
    def plan(cls, batch: Batch, world: World, live: Tensor | None = None) -> Exchange:
        """Agree with all processes on which process computes each row. Rows not in `live` count as empty."""
        lengths = batch["attention_mask"].sum(dim=1)
        gathered = world.gather((lengths if live is None else lengths * live).tolist())
        owners = torch.tensor(
            share_out([length for lengths in gathered for length in lengths], world.size, equally_many=True)
        )
        # Each process has equally many rows, which are numbered consecutively across processes.
        size = len(batch)
        wanted = [(owners == rank).nonzero().squeeze(1) for rank in range(world.size)]
        mine = [rows[rows // size == world.rank] % size for rows in wanted]
        return cls(
            torch.cat(mine).to(world.device),
            [len(rows) for rows in mine],
            (wanted[world.rank] // size).bincount(minlength=world.size).tolist(),
            world.group,
        )

    def there(self, batch: Batch) -> Batch:
        """Return the rows that this process computes. Python objects are not sent."""
        return Batch(
            {k: self._swap(v[self.order], self.received, self.sent) for k, v in batch.tensors.items()}, []
        )

    def back(self, result: Tensor) -> Tensor:
        """Return the results for this process's own rows, in the original order."""
        home = self._swap(result, self.sent, self.received)
        return home[self.order.argsort()]

    def _swap(self, rows: Tensor, received: list[int], sent: list[int]) -> Tensor:
        incoming = rows.new_empty((sum(received), *rows.shape[1:]))
        dist.all_to_all_single(incoming, rows.contiguous(), received, sent, group=self.group)
        return incoming


def share_out(lengths: Sequence[int], shares: int, *, equally_many: bool = False) -> list[int]:
    """Assign items to shares of about equal total length, and return the index of each item's share.

    With `equally_many`, all shares have the same number of items. The longest remaining item is always added
    to the lightest share that has room (LPT, Graham 1969).
    """
    room = [len(lengths) // shares if equally_many else len(lengths)] * shares
    lightest = [(0, share) for share in range(shares)]  # heap of (load, share)
    owners = [0] * len(lengths)
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        load, owner = heapq.heappop(lightest)
        owners[i] = owner
        room[owner] -= 1
        if room[owner]:
            heapq.heappush(lightest, (load + lengths[i], owner))
    return owners
