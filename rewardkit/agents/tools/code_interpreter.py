"""Tool `code_interpreter`, which runs Python code in the sandbox and keeps the state like a notebook.

`cells.py` describes how the state is kept. A cell always gives an observation, even if the cell raises an
exception, loops forever or prints without end. The tool fails only if the sandbox fails or the machine runs
out of memory.
"""

from __future__ import annotations

import atexit
import functools

from rewardkit.agents.tools.arguments import BadCall
from rewardkit.agents.tools.cells import FINISHED, program
from rewardkit.agents.tools.declare import tool
from rewardkit.agents.tools.results import called
from rewardkit.agents.types import Observation
from rewardkit.errors import ConfigError
from rewardkit.fences import without_fence
from rewardkit.sandbox import Job, Limits, Outcome, Pool
from rewardkit.sandbox.fusion_client import FusionClient

_MAX_CODE_CHARS = 100_000
_MAX_OUTPUT_CHARS = 20_000
_UNDONE = "; what this code has done is undone"
_REPLAY_FACTOR = 2.0
"""Maximum CPU time of replayed cells, as a multiple of the CPU time that the same cells took earlier."""


@functools.cache
def shared_pool() -> Pool:
    """Return the sandbox pool of this process, with one sandbox per core. The first call creates it.

    Raises:
        SandboxUnavailable: This machine supports no level of isolation.
    """
    pool = Pool()
    atexit.register(pool.close)
    return pool


@tool(name="code_interpreter")
class CodeInterpreter:
    """Python interpreter in the sandbox.

    The constructor receives the tool's `config` as arguments.

    Args:
        cpu_s: CPU time limit for one call in seconds.
        memory_mb: Memory limit for one call in MB.
        calls: Maximum number of calls in one episode.
        episode_cpu_s: CPU time limit in seconds for rebuilding the episode's state.
        url: Address of a service that implements SandboxFusion's `/run_code`, for machines without isolation.
        language: Programming language. Only `python` is supported.
    """

    def __init__(
        self,
        cpu_s: float = 5.0,
        memory_mb: int = 512,
        calls: int = 32,
        episode_cpu_s: float = 20.0,
        url: str | None = None,
        language: str = "python",
    ) -> None:
        if language != "python":
            raise ConfigError(f"code_interpreter runs only python, but its config sets language '{language}'")
        if cpu_s <= 0 or memory_mb <= 0:
            raise ConfigError(
                f"code_interpreter: cpu_s and memory_mb must be above 0; found {cpu_s} and {memory_mb}"
            )
        self._cpu_s = float(cpu_s)
        self._memory_mb = int(memory_mb)
        self._calls_left = calls
        self._episode_cpu_s = episode_cpu_s
        self._remote = FusionClient(url) if url else None
        self._pool = None if url else shared_pool()
        self._cells: list[str] = []
        self._replay_s = 0.0

    async def execute(self, code: str) -> Observation:
        """Run Python code and return what it prints, and the value of its last line. Variables, functions
        and imports of earlier calls are there.

        Args:
            code: The Python code.
        """
        self._refuse(code)
        self._calls_left -= 1
        spare_s = _REPLAY_FACTOR * self._replay_s
        limits = Limits(
            cpu_s=self._cpu_s + spare_s,
            wall_s=60.0 + 20.0 * (self._cpu_s + spare_s),
            idle_s=2.0 * self._cpu_s,
            memory_mb=self._memory_mb,
            output_bytes=1 << 20,
        )
        cell = without_fence(code.strip("\n"))
        outcome = await self._run(program(self._cells, cell), limits)
        if outcome.exit_code == FINISHED:
            self._cells.append(cell)
            self._replay_s = outcome.cpu_s
        return Observation(_shown(outcome, self._cpu_s, self._memory_mb), metrics={"cpu_s": outcome.cpu_s})

    def _refuse(self, code: str) -> None:
        if self._calls_left <= 0:
            raise BadCall("no calls are left in this conversation")
        if len(code) > _MAX_CODE_CHARS:
            raise BadCall(f"the code is longer than {_MAX_CODE_CHARS} characters")
        if self._replay_s > self._episode_cpu_s:
            raise BadCall(f"this conversation has used its {self._episode_cpu_s:g} s of CPU time")

    async def _run(self, source: str, limits: Limits) -> Outcome:
        if self._remote is not None:
            outcome: Outcome = await called(self._remote.run, source, b"", limits)
        else:
            assert self._pool is not None
            outcome = await self._pool.arun(Job(source.encode(), limits=limits), caller=id(self))
        if outcome.status in ("sandbox_error", "cancelled", "wall_timeout"):
            raise RuntimeError(f"the sandbox failed: {outcome.detail or outcome.status}")
        return outcome


def _shown(outcome: Outcome, cpu_s: float, memory_mb: int) -> str:
    said = outcome.stdout.decode("utf-8", "replace")
    if complaint := outcome.stderr.decode("utf-8", "replace"):
        said = f"{said}\n{complaint}" if said and not said.endswith("\n") else said + complaint
    if len(said) > _MAX_OUTPUT_CHARS:
        half = _MAX_OUTPUT_CHARS // 2
        said = f"{said[:half]}\n... ({len(said) - 2 * half} characters left out)\n{said[-half:]}"
    ends = {
        "cpu_timeout": f"Error: it took more than {cpu_s:g} s of CPU time{_UNDONE}",
        "idle_timeout": f"Error: it waited for more than {2 * cpu_s:g} s{_UNDONE}",
        "memory_limit": f"Error: it took more than {memory_mb} MB of memory{_UNDONE}",
        "output_limit": f"Error: it printed more than 1 MB{_UNDONE}",
        "process_limit": f"Error: it started a process{_UNDONE}",
    }
    if outcome.status in ends:
        said = f"{said}\n{ends[outcome.status]}"
    elif outcome.exit_code != FINISHED:
        said = f"{said}\nError: the interpreter ended with status {outcome.exit_code}{_UNDONE}"
    return said.strip("\n") or "(no output)"
