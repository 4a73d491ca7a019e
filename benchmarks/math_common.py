"""Shared code of the maths benchmarks: reading cases, running ours, and running the peers."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("REWARDKIT_REFERENCE_DATA") or "no reference data")

sys.path.insert(0, str(ROOT))

from rewardkit.rewards.math import MathOptions, compare, score  # noqa: E402
from rewardkit.rewards.math.sympy import client  # noqa: E402
from rewardkit.types import Sample  # noqa: E402

Row = dict[str, Any]


def read_jsonl(path: Path) -> list[Row]:
    if not path.is_file():
        raise SystemExit(f"no such file: {path}; name the data folder with --data")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


PAIRS = Path(__file__).with_name("math_pairs.jsonl")
_PLACE = re.compile(r"\\text\{[^}]*\}|[ABK]|[XYZ]|[NM]")
_SIZES = (2, 3, 5, 7, 12, 50, 97, 100, 360, 999, 2023, 65536, 10**6)


def own_pairs(count: int, seed: int) -> list[Row]:
    """Return this many labelled pairs: the rows of `math_pairs.jsonl` in turn, with other numbers and
    letters.

    In a row, `A`, `B` and `K` stand for numbers, the last for a small one, `X`, `Y`, `Z` for variables, and
    `N`, `M` for integers.
    """
    draw = random.Random(seed)
    rows = read_jsonl(PAIRS)
    found: dict[tuple[str, str], Row] = {}
    for index in range(count):
        row = rows[index % len(rows)]
        numbers = map(str, (*draw.sample(_SIZES, 2), draw.randrange(2, 10)))
        letters = (*draw.sample("abtuvx", 3), *draw.sample("kmn", 2))
        fill = partial(_filled, dict(zip("ABKXYZNM", (*numbers, *letters), strict=True)))
        gold, answer = (_PLACE.sub(fill, row[side]) for side in ("gold", "answer"))
        found.setdefault((gold, answer), {**row, "gold": gold, "answer": answer})
    return list(found.values())


_AROUND = (
    "\\left({}\\right)^3", "2\\left({}\\right)+w", "\\frac{{{}}}{{w^2+1}}", "w-\\left({}\\right)",
    "f(w)=w\\left({}\\right)", "\\left({}, w\\right)", "e^{{{}}}", "5^{{{}}}",
    "\\arctan\\left({}\\right)", "\\sqrt[3]{{{}}}", "y={}",
)  # fmt: skip
"""Expressions that are equal only if their contents are."""
_NO_VALUE = ("=", "<", ">", "\\le", "\\ge", "\\ne", "\\text", ",", "\\pm", "\\pmod", "\\begin", "\\in")


def nested_pairs(count: int, seed: int) -> list[Row]:
    """Return labelled pairs like those of `own_pairs`, each within a larger expression."""
    draw = random.Random(seed)
    rows = [
        row
        for row in own_pairs(4 * count, seed)
        if not any(sign in row["gold"] + row["answer"] for sign in _NO_VALUE)
    ]
    chosen = [(row, draw.choice(_AROUND)) for row in draw.choices(rows, k=count)]
    return [
        {**row, "gold": around.format(row["gold"]), "answer": around.format(row["answer"])}
        for row, around in chosen
    ]


def _filled(places: dict[str, str], match: re.Match[str]) -> str:
    """Return the value of a placeholder; a number after another one is multiplied with it."""
    value = places.get(match[0], match[0])
    before = match.string[match.start() - 1 : match.start()]
    return f"\\cdot {value}" if value.isdigit() and (before.isdigit() or before in tuple("ABK")) else value


def held_out(row: Row) -> bool:
    """Return whether a labelled case is in the third never used for tuning, by a hash of its id."""
    return hashlib.sha256(str(row["id"]).encode()).digest()[0] % 3 == 0


def verdict(row: Row, options: MathOptions) -> bool:
    """Return our verdict: bare answers are compared, responses are scored."""
    if row["kind"] == "answer":
        return compare(row["gold"], row["response"], options).equal
    return bool(score(Sample("math", row["response"], row["gold"]), options).correct)


def ours(rows: Iterable[Row], options: MathOptions) -> Iterator[tuple[bool, float]]:
    """Yield verdict and CPU seconds of this process; `sympy_seconds` returns those of SymPy."""
    for row in rows:
        start = time.process_time()
        equal = verdict(row, options)
        yield equal, time.process_time() - start


def sympy_seconds() -> float:
    """Return the CPU seconds so far of this process's SymPy server and all its forks, including dead ones."""
    ticks = 0
    for server in client.SERVER._started:
        for process in (server.pid, *_children(server.pid)):
            ticks += sum(_ticks(process)[: 4 if process == server.pid else 2])
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(process: int) -> list[int]:
    """Return user and system time of a process, and of its children that it has waited for."""
    stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return [int(field) for field in stat[11:15]]


def _children(process: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def peers(python: str, rows: Sequence[Row], names: Sequence[str] = ()) -> list[dict[str, tuple[Any, float]]]:
    """Return name -> (verdict, CPU seconds) for each row, scored by the graders of another environment."""
    lines = "".join(
        json.dumps({"gold": r["gold"], "response": r["response"], "kind": r["kind"]}) + "\n" for r in rows
    )
    done = subprocess.run(
        [python, str(ROOT / "benchmarks" / "math_peers.py"), *names],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
