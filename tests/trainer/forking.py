"""Trainings in forked processes: importing torch, transformers and vLLM anew for each would take most of the time.

To be called in a process that has imported all of it, and has no thread of its own.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence

from rewardkit.trainer.config.load import load_settings
from rewardkit.trainer.config.stages import schema_named
from rewardkit.trainer.run.launch import die_with_launcher
from rewardkit.trainer.run.process import train_here
from tests.ports import own_port


def fork_ranks(
    overrides: Sequence[str],
    size: int,
    arm: Mapping[int, Callable[[], None]] | None = None,
    stage: str = "ppo",
) -> list[int]:
    """Train in `size` processes; when one fails, the others are killed.

    Args:
        overrides: of the stage's recipe `tiny-cpu`.
        size: how many processes.
        arm: what to call in a process before it trains, by its rank.

    Returns:
        The exit codes in order of rank, minus the signal for what was killed.
    """
    environment = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(own_port())}
    ranks = [_start(rank, environment, overrides, (arm or {}).get(rank), stage) for rank in range(size)]
    codes: dict[int, int] = {}
    while len(codes) < size:
        pid, status = os.waitpid(-1, 0)
        codes[pid] = os.waitstatus_to_exitcode(status)
        if codes[pid]:  # what torchrun's agent does
            for other in set(ranks) - set(codes):
                os.kill(other, signal.SIGKILL)
    return [codes[pid] for pid in ranks]


def _start(
    rank: int,
    environment: Mapping[str, str],
    overrides: Sequence[str],
    arm: Callable[[], None] | None,
    stage: str,
) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.environ.update(environment, RANK=str(rank), LOCAL_RANK=str(rank))
        die_with_launcher()
        if arm is not None:
            arm()
        train_here(load_settings(schema_named(stage), "tiny-cpu", overrides), stage)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
