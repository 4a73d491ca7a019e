"""The fork server, which forks a child for each run, enforces limits and reports how the run ended.

The server handles one run at a time, in one thread. The server never has a run's data in memory, because
programs and inputs arrive as descriptors that only the child reads. When the driver closes the socket or
dies, the server exits with all its children.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import importlib
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import child, kernel, limits, namespaces, scratch, seccomp, usage
from .protocol import (
    ALONE,
    BUILD,
    CANCEL,
    CANCELLED,
    CPU,
    ENDED,
    HELLO,
    IDLE,
    JOB,
    MAX_PACKET,
    MEMORY,
    NOT_STARTED,
    OUTPUT,
    REPORT,
    WALL,
)
from .sharing import SharedRun
from .turns import Turn

_RESERVED = 6
"""Descriptors below this number are reserved for runs."""

_COLLECT_S = 20.0
"""Elapsed time allowed for sending back a run's files, in seconds."""

_OWN_UID_BASE = 0x7000_0000

_PROFILES = tuple(limits.PROFILES.values())


@dataclass(frozen=True)
class Setup:
    """Settings of the server, as given by the driver."""

    level: str
    socket: int
    table: int
    """Descriptor of the table of turns (`turns.py`)."""
    driver: int
    """Process id of the driver."""
    readable: tuple[str, ...]
    """Absolute paths that runs may read."""
    path: tuple[str, ...]
    """`sys.path` of the runs."""
    preload: tuple[str, ...]
    box_mb: int
    """Size of the working directory of a run, in MiB."""
    tools: bool
    """True if the runs execute the programs of a toolchain."""
    scratch: str
    """Folder to use as the working directory of the runs, at levels without a file system of their own."""


def start(given: Mapping[str, Any]) -> None:
    """Start the server with the fields of a Setup, and do not return. The template calls this in a fork."""
    lists = {name: tuple(given[name]) for name in ("readable", "path", "preload")}
    main(Setup(**{**given, **lists}))


def main(setup: Setup) -> None:
    """Serve runs until the driver exits, and then exit the process."""
    moved, table = _above_reserved(setup.socket, setup.table)
    control = socket.socket(fileno=moved)
    try:
        server = _JailServer(replace(setup, table=table), control)
    except BaseException as error:
        with contextlib.suppress(OSError):
            control.send(f"{type(error).__name__}: {error}".encode()[:4000])
        os._exit(1)
    try:
        server.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        if setup.scratch:
            scratch.empty(setup.scratch)
            os.rmdir(setup.scratch)
        os._exit(0)


def _above_reserved(*fds: int) -> list[int]:
    """Move descriptors above the reserved descriptors and return their new numbers.

    The reserved descriptors are redirected to the null device.
    """
    all_moved = []
    for fd in fds:
        moved = fd
        while moved < _RESERVED or moved == fd:
            moved = os.dup(fd)
        all_moved.append(moved)
    for fd in fds:
        os.close(fd)
    null = os.open(os.devnull, os.O_RDWR)
    for reserved in range(3, _RESERVED):
        os.dup2(null, reserved)
    if null >= _RESERVED:
        os.close(null)
    return all_moved


@dataclass(frozen=True)
class _Played:
    """Measurements of a run that has ended."""

    reason: int
    status: int
    cpu_s: float
    wall_s: float
    peak_kib: int


_NOT_PLAYED = _Played(CANCELLED, 0, 0.0, 0.0, 0)
"""Measurements of a run that was cancelled before its first turn."""


class _JailServer:
    def __init__(self, setup: Setup, control: socket.socket) -> None:
        self.control = control
        self.setup = setup
        self.warm = setup.level == "warm"
        sys.path[:] = setup.path
        for name in setup.preload:
            importlib.import_module(name)
        _limit_files()
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # if the host runs out of memory, a run should be the first to be killed
        driver = os.pidfd_open(setup.driver)
        own_uid = _OWN_UID_BASE + os.getpid()
        uid = own_uid if namespaces.can_become(own_uid) else None
        if self.warm:
            version = kernel.landlock_version()
            if not namespaces.enter(as_root=uid is not None):
                uid = None
            namespaces.build_root(setup.readable, setup.box_mb)
            os.chdir(namespaces.WORK)
        else:
            version = kernel.landlock_version() if setup.level == "guard" else 0
            os.chdir(setup.scratch)
        self.jail = child.Jail(setup.level != "none", uid, counted_apart=self.warm)
        if self.jail.isolated:
            self.jail.ruleset = kernel.landlock_rules(version, _rules(setup))
            self.jail.filters = {profile: child.filter_of(profile) for profile in _filters(setup.tools)}
            if uid is not None and not self.warm and not _can_import_as(uid, setup.path):
                self.jail.uid = None  # only root can read the interpreter
        if setup.scratch and self.jail.uid is not None:
            os.chown(setup.scratch, self.jail.uid, self.jail.uid)
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)
        self.poll.register(driver, select.POLLIN)
        self.driver = driver
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        os.environ.clear()
        atexit._clear()
        self.jail.before = limits.MemoryUse.now()

    def serve(self) -> None:
        self.control.send(HELLO)
        while True:
            ready = {fd for fd, _ in self.poll.poll()}
            if self.driver in ready:
                return
            packet, fds = receive(self.control)
            if not packet:
                return
            if packet != CANCEL:  # a cancellation that arrives after the run needs no action
                self._run(packet, fds)

    def _run(self, packet: bytes, fds: list[int]) -> None:
        mode, prelude, profile, role, processes, threads, cpu_us, wall_us, *others = JOB.unpack(packet)
        idle_us, used_us, *sizes = others
        idle = fds.pop() if role != ALONE else -1
        seconds = (cpu_us / 1e6, idle_us / 1e6, used_us / 1e6)
        job = child.JailJob(
            mode, prelude, _PROFILES[profile], role, fds, idle, processes, threads, *seconds, *sizes
        )
        turn = Turn(self.setup.table, job.memory)
        shared = SharedRun(turn, job, self.control, whole=self.warm and processes > 0)
        played = self._play(job, shared, wall_us / 1e6) if self._await_turn(shared) else _NOT_PLAYED
        turn.end()
        microseconds = (int(each * 1e6) for each in (played.cpu_s, played.wall_s, turn.held_s))
        self.control.send(REPORT.pack(played.reason, played.status, *microseconds, played.peak_kib))

    def _await_turn(self, shared: SharedRun) -> bool:
        """Wait for the first turn of a run. Return False if the run is cancelled first."""
        while not shared.may_start():
            if self._is_cancelled({fd for fd, _ in self.poll.poll(shared.pause_s(0.0) * 1000)}):
                _close(shared.job.fds)
                if shared.job.idle >= 0:
                    os.close(shared.job.idle)
                return False
        return True

    def _play(self, job: child.JailJob, shared: SharedRun, wall_s: float) -> _Played:
        """Fork the child of a run, and wait until it has ended."""
        fds = job.fds
        started = time.monotonic() - shared.turn.held_s
        pid = kernel.fork()
        if pid == 0:
            child.main(self.jail, job)
        if not job.collects:
            _close(fds)
            fds = [job.idle] if job.idle >= 0 else []
        reason, status, used = self._await(pid, shared, started, wall_s)
        wall = time.monotonic() - started - shared.turn.held_s
        if self.warm and job.processes:
            _kill_the_rest()
        shared.turn.end()
        if not self.jail.was_entered() and reason == ENDED:
            reason = NOT_STARTED
        if reason == ENDED and used.ru_maxrss << 10 > usage.most_resident(job, self.jail):
            reason = MEMORY  # the peak fell between two checks
        if job.collects and (job.mode != BUILD or (reason == ENDED and status == 0)):
            self._collect(job)
        _close(fds)
        self._tidy()
        return _Played(reason, status, used.ru_utime + used.ru_stime, wall, used.ru_maxrss)

    def _await(
        self, pid: int, shared: SharedRun, started: float, wall_s: float
    ) -> tuple[int, int, resource.struct_rusage]:
        """Wait for a child to end, or kill it. Return the reason, the wait status and the resource usage."""
        pidfd = os.pidfd_open(pid)
        shared.start(pid, pidfd)
        self.poll.register(pidfd, select.POLLIN)
        reason = self._watch(pid, pidfd, shared, started, wall_s)
        self.poll.unregister(pidfd)
        if reason != ENDED:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)
        _, status, used = os.wait4(pid, 0)
        return reason, status, used

    def _collect(self, job: child.JailJob) -> None:
        """Have another jailed child send back the run's files."""
        own = replace(
            job,
            profile=limits.PROFILES[limits.PYTHON],
            cpu_s=_COLLECT_S,
            memory=job.memory + 8 * job.output,
            processes=0,
            idle_s=0,
        )
        pid = kernel.fork()
        if pid == 0:
            child.collect(self.jail, own)
        turn = Turn(self.setup.table, own.memory)
        self._await(pid, SharedRun(turn, own, self.control, whole=False), time.monotonic(), _COLLECT_S)
        turn.end()
        self.jail.was_entered()  # reset the counter that the second child has incremented

    def _tidy(self) -> None:
        """Remove all files that a run left behind."""
        if self.warm:
            namespaces.fresh_box(self.setup.box_mb)
        else:
            scratch.empty(self.setup.scratch)

    def _watch(self, pid: int, pidfd: int, shared: SharedRun, started: float, wall_s: float) -> int:
        """Wait until a run ends or must be killed. Return ENDED or the reason to kill it."""
        # This is the CPU clock of the whole process (CPUCLOCK_SCHED in <linux/posix-timers.h>).
        clock = (~pid << 3) | 2
        job = shared.job
        cpu_s = 0.0
        while True:
            elapsed = time.monotonic() - started
            held_s = shared.turn.held_s
            wait = min(job.cpu_s - cpu_s, wall_s - elapsed + held_s, shared.pause_s(cpu_s))
            ready = {fd for fd, _ in self.poll.poll(max(1.0, wait * 1000))}
            if pidfd in ready:
                return ENDED
            if self._is_cancelled(ready):
                return CANCELLED
            try:
                cpu_s = time.clock_gettime(clock)
            except OSError:
                return ENDED  # the run has just ended
            if cpu_s >= job.cpu_s:
                return CPU
            shared.update(cpu_s)
            if not shared.is_stopped and (reason := self._excess(pid, shared, started, wall_s, cpu_s)):
                return reason

    def _excess(self, pid: int, shared: SharedRun, started: float, wall_s: float, cpu_s: float) -> int:
        """Return the limit that a run exceeds, or ENDED."""
        job = shared.job
        elapsed = time.monotonic() - started
        held_s = shared.turn.held_s
        if usage.has_idled(pid, job, elapsed, cpu_s, held_s):
            return IDLE
        if elapsed - held_s - usage.held_by_other(job) >= wall_s:
            # Without data on CPU waits, assume idling, because load rarely delays a run this long.
            return IDLE if job.idle_s and usage.waited_for_cpu(pid) is None else WALL
        return ENDED if shared.is_asleep else usage.excess(pid, job, self.jail) or self._overfull()

    def _is_cancelled(self, ready: set[int]) -> bool:
        """Return True if the driver has cancelled the run or has exited."""
        if self.driver in ready:
            return True
        if self.control.fileno() not in ready:
            return False
        packet, fds = receive(self.control)
        _close(fds)
        return not packet or packet == CANCEL

    def _overfull(self) -> int:
        """Return OUTPUT if the working directory exceeds the limits of level `warm`, or else ENDED."""
        box_mb = self.setup.box_mb
        full = not self.warm and scratch.is_overfull(
            self.setup.scratch, box_mb << 20, namespaces.ENTRIES_A_MB * box_mb
        )
        return OUTPUT if full else ENDED


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next packet from the driver, which is empty if the driver has closed the socket."""
    packet, ancillary, _, _ = control.recvmsg(MAX_PACKET, socket.CMSG_SPACE(8 * 4), socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return packet, list(fds)


def _rules(setup: Setup) -> list[tuple[str, int]]:
    rules = [(path, kernel.READ_ONLY) for path in setup.readable]
    rules += [
        (path, kernel.READ_ONLY)
        for path in ("/dev/zero", "/dev/urandom", "/dev/random", "/usr/share/zoneinfo", "/etc/mime.types")
    ]
    rules.append(("/dev/null", kernel.READ_WRITE_FILE | 1 << 14))
    box = namespaces.BOX if setup.level == "warm" else setup.scratch
    rules.append((box, kernel.all_rights()))
    return rules


def prepare() -> None:
    """Do the preparation that all servers share. The template calls this once, before it forks servers."""
    child.prepare()
    with contextlib.suppress(OSError):  # no filter exists for this architecture
        for profile in _filters(tools=True):
            child.filter_of(profile)


def _filters(tools: bool) -> list[seccomp.Profile]:
    profiles = [seccomp.PYTHON, seccomp.FORKING, seccomp.NATIVE, seccomp.MANAGED]
    return [*profiles, seccomp.SHELL] if tools else profiles


def _can_import_as(uid: int, path: tuple[str, ...]) -> bool:
    """Return True if a process with this uid can read Python's modules. A child process tries this."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            usable = all(
                os.access(p, os.R_OK | os.X_OK) for p in path if p.endswith(("lib-dynload", "packages"))
            )
            os._exit(0 if usable and os.access(os.__file__, os.R_OK) else 1)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def _limit_files() -> None:
    """Limit the server's own open files, so that closing all descriptors has an upper bound."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = limits.FILES if hard == resource.RLIM_INFINITY else min(limits.FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _kill_the_rest() -> None:
    """Kill every remaining process of a run that may fork.

    The server is pid 1, so the signal reaches no other process.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
