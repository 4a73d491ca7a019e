"""Trainings that draw ahead, in forked processes that are killed in turn; `test_feed.py` looks at the results.

python -m tests.trainer.async_crashes FOLDER      (FOLDER holds words.json, settings by name; servers are there)
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rewardkit.trainer.logging.metrics import Clock
from rewardkit.trainer.rollout import publish
from tests.trainer.checkpoint.crash_runs import after_writing_the_actor, die, in_second
from tests.trainer.forking import fork_ranks

Arms = Mapping[int, Callable[[], None]]


def in_the_middle_of_weights() -> None:
    """Die when the servers have stopped for the second weights after the start, and have none of them yet."""
    rounds: list[int] = []
    original = publish.buckets

    def buckets(*given: Any) -> Any:
        rounds.append(1)
        if len(rounds) == 3:
            die()
        return original(*given)

    publish.buckets = buckets


def some_time_after(phase: int, seconds: float) -> Callable[[], None]:
    """Die this long after the n-th phase has begun."""
    original, begun = Clock.__call__, [0]

    def call(self: Clock, name: str) -> Any:
        begun[0] += 1
        if begun[0] == phase:
            threading.Timer(seconds, die).start()
        return original(self, name)

    return lambda: setattr(Clock, "__call__", call)


def kills(dice: random.Random) -> dict[str, Arms]:
    """Ten kills, by a name that begins with the run's; each goes on from the last checkpoint of the one before."""

    def moment() -> Callable[[], None]:
        return some_time_after(dice.randrange(3, 13), 0.2 * dice.random())

    def rank() -> int:
        return dice.randrange(2)

    whole = {run: moment() for run in ("strict", "ready")}
    found: dict[str, Arms] = {
        "strict, generation": {rank(): in_second("gen")},
        "ready, update": {rank(): in_second("update_actor")},
    }
    for run in ("strict", "ready"):
        found[f"{run}, weight sync"] = {0: in_the_middle_of_weights}
        found[f"{run}, checkpoint"] = {rank(): after_writing_the_actor}
        found[f"{run}, a rank"] = {rank(): moment()}
        found[f"{run}, the trainer"] = {0: whole[run], 1: whole[run]}
    names = list(found)
    dice.shuffle(names)
    return {name: found[name] for name in names}


def main(folder: Path) -> None:
    """Make all runs and write their exit codes to `codes.json`."""
    words = json.loads((folder / "words.json").read_text())
    seed = words.pop("seed")
    codes = {"whole": fork_ranks(words["whole"], 2)}
    for name, arms in kills(random.Random(seed)).items():
        codes[name] = fork_ranks(words[name.partition(",")[0]], 2, arms)
    codes |= {name: fork_ranks(given, 2) for name, given in words.items() if name != "whole"}
    (folder / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
