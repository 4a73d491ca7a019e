"""Count of what a judge has spent and reserved, in a file that all processes of a run share.

Reservations of a process that has died count as spent, because the cost of its requests is unknown.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from rewardkit.rewards.judge.spending import Cost, JudgeSpending, OverBudgetError
from rewardkit.run_folder import run_folder

_WAIT_S = 0.05
"""Seconds between two attempts to reserve, while other requests in flight hold the rest of the budget."""

_ROUNDING = 1 + 1e-9
"""Factor that allows for rounding errors in sums of dollars."""


def share_budget(spending: JudgeSpending, judge: str) -> None:
    """Prepare the count that the processes of a run share, before the first of them starts.

    The processes of a training run may be on several machines and cannot share a count. Each process
    therefore gets an equal share of the budget, and the first process logs the share.
    """
    if not spending.has_budget:
        return
    run_folder()
    if (shares := _shares()) > 1 and os.environ["RANK"] == "0":
        logging.getLogger("rewardkit.judge").warning(
            "%s: the budget is divided among the %d processes of this run: %s for each",
            *(judge, shares, " and ".join(_limits(spending, shares))),
        )


def _shares() -> int:
    """Return the number of training processes among which a budget is divided, or 1 for any other run."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def _limits(spending: JudgeSpending, shares: int) -> list[str]:
    usd = [f"${spending.budget_usd / shares:g}"] if spending.budget_usd else []
    tokens = [f"{spending.budget_tokens // shares:,} tokens"] if spending.budget_tokens else []
    return usd + tokens


class _Count(msgspec.Struct):
    """Contents of the file with the count."""

    tokens: int = 0
    usd: float = 0.0
    reserved: dict[str, tuple[int, float]] = {}
    """Tokens and dollars of the requests in flight, by process ID."""


class JudgeBudget:
    """Budget of a judge, and the tokens and dollars that the processes of this run have spent or reserved.

    Args:
        spending: Prices and budget.
        name: Name of the count. Judges with the same name share their budget.
    """

    def __init__(self, spending: JudgeSpending, name: str) -> None:
        self._shares = _shares()
        self._spending = spending
        self._most_usd = spending.budget_usd / self._shares if spending.budget_usd else math.inf
        self._most_tokens = spending.budget_tokens // self._shares if spending.budget_tokens else math.inf
        rank = os.environ["RANK"] if self._shares > 1 else ""
        digest = hashlib.sha256(f"{rank}\0{name}".encode()).hexdigest()[:32]
        self._path: Path | None = run_folder() / f"budget-{digest}.json" if spending.has_budget else None
        self._process = str(os.getpid())

    async def reserve(self, most: Cost) -> None:
        """Reserve the largest cost of a request. Wait if requests in flight may leave enough of the budget.

        Raises:
            OverBudgetError: The request might exceed the budget.
        """
        while self._path is not None and not self._reserved(self._path, most):
            await asyncio.sleep(_WAIT_S)

    def settle(self, most: Cost, used: Cost) -> None:
        """Replace a reservation with the cost of the request."""
        if self._path is None:
            return
        with _opened(self._path) as count:
            count.tokens += used.tokens
            count.usd += used.usd
            self._reserve(count, -most.tokens, -most.usd)

    def _reserved(self, path: Path, most: Cost) -> bool:
        """Reserve a cost and return True, or return False if requests in flight hold too much."""
        with _opened(path) as count:
            _spend_of_dead(count)
            self._check(count, most)
            held_tokens = sum(tokens for tokens, _ in count.reserved.values())
            held_usd = sum(usd for _, usd in count.reserved.values())
            if self._exceeds(count.tokens + held_tokens + most.tokens, count.usd + held_usd + most.usd):
                return False
            self._reserve(count, most.tokens, most.usd)
            return True

    def _reserve(self, count: _Count, tokens: int, usd: float) -> None:
        held_tokens, held_usd = count.reserved.get(self._process, (0, 0.0))
        count.reserved[self._process] = (held_tokens + tokens, held_usd + usd)
        if not count.reserved[self._process][0]:
            # Removing the entry also drops the rounding error of the dollars.
            del count.reserved[self._process]

    def _exceeds(self, tokens: int, usd: float) -> bool:
        return tokens > self._most_tokens or usd > self._most_usd * _ROUNDING

    def _check(self, count: _Count, most: Cost) -> None:
        if self._exceeds(count.tokens + most.tokens, count.usd + most.usd):
            share = f", its share among {self._shares} processes" if self._shares > 1 else ""
            spent = f"${count.usd:.4g}" if self._spending.budget_usd else f"{count.tokens:,} tokens"
            raise OverBudgetError(
                f"the next request could exceed the judge's budget of "
                f"{' and '.join(_limits(self._spending, self._shares))}{share} ({spent} spent so far)"
            )


@contextmanager
def _opened(path: Path) -> Iterator[_Count]:
    """Yield the count in a file. During the block, other processes can neither read nor change the file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        count = msgspec.json.decode(content, type=_Count) if content else _Count()
        yield count
        # The text never becomes shorter, so that one write replaces all of it.
        os.pwrite(descriptor, msgspec.json.encode(count).ljust(len(content)), 0)
    finally:
        os.close(descriptor)


def _spend_of_dead(count: _Count) -> None:
    """Count the reservations of processes that have died as spent."""
    for process in [one for one in count.reserved if not _lives(int(one))]:
        tokens, usd = count.reserved.pop(process)
        count.tokens += tokens
        count.usd += usd


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
