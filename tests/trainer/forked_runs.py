"""Small trainings in forked processes, from a program that the server forks.

python -m tests.trainer.forked_runs RUNS      (a JSON file: name -> how many processes, overrides of `tiny-cpu`)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.trainer.forking import fork_ranks
from tests.trainer.running import run_module


def run_all(runs: Mapping[str, tuple[Any, ...]], folder: Path) -> str:
    """Make the runs one after another, each of which must end well; return what they said.

    A run is a number of processes, overrides, and the name of the stage if it is not `ppo`.
    """
    path = folder / "runs.json"
    path.write_text(json.dumps(runs))
    return run_module("tests.trainer.forked_runs", path, timeout=800)


def main(path: Path) -> int:
    """Make all runs; the exit code is 1 when any process of one failed."""
    runs = json.loads(path.read_text())
    codes = {
        name: fork_ranks(overrides, size, None, *stage) for name, (size, overrides, *stage) in runs.items()
    }
    print(codes, file=sys.stderr)
    return int(any(any(found) for found in codes.values()))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
