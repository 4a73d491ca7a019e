"""The fork server: waits for a run, forks a child for it, watches its clock, reports how it ended.

One run at a time, one thread, nothing of any run in its memory: programs and inputs arrive as descriptors
which only the child reads. It ends, with all that it started, when the driver closes the socket or dies.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from dataclasses import dataclass

from . import child, kernel, namespaces, seccomp
from .protocol import (
    CANCEL,
    CANCELLED,
    CPU,
    ENDED,
    HELLO,
    JOB,
    MAX_PACKET,
    NOT_STARTED,
    PROCESSES,
    REPORT,
    WALL,
)

_POLL_S = 0.02
"""How often the threads of a run are counted."""

_RESERVED = 6
"""Descriptors below this are never ours, so that those of a run can be put there."""

_OWN_UID_BASE = 0x7000_0000


@dataclass(frozen=True)
class Setup:
    """How to start, as the driver's command line says."""

    level: str
    socket: int
    driver: int
    """The driver's pid."""
    readable: tuple[str, ...]
    """Absolute paths that runs may read."""
    path: tuple[str, ...]
    """`sys.path` of the runs."""
    preload: tuple[str, ...]


def boot(arguments: str) -> None:
    """Start from the JSON of a Setup: what the driver's `python -c` calls. Never returns."""
    given = json.loads(arguments)
    lists = {name: tuple(given[name]) for name in ("readable", "path", "preload")}
    main(Setup(level=given["level"], socket=given["socket"], driver=given["driver"], **lists))


def main(setup: Setup) -> None:
    """Serve until the driver is gone. Never returns."""
    control = socket.socket(fileno=_above_reserved(setup.socket))
    try:
        server = _Server(setup, control)
    except BaseException as error:
        with contextlib.suppress(OSError):
            control.send(f"{type(error).__name__}: {error}".encode()[:4000])
        os._exit(1)
    try:
        server.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass
    finally:
        os._exit(0)


def _above_reserved(fd: int) -> int:
    """Move `fd` up and fill what lies below with the null device."""
    moved = fd
    while moved < _RESERVED or moved == fd:
        moved = os.dup(fd)
    os.close(fd)
    null = os.open(os.devnull, os.O_RDWR)
    for reserved in range(3, _RESERVED):
        os.dup2(null, reserved)
    if null >= _RESERVED:
        os.close(null)
    return moved


class _Server:
    def __init__(self, setup: Setup, control: socket.socket) -> None:
        self.control = control
        self.warm = setup.level == "warm"
        sys.path[:] = setup.path
        for name in setup.preload:
            importlib.import_module(name)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))  # closing all descriptors has to end somewhere
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # should the host run out of memory, a run is to go first
        driver = os.pidfd_open(setup.driver)
        uid = _OWN_UID_BASE + os.getpid() if os.geteuid() == 0 else None
        if self.warm:
            version = kernel.landlock_version()
            if not namespaces.enter():
                uid = None
            namespaces.build_root(setup.readable)
            os.chdir(namespaces.WORK)
        elif setup.level == "guard":
            version = kernel.landlock_version()
            os.chdir("/")
        isolated = setup.level != "none"
        self.jail = child.Jail(isolated, uid, _address_space(), counted_apart=self.warm)
        if self.jail.isolated:
            self.jail.ruleset = kernel.landlock_rules(version, _rules(setup.readable, self.warm))
            self.jail.filters = [kernel.Filter(seccomp.build(allow_fork=fork)) for fork in (False, True)]
            if uid is not None and not self.warm and not _can_import_as(uid, setup.path):
                self.jail.uid = None  # the interpreter lies where only root can read
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)
        self.poll.register(driver, select.POLLIN)
        self.driver = driver
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        os.environ.clear()
        child.prepare()
        atexit._clear()
        gc.collect()
        gc.disable()
        gc.freeze()

    def serve(self) -> None:
        self.control.send(HELLO)
        while True:
            ready = {fd for fd, _ in self.poll.poll()}
            if self.driver in ready:
                return
            packet, fds = _receive(self.control)
            if not packet:
                return
            if packet != CANCEL:  # one that came too late
                self._run(packet, fds)

    def _run(self, packet: bytes, fds: list[int]) -> None:
        mode, prelude, processes, threads, cpu_us, wall_us, memory, output = JOB.unpack(packet)
        job = child.Job(mode, prelude, fds, processes, threads, cpu_us / 1e6, memory, output)
        started = time.monotonic()
        pid = kernel.fork()
        if pid == 0:
            child.main(self.jail, job)
        for fd in fds:
            os.close(fd)
        pidfd = os.pidfd_open(pid)
        self.poll.register(pidfd, select.POLLIN)
        reason = self._watch(pid, pidfd, cpu_us / 1e6, started + wall_us / 1e6, threads)
        self.poll.unregister(pidfd)
        if reason != ENDED:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)
        _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - started
        if self.warm:
            if processes:
                _kill_the_rest()
            namespaces.fresh_box()
        if not self.jail.was_entered() and reason == ENDED:
            reason = NOT_STARTED
        cpu = usage.ru_utime + usage.ru_stime
        self.control.send(REPORT.pack(reason, status, int(cpu * 1e6), int(wall * 1e6), usage.ru_maxrss))

    def _watch(self, pid: int, pidfd: int, cpu_s: float, deadline: float, threads: int) -> int:
        """Wait for the end of a run; return why it has to be killed, or ENDED."""
        clock = (~pid << 3) | 2  # the CPU time of the whole process: CPUCLOCK_SCHED of <linux/posix-timers.h>
        rest = cpu_s
        while True:
            wait = min(rest, deadline - time.monotonic(), _POLL_S)
            ready = {fd for fd, _ in self.poll.poll(max(1.0, wait * 1000))}
            if pidfd in ready:
                return ENDED
            if self.driver in ready:
                return CANCELLED
            if ready:
                packet, fds = _receive(self.control)
                for fd in fds:
                    os.close(fd)
                if not packet or packet == CANCEL:
                    return CANCELLED
            try:
                rest = cpu_s - time.clock_gettime(clock)
            except OSError:
                return ENDED  # it has just ended
            if rest <= 0:
                return CPU
            if time.monotonic() >= deadline:
                return WALL
            if _thread_count(pid) > threads:
                return PROCESSES


def _receive(control: socket.socket) -> tuple[bytes, list[int]]:
    packet, ancillary, _, _ = control.recvmsg(MAX_PACKET, socket.CMSG_SPACE(8 * 4), socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return packet, list(fds)


def _rules(readable: tuple[str, ...], warm: bool) -> list[tuple[str, int]]:
    rules = [(path, kernel.READ_ONLY) for path in readable]
    rules += [
        (path, kernel.READ_ONLY)
        for path in ("/dev/zero", "/dev/urandom", "/dev/random", "/usr/share/zoneinfo")
    ]
    rules.append(("/dev/null", kernel.READ_WRITE_FILE | 1 << 14))
    if warm:
        rules.append((namespaces.BOX, kernel.all_rights()))
    return rules


def _can_import_as(uid: int, path: tuple[str, ...]) -> bool:
    """Whether a process of that uid can read the modules: asked of one."""
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


def _address_space() -> int:
    """Bytes of address space of this process, which every child starts with."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _thread_count(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[17])
    except (OSError, IndexError, ValueError):
        return 0


def _kill_the_rest() -> None:
    """End whatever a run that may fork has left; as pid 1 of the namespace we reach exactly that."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
