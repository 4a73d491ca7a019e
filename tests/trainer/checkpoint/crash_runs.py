"""Small trainings in forked processes, some of them killed and started again; `test_kill.py` looks at the results.

    python -m tests.trainer.checkpoint.crash_runs FOLDER      (FOLDER holds model/ and train.parquet)

Nothing in the product knows of this: a process is killed by a method that is replaced in it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.trainer.checkpoint import find, save
from rewardkit.trainer.logging.metrics import Clock
from tests.trainer.forking import fork_ranks

REWARD = Path(__file__).resolve().parents[3] / "benchmarks" / "digits.py"
STEPS = 5
"""Of three to an epoch."""


@dataclass(frozen=True)
class Kill:
    """Which process dies, and what to replace in it for that."""

    rank: int
    arm: Callable[[], None]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_second(phase: str) -> Callable[[], None]:
    """Die when a phase of the second step begins."""
    begun = {"step": 0}
    original = Clock.__call__

    def call(self: Clock, name: str) -> Any:
        begun["step"] += name == "step"
        if name == phase and begun["step"] == 2:
            die()
        return original(self, name)

    return lambda: setattr(Clock, "__call__", call)


def after_writing_the_actor() -> None:
    """Die when the checkpoint holds the actor but not yet the critic."""
    original = save.state_dict_saver.save

    def save_and_die(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        die()

    save.state_dict_saver.save = save_and_die  # type: ignore[attr-defined,assignment]


def before_the_tracker() -> None:
    """Die when the checkpoint has its name but is not yet the latest."""
    original = find.write_whole

    def write_whole(path: Path, text: str) -> None:
        if path.name == find.TRACKER and text == "4":
            die()
        original(path, text)

    find.write_whole = write_whole


def run(folder: Path, name: str, *more: str, size: int = 2, kill: Kill | None = None) -> list[int]:
    """Run to the end or until a process dies; return exit codes in order of rank, minus the signal if killed."""
    overrides = [
        f"data.train_files={folder}/train.parquet",
        "data.train_batch_size=8",
        "data.max_response_length=6",
        f"custom_reward_function.path={REWARD}",
        "custom_reward_function.name=digits",
        f"actor_rollout_ref.model.path={folder}/model",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        f"actor_rollout_ref.actor.ulysses_sequence_parallel_size={size}",  # the critic shares no rows
        "actor_rollout_ref.rollout.n=2",
        "algorithm.kl_ctrl.type=adaptive",
        f"trainer.total_training_steps={STEPS}",
        "trainer.save_freq=1",
        "trainer.critic_warmup=1",  # so that at the first checkpoint the actor's optimizer has no state
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.logger=[jsonl]",
        f"trainer.n_gpus_per_node={size}",
        f"trainer.default_local_dir={folder}/{name}",
        *more,
    ]
    found = fork_ranks(overrides, size, {} if kill is None else {kill.rank: kill.arm})
    if kill is None and any(found):
        raise SystemExit(f"the run '{name}' was not killed and ended with {found}")
    return found


def main(folder: Path) -> None:
    """Make all runs and write their exit codes to `codes.json`."""
    in_background = "actor_rollout_ref.actor.checkpoint.async_save=true"
    codes = {"whole": run(folder, "whole", "trainer.save_freq=-1")}
    # Each goes on from the last checkpoint of the one before.
    for name, kill, more in (
        ("rollout", Kill(1, in_second("gen")), []),  # step 2
        ("reward", Kill(1, in_second("reward")), [in_background]),  # step 3
        ("update", Kill(0, in_second("update_actor")), []),  # step 4, the first of the second epoch
        ("save", Kill(1, after_writing_the_actor), []),  # of step 4
        ("tracker", Kill(0, before_the_tracker), [in_background]),  # of step 4
        ("end", None, [in_background]),
    ):
        codes[name] = run(folder, "killed", *more, kill=kill)
    start = f"trainer.resume_from_path={folder}/killed/global_step_4"
    codes["fewer"] = run(folder, "fewer", "trainer.resume_mode=resume_path", start, size=1)
    (folder / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
