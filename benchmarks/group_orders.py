"""Simulates how fast steps are, and how old their responses, in each order of the groups.

    PYTHONPATH=. python benchmarks/group_orders.py [--steps 60] [--seeds 5] [--reject 0]

A step needs 32 groups of 8 responses, and its update takes as long as a mean response. The lengths of
responses correlate within a group (0.5) and are capped at 16 means. Servers have a free slot for every
response. Speed is relative to a synchronous run. `longest step` is in mean responses, in a run of 200 steps
with one response of the length 100. With `--reject`, dynamic sampling rejects this share of the groups:
`strict` generates further batches of 32 groups until the step is full, and `ready` replaces each at once.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import random
from collections.abc import Callable, Iterator
from statistics import NormalDist, fmean

from rich.console import Console
from rich.table import Table

from rewardkit.trainer.group_queue import GroupQueue

GROUPS, RESPONSES, CAP, UPDATE = 32, 8, 16.0, 1.0
NORMAL = NormalDist()
TAILS: dict[str, Callable[[float], float]] = {
    "log-normal 0.5": lambda u: math.exp(0.5 * NORMAL.inv_cdf(u) - 0.125),
    "Pareto 2": lambda u: 0.5 * (1 - u) ** -0.5,
    "Pareto 1.2": lambda u: (1 - u) ** (-1 / 1.2) / 6,
}
ORDERS: dict[str, tuple[int, int, str, str]] = {
    "sync": (0, 0, "strict", "wait"),
    **{f"strict, K={k}": (k, k, "strict", "wait") for k in (1, 2, 4, 8)},
    "wait, K=4, D=2": (4, 2, "ready", "wait"),
    "wait, K=8, D=2": (8, 2, "ready", "wait"),
    "mask, K=4, D=2": (4, 2, "ready", "mask"),
    "mask, K=8, D=4": (8, 4, "ready", "mask"),
}


def durations(tail: str, seed: int, straggler: int | None) -> Iterator[float]:
    """Yield the time of each group, which is that of its longest response."""
    draw = random.Random(seed)
    for ordinal in itertools.count():
        shared = draw.gauss(0, 1)
        shares = [NORMAL.cdf((shared + draw.gauss(0, 1)) / math.sqrt(2)) for _ in range(RESPONSES)]
        longest = max(min(TAILS[tail](min(u, 1 - 1e-12)), CAP) for u in shares)
        yield 100.0 if ordinal == straggler else longest


def simulate(
    tail: str,
    order: tuple[int, int, str, str],
    steps: int,
    seed: int,
    straggler: int | None = None,
    reject: float = 0.0,
) -> tuple[float, float, float]:
    """Return the time of a run, the mean age of its groups in steps, and the time of its longest step."""
    staleness, depth, name, late = order
    queue = GroupQueue(GROUPS, staleness=staleness, depth=depth, order=name, late=late)
    lengths = enumerate(durations(tail, seed, straggler))
    running: list[tuple[float, int]] = []
    versions: dict[int, int] = {}
    now, ages, longest, chance = 0.0, list[int](), 0.0, random.Random(seed)

    def rejected() -> bool:
        return chance.random() < reject

    for step in range(1, steps + 1):
        began = now
        while True:
            for _ in range(queue.room(steps - step + 1)):
                ordinal, length = next(lengths)
                versions[ordinal] = step - 1
                queue.begin(ordinal, step - 1)
                heapq.heappush(running, (now + length, ordinal))
            while running and running[0][0] <= now:
                ended = heapq.heappop(running)[1]
                if name == "ready" and rejected():
                    queue.reject(ended)
                else:
                    queue.end(ended)
            if chosen := queue.take(step):
                break
            if not queue.room(steps - step + 1):
                now = running[0][0]
        ages += [step - 1 - versions[ordinal] for ordinal in chosen]
        missing = sum(rejected() for _ in chosen) if name == "strict" else 0
        while missing > 0:
            now += max(next(lengths)[1] for _ in range(GROUPS))
            missing -= sum(not rejected() for _ in range(GROUPS))
        now += UPDATE
        if step > 1:
            longest = max(longest, now - began)
    return now, fmean(ages), longest


def main() -> None:
    """Simulate and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--reject", type=float, default=0.0)
    given = parser.parse_args()
    table = Table("order", *(f"speed, {tail}" for tail in TAILS), "mean age", "longest step")
    sync = {}
    for name, order in ORDERS.items():
        speeds, ages = [], []
        for tail in TAILS:
            runs = [
                simulate(tail, order, given.steps, seed, reject=given.reject) for seed in range(given.seeds)
            ]
            time = sum(one[0] for one in runs)
            speeds.append(sync.setdefault(tail, time) / time)
            ages += [one[1] for one in runs]
        delay = simulate("log-normal 0.5", order, 200, 0, straggler=20 * GROUPS, reject=given.reject)[2]
        table.add_row(name, *(f"{s:.2f}" for s in speeds), f"{fmean(ages):.2f}", f"{delay:.1f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
