"""Verifications per CPU second, including SymPy's forks, compared with Math-Verify in the same run.

    python benchmarks/math_speed.py --data ../shared/data --peer-python /path/to/venv/bin/python

Caches are emptied before each timing, and no response occurs twice in a set, so the work itself is measured;
a training run, with many responses to one ground truth, is faster. `times` compares whole sets, in which a
few rows can cost Math-Verify seconds; `median row` compares the middle of each. `SymPy` is the share of our
seconds spent there, and the number of rows sent there; starting it is not counted on either side.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from statistics import median
from typing import NamedTuple

from math_common import SHARED, Row, ours, peers, read_jsonl, sympy_seconds

from rewardkit.rewards.math import MathOptions, compare
from rewardkit.rewards.math.reading.prepared import clear_caches
from rewardkit.rewards.math.sympy import client


class Timing(NamedTuple):
    """CPU seconds for a set."""

    rows: list[float]
    """Seconds in this process, for each row."""
    sympy: float
    """Seconds in SymPy's server and its forks, for all rows."""
    asked: int
    """Number of rows sent to SymPy."""

    @property
    def total(self) -> float:
        return sum(self.rows) + self.sympy


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHARED, help="folder with math_cases")
    parser.add_argument("--peer-python", help="Python of an environment with math-verify")
    parser.add_argument("--repeat", type=int, default=3, help="take the best of this many runs")
    arguments = parser.parse_args()
    cases = read_jsonl(arguments.data / "math_cases" / "cases.jsonl")
    for row in cases:
        row["response"] = row["pred"]
    real = [r for r in cases if r["category"] in ("qwen-real-response", "gym-real-response")]
    sets = {
        "boxed integers": integers(),
        "mixed numerics": numerics(),
        "real responses": real,
        "hard cases": [r for r in cases if not r["disputed"] and r["kind"] == "answer"],
    }
    compare("\\sum_{k=0}^{\\infty}\\frac{1}{2^k}", "2")
    timing(cases[:50])
    print(
        f"{'set':16} {'n':>5} {'rewardkit/s':>12} {'SymPy':>11} "
        f"{'Math-Verify/s':>14} {'times':>7} {'median row':>11}"
    )
    for name, rows in sets.items():
        mine = min((timing(rows) for _ in range(arguments.repeat)), key=lambda t: t.total)
        shown = f"{'-':>14} {'-':>7} {'-':>11}"
        if arguments.peer_python:
            runs = [peer_seconds(arguments.peer_python, rows) for _ in range(arguments.repeat)]
            theirs = min(runs, key=sum)
            total, middle = sum(theirs) / mine.total, median(theirs) / median(mine.rows)
            shown = f"{len(rows) / sum(theirs):14,.0f} {total:7.0f} {middle:11.0f}"
        sympy = f"{mine.sympy / mine.total:.0%} of {mine.asked}"
        print(f"{name:16} {len(rows):5} {len(rows) / mine.total:12,.0f} {sympy:>11} {shown}", flush=True)
    latencies = sorted(min(times) for times in zip(*(timing(cases).rows for _ in range(3)), strict=True))
    p50, p99 = (latencies[int(len(latencies) * q)] * 1e3 for q in (0.5, 0.99))
    print(f"\ncases, tiers 1 to 3: median {p50:.3f} ms, p99 {p99:.2f} ms, max {latencies[-1] * 1e3:.1f} ms")


def timing(rows: list[Row]) -> Timing:
    clear_caches()
    asked = 0
    ask = client.SERVER.ask

    def counted(question: dict[str, object], cpu_s: float) -> dict[str, object]:
        nonlocal asked
        asked += 1
        return ask(question, cpu_s)

    client.SERVER.ask = counted  # type: ignore[method-assign,assignment]
    before = sympy_seconds()
    try:
        seconds = [spent for _, spent in ours(rows, MathOptions())]
    finally:
        client.SERVER.ask = ask  # type: ignore[method-assign]
    return Timing(seconds, sympy_seconds() - before, asked)


def peer_seconds(python: str, rows: list[Row]) -> list[float]:
    graded = peers(python, [*rows[:20], *rows], ["math_verify"])[20:]
    return [row["math_verify"][1] for row in graded]


def integers() -> list[Row]:
    """Return right and wrong integers in a box."""
    draw = random.Random(7)
    golds = [draw.randrange(1, 10**6) for _ in range(1000)]
    return [
        {
            "gold": str(g),
            "response": f"Thus the answer is $\\boxed{{{g + (g % 3 == 0)}}}$.",
            "kind": "response",
        }
        for g in golds
    ]


def numerics() -> list[Row]:
    """Return decimals, fractions and grouped thousands paired with each other."""
    draw = random.Random(11)
    rows: list[Row] = []
    for _ in range(250):
        k = draw.randrange(1000, 10**6)
        pairs = [
            (f"{k}.5", f"\\frac{{{2 * k + 1}}}{{2}}"),
            (f"{k}", f"{k:,}"),
            (f"\\frac{{{k}}}{{7}}", f"{k}/7"),
            (f"{k}", f"{k + 1}.0"),
        ]
        rows += [
            {"gold": g, "response": f"So we get $\\boxed{{{a}}}$.", "kind": "response"} for g, a in pairs
        ]
    return rows


if __name__ == "__main__":
    main()
