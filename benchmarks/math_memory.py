"""Memory and processes of SymPy under a Scorer whose workers all ask it at once.

    python benchmarks/math_memory.py --workers 2 4

Proportional set size: what processes share is counted once, divided among them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import math_common  # noqa: F401  (finds the project)

from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

_SERIES = "\\boxed{\\sum_{k=0}^{\\infty}\\frac{1}{%d^k}}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    for workers in parser.parse_args().workers:
        with Scorer(workers=workers) as scorer:
            scorer.score_batch([Sample("math", _SERIES % (2 + k % 9), "2") for k in range(40 * workers)])
            found = [_pss_kb(process) for process in _sympy()]
        print(f"{workers} workers: {len(found)} processes of SymPy, {sum(found) / 1024:.0f} MB")


def _sympy() -> list[int]:
    """The server and its forks."""
    commands = {int(p.name): p / "cmdline" for p in Path("/proc").glob("[0-9]*")}
    return [process for process, path in commands.items() if b"forkserver:main" in _read(path)]


def _pss_kb(process: int) -> int:
    for line in _read(Path(f"/proc/{process}/smaps_rollup")).splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1])
    return 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    main()
