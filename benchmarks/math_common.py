"""What the math benchmarks share: reading cases, running ours, and running the peers beside it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"

sys.path.insert(0, str(ROOT))

from rewardkit.rewards.math import Options, compare, score  # noqa: E402
from rewardkit.types import Sample  # noqa: E402

Row = dict[str, Any]


def read_jsonl(path: Path) -> list[Row]:
    if not path.is_file():
        raise SystemExit(f"no such file: {path}; name the data folder with --data")
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def judge(row: Row, options: Options) -> bool:
    """Our verdict: bare answers are compared, responses are scored."""
    if row["kind"] == "answer":
        return compare(row["gold"], row["response"], options).equal
    return bool(score(Sample("math", row["response"], row["gold"]), options).correct)


def ours(rows: Iterable[Row], options: Options) -> Iterator[tuple[bool, float]]:
    """Yield verdict and CPU seconds; the worker's seconds are not ours and are not counted."""
    for row in rows:
        start = time.process_time()
        verdict = judge(row, options)
        yield verdict, time.process_time() - start


def peers(python: str, rows: Sequence[Row], names: Sequence[str] = ()) -> list[dict[str, tuple[Any, float]]]:
    """Return name -> (verdict, CPU seconds) for each row, judged by the graders of another environment."""
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
