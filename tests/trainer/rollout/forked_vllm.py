"""vLLM's servers in processes that are forked with vLLM in them: importing it twice takes most of a server's start.

python -m tests.trainer.rollout.forked_vllm WORDS...      (of vLLM's server)
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rewardkit.processes import die_with_parent
from rewardkit.trainer.rollout.serving import ServerProcess
from tests.trainer.running import Program


class ForkedServer(Program):
    """What a `ServerProcess` asks of the `Popen` of its server."""

    stdin = stdout = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, or raise as `Popen` does."""
        if not self._ended_within(timeout):
            raise subprocess.TimeoutExpired("a vLLM server", timeout or 0.0)
        assert self._code is not None
        return self._code

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start_forked(url: str, words: Sequence[str], environment: Mapping[str, str]) -> ServerProcess:
    """Do what `serving.start_program` does with `-m`, the module of vLLM's server, and its words."""
    process: Any = ForkedServer("tests.trainer.rollout.forked_vllm", *words[2:], environment=environment)
    return ServerProcess(url, process, process.err)


def main() -> None:
    """Be vLLM's server, which forks its engine as it does on a GPU, and have all in one group.

    The engine ends with the server, which is killed when whoever started it ends.
    """
    os.setsid()
    os.register_at_fork(after_in_child=partial(die_with_parent, os.getpid()))
    forking: Any = multiprocessing.get_context("fork")
    multiprocessing.get_context = lambda method=None: forking  # type: ignore[method-assign,assignment]
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
