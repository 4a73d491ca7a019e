"""`rewardkit train` of several processes, of which torchrun's agent forks those that it would start as programs.

python -m tests.trainer.forked_launch WORDS...              (of `rewardkit.trainer.run.main`)
python -m tests.trainer.forked_launch --agent WORDS...      (of `torchrun`)

The rank that the environment names as the REAL_RANK is started as the program that it is.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import SubprocessHandler
from torch.distributed.elastic.rendezvous import dynamic_rendezvous
from torch.distributed.run import main as torchrun

from rewardkit.trainer.run.main import main

AGENT = "--agent"
REAL_RANK = "REWARDKIT_TESTS_REAL_RANK"
HANDLED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""What the agent handles, in its own way."""


class ForkedRank:
    """What the agent asks of the `Popen` of a process."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        words = command[command.index("-m") + 1 :]
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_be_rank, args=(words, environment))
        self._process.start()
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a process of the run", timeout or 0.0)
        return self._process.exitcode


def _be_rank(words: Sequence[str], environment: Mapping[str, str]) -> None:
    os.setsid()
    for handled in HANDLED:
        signal.signal(handled, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(environment)
    sys.argv = ["-m", *words[1:]]
    sys.modules.pop(words[0], None)  # it is to be __main__
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


_start_program = SubprocessHandler._popen


def _start(self: SubprocessHandler, args: tuple[str, ...], env: dict[str, str]) -> Any:
    if env["RANK"] == os.environ.get(REAL_RANK):
        return _start_program(self, args, env)
    return ForkedRank(args, env)


if __name__ == "__main__":
    SubprocessHandler._popen = _start  # type: ignore[method-assign]
    # For its log, torch looks for the caller's name in all modules. There are thousands in a fork, which takes so
    # long that on a busy machine two agents overwrite each other's state for ever.
    dynamic_rendezvous.get_method_name = lambda depth=2: "unnamed"
    if sys.argv[1] == AGENT:
        torchrun(sys.argv[2:])
    else:
        main()
