"""The same programs scored on an idle and on a busy machine: no score and no status may differ.

    python benchmarks/code_load.py [--pairs 300] [--load 8]

`--load` processes that compute without end run beside the second scoring. The programs are the solutions and
mutants of tests/rewards/code/problems.py in the forms of four sets, with some that take time, sleep or loop.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

from rewardkit.rewards.code.reward import CodeOptions, score
from rewardkit.types import Sample, Score
from tests.rewards.code.problems import PROBLEMS, forms, function, mutants

_BURN = "import time\nend = time.process_time() + {s}\nwhile time.process_time() < end: pass\nprint(input())"
_ECHO = {"inputs": [str(n) for n in range(5)], "outputs": [str(n) for n in range(5)]}


def pairs(count: int) -> list[tuple[str, Any]]:
    """Programs and ground truths."""
    found: list[tuple[str, Any]] = [
        (_BURN.format(s=0.5), _ECHO),
        (_BURN.format(s=0.1), {name: values * 10 for name, values in _ECHO.items()}),
        ("while True: pass", _ECHO),
        ("import time\ntime.sleep(1000)", _ECHO),
        ("import time\ntime.sleep(0.3)\nprint(input())", _ECHO),
        ("x = bytearray(3 << 30)", _ECHO),
    ]
    for problem in PROBLEMS:
        for truth, write in forms(problem).values():
            found += [(write(source), truth) for source in (function(problem), *mutants(problem, 1))]
    return found[:count]


def scored(chosen: list[tuple[str, Any]]) -> list[Score]:
    """Score them all, one after the other."""
    options = CodeOptions(cpu_s=2.0)
    samples = [Sample("code", f"```python\n{program}\n```", json.dumps(truth)) for program, truth in chosen]
    return [score(sample, options) for sample in samples]


def main() -> None:
    """Print what differs, and how long both took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--load", type=int, default=8)
    arguments = parser.parse_args()
    chosen = pairs(arguments.pairs)
    before, start = os.getloadavg()[0], time.monotonic()
    alone = scored(chosen)
    middle = time.monotonic()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(arguments.load)]
    try:
        beside = scored(chosen)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    differ = [
        (position, one, other)
        for position, (one, other) in enumerate(zip(alone, beside, strict=True))
        if (one.score, one.status) != (other.score, other.status)
    ]
    for position, one, other in differ:
        print(position, one.status, one.score, one.detail, "|", other.status, other.score, other.detail)
    statuses = {name: sum(s.status == name for s in beside) for name in {s.status for s in beside}}
    right = sum(s.score == 1.0 for s in alone)
    print(f"{len(chosen)} pairs, {right} right; statuses beside the load: {statuses}")
    print(f"load average {before:.1f} at the start: {middle - start:.0f} s")
    print(f"{arguments.load} busy processes beside: {time.monotonic() - middle:.0f} s")
    print(f"scores or statuses that differ: {len(differ)}")


if __name__ == "__main__":
    main()
