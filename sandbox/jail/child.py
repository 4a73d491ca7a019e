"""The jailed child, from the fork to its end: takes its descriptors, locks itself in, runs the program.

`prepare` does in the server everything that need not be done in each child. Setting up must not import
or allocate much: every page that is touched here is copied, for every run.
"""

from __future__ import annotations

import _sitebuiltins
import atexit
import builtins
import gc
import io
import os
import resource
import signal
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, field

from . import calls, checks, kernel, prelude
from .protocol import CALL, CHECK, SCRIPT, SERVE

_FIXED_LIMITS = {
    resource.RLIMIT_NOFILE: 128,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_MEMLOCK: 0,
    resource.RLIMIT_MSGQUEUE: 0,
    resource.RLIMIT_STACK: 64 << 20,
}
"""Set once, in the server, and inherited."""

_MAIN = "main.py"
"""The file name of the program in tracebacks."""


@dataclass
class Job:
    """One run as the server was told of it."""

    mode: int
    prelude: bool
    fds: list[int]
    processes: int
    threads: int
    cpu_s: float
    memory: int
    output: int


@dataclass
class Jail:
    """What a child has to enter."""

    isolated: bool
    uid: int | None
    """Its own uid; None: the server's."""
    base_memory: int
    counted_apart: bool
    """The kernel counts this server's processes apart from all others of its user."""
    ruleset: int = -1
    filters: list[kernel.Filter] = field(default_factory=list)
    entered: int = field(default_factory=lambda: os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK))
    """Counts the children that got as far as their program."""

    def was_entered(self) -> bool:
        """Whether the last child got as far as its program; it cannot take that back or forge it."""
        try:
            return os.eventfd_read(self.entered) > 0
        except BlockingIOError:
            return False


_hard: dict[int, int] = {}
"""The hard limits that the server started with."""

_streams: list[io.TextIOWrapper] = []
"""The standard output that a child starts with, to be flushed even if the program has put another there."""


def prepare() -> None:
    """Make the standard streams of the children, so that they need not."""
    # Closed by nobody: a child ends with _exit.
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True
    )
    _streams.append(sys.stdout)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    sys.argv = [_MAIN]
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; a flood of output is to end at once
    for name in ("exit", "quit"):  # what `site` would have added
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D"))
    prelude.prepare()
    changing = (
        resource.RLIMIT_CPU,
        resource.RLIMIT_AS,
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_NPROC,
        resource.RLIMIT_DATA,
    )
    for what in (*_FIXED_LIMITS, *changing):
        _hard[what] = resource.getrlimit(what)[1]
    for what, limit in _FIXED_LIMITS.items():
        _limit(what, limit)
    _limit(resource.RLIMIT_DATA, 1 << 50)  # finite is enough: the address space is what is limited


def main(jail: Jail, job: Job) -> None:
    """Run one program and exit. Never returns."""
    code = 125
    try:
        program = _take_descriptors(job)
        _enter(jail, job)
        code = _run(job, program)
    except BaseException as error:
        os.write(2, f"sandbox: {type(error).__name__}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(code)


def _take_descriptors(job: Job) -> int:
    """Put the run's descriptors on 0, 1, 2 and up; return the program's."""
    program, *streams = job.fds
    for wanted, fd in enumerate(streams):
        os.dup2(fd, wanted, inheritable=True)
    return program


def _enter(jail: Jail, job: Job) -> None:
    _set_limits(jail, job)
    if not jail.isolated:
        os.eventfd_write(jail.entered, 1)
        return
    if jail.uid is not None:
        os.setgroups([])
        os.setresgid(jail.uid, jail.uid, jail.uid)
        os.setresuid(jail.uid, jail.uid, jail.uid)  # which drops the capabilities of root
    else:
        kernel.drop_capabilities()
    kernel.no_new_privileges()
    kernel.restrict_self(jail.ruleset)
    jail.filters[job.processes > 0].install()
    os.eventfd_write(jail.entered, 1)


def _set_limits(jail: Jail, job: Job) -> None:
    # The server's clock is finer than that of the kernel; this one cannot be late.
    _limit(resource.RLIMIT_CPU, int(job.cpu_s) + 2)
    _limit(resource.RLIMIT_AS, jail.base_memory + job.memory)
    _limit(resource.RLIMIT_FSIZE, job.output + 1)
    apart = job.processes + job.threads + 2
    _limit(resource.RLIMIT_NPROC, apart if jail.counted_apart or jail.uid is not None else 30_000)


def _limit(what: int, limit: int) -> None:
    hard = _hard[what]
    if 0 <= hard < limit:
        limit = hard
    resource.setrlimit(what, (limit, limit))


def _run(job: Job, program: int) -> int:
    """Execute the program; return the exit status."""
    source = os.pread(program, os.fstat(program).st_size, 0)
    os.closerange({SCRIPT: 3, SERVE: 4}.get(job.mode, 5), 256)
    gc.enable()
    module = types.ModuleType("__main__" if job.mode == SCRIPT else "solution")
    sys.modules[module.__name__] = module
    module.__dict__.update(__file__=_MAIN, __builtins__=builtins)
    if job.prelude:
        prelude.give(module)
    play = {SCRIPT: _script, CALL: calls.call, SERVE: calls.serve, CHECK: checks.check}[job.mode]
    return _finish(lambda: play(source, module))


def _script(source: bytes, module: types.ModuleType) -> None:
    exec(compile(source, _MAIN, "exec", dont_inherit=True), module.__dict__)


def _finish(play: Callable[[], object]) -> int:
    """Do as the interpreter does: report what was raised, join threads, run atexit hooks, flush."""
    code = _attempt(play)
    endings = (threading._shutdown, atexit._run_exitfuncs, lambda: sys.stdout.flush(), _streams[0].flush)  # type: ignore[attr-defined]
    for ending in endings:
        late = _attempt(ending)
        code = code or late
    return code


def _attempt(play: Callable[[], object]) -> int:
    try:
        play()
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        sys.stderr.write(f"{stop.code}\n")
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("jail."):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    return 0
