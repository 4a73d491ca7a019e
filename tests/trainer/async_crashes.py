"""A training that draws ahead, in forked processes that are killed in turn; `test_feed.py` looks at the results.

python -m tests.trainer.async_crashes FOLDER      (FOLDER holds words.json, the settings; servers are there)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rewardkit.trainer.rollout import transfer
from tests.trainer.checkpoint.crash_runs import Kill, after_writing_the_actor, die, in_second
from tests.trainer.forking import fork_ranks


def in_the_middle_of_weights() -> None:
    """Die when the servers have stopped for the second weights after the start, and have none of them yet."""
    rounds: list[str] = []
    original = transfer.ServerChannel.start_weight_update

    def start(self: transfer.ServerChannel) -> None:
        original(self)
        rounds.append(self.version)
        if len(set(rounds)) == 3:
            die()

    transfer.ServerChannel.start_weight_update = start  # type: ignore[method-assign]


PHASES = {
    "generation": Kill(1, in_second("gen")),
    "weight sync": Kill(0, in_the_middle_of_weights),
    "update": Kill(1, in_second("update_actor")),
    "checkpoint": Kill(1, after_writing_the_actor),
}
"""Each goes on from the last checkpoint of the one before."""


def main(folder: Path) -> None:
    """Make all runs and write their exit codes to `codes.json`."""
    words = json.loads((folder / "words.json").read_text())
    codes = {phase: fork_ranks(words, 2, {kill.rank: kill.arm}) for phase, kill in PHASES.items()}
    codes["end"] = fork_ranks(words, 2, {})
    (folder / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
