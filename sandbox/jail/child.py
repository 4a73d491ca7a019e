"""Runs a jailed child, which moves its descriptors, confines itself and then runs the program.

`prepare` does work in the template that each child would otherwise have to repeat. The child's own setup must
import and allocate little, because every page that it touches is copied for every run.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import io
import os
import resource
import signal
import sys
import types
from dataclasses import dataclass, field
from functools import cache

from . import calls, checks, execute, interpreter, kernel, limits, prelude, seccomp
from .protocol import BUILD, CALL, CHECK, EXEC, SCRIPT, SERVE

_FIXED_LIMITS = {
    resource.RLIMIT_NOFILE: limits.FILES,
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_MEMLOCK: 0,
    resource.RLIMIT_MSGQUEUE: 0,
}
"""Limits that are set once in the template and inherited by its children."""

_MAIN = "main.py"
"""File name of the program in tracebacks."""


@dataclass
class JailJob:
    """Description of one run, as sent to the server."""

    mode: int
    prelude: bool
    profile: limits.ProcessLimits
    role: int
    """`protocol.ALONE`, `PROGRAM` or `TESTS`."""
    fds: list[int]
    idle: int
    """File descriptor through which servers share the tests' idle time, or -1 if unused."""
    processes: int
    threads: int
    cpu_s: float
    idle_s: float
    """Limit on idle time in seconds. 0 means no limit."""
    used_s: float
    """CPU time of the program's earlier runs, in seconds, less its allowance."""
    memory: int
    output: int

    @property
    def collects(self) -> bool:
        """Return True if the run's files are to be sent back. The job then has a sixth descriptor."""
        return self.mode in (SCRIPT, EXEC, BUILD) and len(self.fds) > 5


@dataclass
class Jail:
    """Settings for the jail that a child enters."""

    isolated: bool
    uid: int | None
    """User id of the runs. None means the server's user id."""
    counted_apart: bool
    """True if the kernel counts the processes of this server separately from others of the same user."""
    server: int = field(default_factory=os.getpid)
    """Process id of the server, which is the parent of every run. Runs are killed when the server exits."""
    before: limits.MemoryUse = field(default_factory=limits.MemoryUse.now)
    """Memory of the server, which every child starts with."""
    ruleset: int = -1
    filters: dict[seccomp.Profile, kernel.Filter] = field(default_factory=dict)
    entered: int = field(default_factory=lambda: os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK))
    """Counter that a child increments when it reaches its program, and again if the program cannot start."""

    def was_entered(self) -> bool:
        """Return True if the last child reached its program. Programs cannot change this result."""
        try:
            return os.eventfd_read(self.entered) == 1
        except BlockingIOError:
            return False


_hard: dict[int, int] = {}
"""Hard limits in effect when the server started, by resource."""


@cache
def filter_of(profile: seccomp.Profile) -> kernel.Filter:
    """Return the seccomp filter of a profile.

    Raises:
        OSError: There is no filter for this machine's architecture.
    """
    return kernel.Filter(seccomp.build(profile))


def prepare() -> None:
    """Prepare the streams, limits and builtin names that every child inherits."""
    # The streams are never closed, because a child ends with _exit.
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True
    )
    interpreter.prepare()
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    sys.argv = [_MAIN]
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores SIGXFSZ, which must end the run
    for name in ("exit", "quit"):  # these names usually come from the module `site`
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
    python = limits.PROFILES[limits.PYTHON]
    _set_stack(python.main_stack(0))
    kernel.set_thread_stack(python.thread_stack_mb << 20)
    for what, limit in _FIXED_LIMITS.items():
        _limit(what, limit)


def main(jail: Jail, job: JailJob) -> None:
    """Run one program, and exit the process without returning."""
    code = 125
    try:
        program = _take_descriptors(job)
        if job.mode in (EXEC, BUILD):
            code = _execute(jail, job, program)
        else:
            if job.mode == SCRIPT and len(job.fds) > 4:
                execute.place_files(execute.read_plan(), program)
            _enter(jail, job, seccomp.FORKING if job.processes else seccomp.PYTHON)
            code = _run(job, program)
    except BaseException as error:
        os.write(2, f"sandbox: {type(error).__name__}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(code)


def collect(jail: Jail, job: JailJob) -> None:
    """Send back the requested files from a run's working directory, and exit without returning."""
    try:
        _take_descriptors(job)
        plan = execute.read_plan()
        _enter(jail, job, seccomp.PYTHON)
        os.closerange(execute.RESULTS + 1, limits.FILES)
        execute.collect(plan, execute.RESULTS, job.output)
        os._exit(0)
    finally:
        os._exit(1)


def _execute(jail: Jail, job: JailJob, program: int) -> int:
    plan = execute.read_plan()
    execute.place_files(plan, program)
    _set_stack(job.profile.main_stack(job.memory))
    _enter(jail, job, job.profile.calls)
    return execute.run(plan, program, jail.entered, own_group=job.profile.calls is seccomp.SHELL)


def _set_stack(size: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    within_hard = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (within_hard, hard))


def _take_descriptors(job: JailJob) -> int:
    """Move the run's descriptors to 0, 1, 2 and so on, and return the descriptor of the program."""
    program, *streams = job.fds
    for wanted, fd in enumerate(streams):
        os.dup2(fd, wanted, inheritable=True)
    return program


def _enter(jail: Jail, job: JailJob, profile: seccomp.Profile) -> None:
    _set_limits(jail, job)
    if jail.isolated:
        _drop_rights(jail.uid)
    kernel.die_with_parent()  # a later change of the uid would undo this
    if os.getppid() != jail.server:
        os._exit(1)  # the server has already exited
    if jail.isolated:
        kernel.no_new_privileges()
        kernel.restrict_self(jail.ruleset)
        jail.filters[profile].install()
    os.eventfd_write(jail.entered, 1)


def _drop_rights(uid: int | None) -> None:
    if uid is None:
        kernel.drop_capabilities()
        return
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)  # leaving root also drops its capabilities


def _set_limits(jail: Jail, job: JailJob) -> None:
    # This limit is a fallback, because the server enforces the exact limit but may be late.
    _limit(resource.RLIMIT_CPU, int(job.cpu_s) + 2)
    for what, limit in job.profile.rlimits(job.memory, job.threads, jail.before):
        _limit(what, limit)
    interpreter.cap_thread_stacks(job.memory)
    _limit(resource.RLIMIT_FSIZE, job.output + 1)
    apart = job.processes + job.threads + job.profile.threads + 2
    _limit(resource.RLIMIT_NPROC, apart if jail.counted_apart or jail.uid is not None else 30_000)


def _limit(what: int, limit: int) -> None:
    hard = _hard[what]
    if 0 <= hard < limit:
        limit = hard
    resource.setrlimit(what, (limit, limit))


def _run(job: JailJob, program: int) -> int:
    """Execute the program and return the exit status."""
    source = os.pread(program, os.fstat(program).st_size, 0)
    os.closerange({SCRIPT: 3, SERVE: 4}.get(job.mode, 5), limits.FILES)
    module = types.ModuleType("__main__" if job.mode == SCRIPT else "solution")
    sys.modules[module.__name__] = module
    module.__dict__.update(__file__=_MAIN, __builtins__=builtins, __loader__=interpreter.Loader(source))
    if job.prelude:
        prelude.give(module)
    play = {SCRIPT: _script, CALL: calls.call, SERVE: calls.serve, CHECK: checks.check}[job.mode]
    return interpreter.finish(lambda: play(source, module), source, module)


def _script(source: bytes, module: types.ModuleType) -> None:
    exec(compile(source, _MAIN, "exec", dont_inherit=True), module.__dict__)
