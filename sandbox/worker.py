"""Starts and stops one fork server, sends it jobs and reads their outcomes.

A worker is not thread-safe and runs one job at a time. `pool.py` shares several workers among callers. The
server does not inherit the caller's environment variables. A template (`templates.py`) starts it, so that the
caller's memory is never copied.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rewardkit.sandbox.jail import limits as process_limits
from rewardkit.sandbox.jail import protocol, scratch
from rewardkit.sandbox.languages import PYTHON
from rewardkit.sandbox.outcome import (
    DEFAULT_LIMITS,
    IsolationLevel,
    Limits,
    Outcome,
    OutcomeStatus,
    SandboxUnavailable,
)
from rewardkit.sandbox.table import table_of_process
from rewardkit.sandbox.templates import START_TIMEOUT_S, ServerProcess, TemplateDied, start_server

_GRACE_S = 60.0
"""Time in seconds, beyond a run's wall limit, after which the server itself is considered stuck. The time is
long because a busy machine may be slow."""

_BASE_MODULES = (
    "abc", "array", "ast", "bisect", "cmath", "collections", "contextlib", "copy", "ctypes", "dataclasses",
    "datetime", "decimal", "enum", "fractions", "functools", "heapq", "io", "itertools", "json", "math",
    "numbers", "operator", "queue", "random", "re", "statistics", "string", "struct", "textwrap",
    "threading", "time", "types", "typing", "unicodedata", "encodings.latin_1", "traceback",
)  # fmt: skip
RUN_TEST = b"__run_test__("
"""Start of the call that runs one pytest or unittest test, as it appears in the source of the tests."""
_PRELOADED = {"numpy": ("numpy",), "pytest": ("jail.pytesting",)}
"""Additional modules that a server loads when it starts, by flavour."""
_NUMPY_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(?:numpy|scipy|pandas)\b", re.MULTILINE)
_OUT_OF_MEMORY = re.compile(
    rb"std::bad_alloc|memory allocation of \d+ bytes failed|fatal error: runtime: .*out of memory"
    rb"|java\.lang\.OutOfMemoryError|JavaScript heap out of memory|x(?:m|re)alloc: cannot allocate"
)
"""Messages that runtimes of other languages print when memory runs out."""
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo")

_MODES = {
    "script": protocol.SCRIPT,
    "call": protocol.CALL,
    "serve": protocol.SERVE,
    "check": protocol.CHECK,
    "exec": protocol.EXEC,
    "build": protocol.BUILD,
}
_PROFILES = list(process_limits.PROFILES)
_BOX_MB = 16
_TOOLS_BOX_MB = 128
_LEAST_FREE = 2
"""Free disk space that a run needs, as a multiple of its working directory's size limit. If less is free, the
host has failed, not the program."""
_STOPPED: dict[int, OutcomeStatus] = {
    protocol.CPU: "cpu_timeout",
    protocol.WALL: "wall_timeout",
    protocol.IDLE: "idle_timeout",
    protocol.PROCESSES: "process_limit",
    protocol.MEMORY: "memory_limit",
    protocol.OUTPUT: "output_limit",
    protocol.CANCELLED: "cancelled",
    protocol.NOT_STARTED: "sandbox_error",
}
_NOTES = (protocol.PARKED, protocol.HELD)


class WorkerDied(Exception):
    """Raised if the fork server died during a run. The run may be repeated on another server."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run, with all of the data that its child process can see."""

    program: bytes
    stdin: bytes = b""
    limits: Limits = DEFAULT_LIMITS
    mode: str = "script"
    """One of `script`, `call` (`request` contains the function and the cases), `serve`, `check`, `exec` and
    `build`."""
    request: bytes = b""
    role: int = protocol.ALONE
    """`protocol.PROGRAM` or `TESTS` for one of a pair of runs, which use `channel` and `idle`."""
    channel: int = -1
    """Descriptor for one end of the socket between a program and its tests. In the mode `exec`, it is the
    standard input."""
    idle: int = -1
    """Descriptor of the file through which the servers of a program and its tests share idle time."""
    prelude: bool = False
    """True to let a Python program use names from common modules without importing them."""
    language: str = PYTHON
    """Name of the program's language, either `python` or a key of `languages.RUNNERS`."""
    standard: str = ""
    """Standard to compile for, such as `17`, or "" to try all that the language has."""
    readable: tuple[str, ...] = ()
    """Toolchain paths that the run may read in the modes `exec` and `build`."""
    files: tuple[tuple[str, bytes], ...] = ()
    """Files to put into the run's working directory, as pairs of a trusted relative path and its content."""
    fetch: tuple[str, ...] = ()
    """Paths of the files to return in `Outcome.results`, a JSON object that maps each path to base64 content.
    The content is null if the file exceeds the output limit."""
    assertions: bool = False
    """True to enable the program's assertions in a language that disables them by default."""
    profile: str = process_limits.PYTHON
    """Kind of process, which is a key of `limits.PROFILES`."""
    used_s: float = 0.0
    """CPU time of the program's earlier runs, in seconds, less its allowance (see `UsualTime`). Programs that
    have used less get their turn first."""

    @property
    def flavour(self) -> str:
        """Return the kind of server that the job needs, which is `base`, `numpy`, `pytest` or `tools`."""
        if self.mode == "check" and RUN_TEST in self.program:
            return "pytest"
        if self.readable or self.files or self.fetch:
            return "tools"
        if self.mode in ("exec", "build"):
            return "base"
        return "numpy" if _NUMPY_IMPORT.search(self.program) else "base"


class Worker:
    """One fork server, which is started when the object is created."""

    def __init__(self, level: IsolationLevel, flavour: str = "base", readable: tuple[str, ...] = ()) -> None:
        self.level = level
        self.flavour = flavour
        self._readable = readable
        self._box_mb = _TOOLS_BOX_MB if flavour == "tools" else _BOX_MB
        self._scratch = _scratch_folder() if level in ("guard", "none") else ""
        self.owner = os.getpid()
        self._running: _Running | None = None
        self._closed = False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = os.memfd_create("sandbox-errors", os.MFD_CLOEXEC)
        try:
            self._process = self._spawn(theirs)
        finally:
            theirs.close()
        self._await_hello()

    def _spawn(self, theirs: socket.socket) -> ServerProcess:
        path = module_path()
        preload = _BASE_MODULES + _PRELOADED.get(self.flavour, ())
        setup = {
            "level": self.level,
            "driver": os.getpid(),
            "readable": [*readable_paths(path), *self._readable],
            "path": path,
            "tools": self.flavour == "tools",
            "box_mb": self._box_mb,
            "scratch": self._scratch,
            "preload": preload,
        }
        try:
            return start_server(setup, path, preload, [theirs.fileno(), table_of_process(), self._errors])
        except TemplateDied as error:
            raise SandboxUnavailable(
                f"level {self.level}: the sandbox server did not start: {error}"
            ) from None

    def _await_hello(self) -> None:
        self._control.settimeout(START_TIMEOUT_S)
        try:
            hello = self._control.recv(protocol.MAX_PACKET)
        except OSError as error:
            hello = str(error).encode()
        self._control.settimeout(None)
        if hello != protocol.HELLO:
            said = hello.decode("utf-8", "replace") or self._last_words()
            self.close()
            if not said:
                raise WorkerDied("the sandbox server exited during startup without output")
            raise SandboxUnavailable(f"level {self.level}: the sandbox server did not start: {said}")

    def _last_words(self) -> str:
        text = os.pread(self._errors, 10_000, 0).decode("utf-8", "replace").strip()
        return text.rpartition("\n")[2]

    @property
    def pid(self) -> int:
        """Return the process id of the server."""
        return self._process.pid

    def run(self, job: Job) -> Outcome:
        """Run one job and return its outcome.

        Raises:
            WorkerDied: The server died.
        """
        self.begin(job)
        return self.finish()

    def begin(self, job: Job) -> None:
        """Start a job. `finish` must be called next."""
        if job.limits.processes and self.level in ("guard", "none"):
            raise SandboxUnavailable(
                f"level {self.level} cannot contain programs that start processes; use level 'warm' "
                "or processes=0"
            )
        if self._scratch and _free_mb(self._scratch) < _LEAST_FREE * self._box_mb:
            raise SandboxUnavailable(
                f"less than {_LEAST_FREE * self._box_mb} MB are free in "
                f"{os.path.dirname(self._scratch)}, where level {self.level} keeps the files of "
                "programs; free some space, or set TMPDIR to another folder"
            )
        self._running = running = _Running(job)
        limits = job.limits
        packet = protocol.JOB.pack(
            _MODES[job.mode],
            job.prelude,
            _PROFILES.index(job.profile),
            job.role,
            limits.processes,
            limits.threads,
            int(limits.cpu_s * 1e6),
            int(limits.wall * 1e6),
            int((limits.idle_s or 0) * 1e6),
            int(job.used_s * 1e6),
            limits.memory_mb << 20,
            limits.output_bytes,
        )
        try:
            socket.send_fds(self._control, [packet], running.descriptors)
        except OSError as error:
            self._abandon()
            raise WorkerDied(str(error)) from None

    def finish(self, on_parked: Callable[[], None] | None = None) -> Outcome:
        """Wait for the current job to end, and return its outcome.

        Args:
            on_parked: Function to call when the run sleeps or is stopped for the first time, and every few
                seconds while it waits for its turn.
        """
        running = self._running
        assert running is not None
        try:
            while (packet := self._receive(running.job.limits.wall + _GRACE_S)) in _NOTES:
                if on_parked is not None:
                    on_parked()
            if len(packet) != protocol.REPORT.size:
                raise WorkerDied("the sandbox server exited or hung during a run")
            return running.outcome(packet, self.level)
        finally:
            self._abandon()

    def _receive(self, timeout_s: float) -> bytes:
        # This polls because a socket timeout would add two system calls to every recv.
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        try:
            return self._control.recv(protocol.MAX_PACKET) if poll.poll(timeout_s * 1000) else b""
        except OSError:
            return b""

    def cancel(self) -> None:
        """Kill the current run, whose status is then `cancelled`. Any thread may call this method."""
        with contextlib.suppress(OSError):
            self._control.send(protocol.CANCEL)

    def _abandon(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running = None

    def close(self) -> None:
        """Stop the server and all of its processes. Repeated calls have no effect."""
        self._abandon()
        self._control.close()
        if self._closed:
            return
        self._closed = True
        self._process.close()
        if os.getpid() != self.owner:  # a fork of the driver must not stop the server
            return
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1
        if self._scratch:
            with contextlib.suppress(OSError):  # the server usually removes the folder when it exits
                scratch.empty(self._scratch)
                os.rmdir(self._scratch)


class _Running:
    """In-memory files that contain the input and output of one run, and their descriptors."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.started = time.monotonic()
        self._own: list[int] = []
        program = self._memory(job.program)
        is_paired = job.mode == "exec" and job.channel >= 0
        stdin = job.channel if is_paired else self._memory(job.stdin)
        self.stdout = self._memory()
        self.stderr = self._memory()
        self.results = -1
        self.descriptors = [program, stdin, self.stdout, self.stderr]
        request = job.request or _files_plan(job)
        if job.mode in ("serve", "check"):
            self.descriptors.append(job.channel)
        elif request:
            self.descriptors.append(self._memory(request))
        if job.mode in ("call", "check", "build") or job.fetch:
            self.results = self._memory()
            self.descriptors.append(self.results)
        if job.idle >= 0:
            self.descriptors.append(job.idle)

    def _memory(self, content: bytes | None = None) -> int:
        fd = os.memfd_create("run", os.MFD_CLOEXEC)
        self._own.append(fd)
        if content:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(fd, rest) :]
            os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def outcome(self, report: bytes, level: IsolationLevel) -> Outcome:
        reason, wait_status, cpu_us, wall_us, held_us, peak_kib = protocol.REPORT.unpack(report)
        limit = self.job.limits.output_bytes
        stdout, out_flood = _read(self.stdout, limit)
        stderr, err_flood = _read(self.stderr, limit)
        results, result_flood = _read(self.results, limit) if self.results >= 0 else (b"", False)
        exit_code = os.waitstatus_to_exitcode(wait_status)
        status = _STOPPED.get(reason) or _status(exit_code, stderr, cpu_us / 1e6, self.job.limits)
        if (out_flood or err_flood or result_flood) and status not in ("cancelled", "sandbox_error"):
            status = "output_limit"  # a runtime may write until another limit stops it
        return Outcome(
            status,
            stdout,
            stderr,
            exit_code,
            cpu_s=cpu_us / 1e6,
            wall_s=wall_us / 1e6,
            held_s=held_us / 1e6,
            peak_memory=peak_kib << 10,
            level=level,
            detail=_last_line(stderr) if status == "sandbox_error" else None,
            results=results,
        )

    def close(self) -> None:
        for fd in self._own:
            os.close(fd)
        self._own = []


def _files_plan(job: Job) -> bytes:
    """Return the JSON of an `execute.ExecutionPlan` for a script's files, or b"" if there are no files."""
    if not job.files and not job.fetch:
        return b""
    return json.dumps({"files": encoded(job.files), "fetch": job.fetch}).encode()


def encoded(files: Sequence[tuple[str, bytes]]) -> dict[str, str]:
    """Return a mapping from paths to base64 contents, as in execution plans."""
    return {name: base64.b64encode(content).decode() for name, content in files}


def _read(fd: int, limit: int) -> tuple[bytes, bool]:
    """Return at most `limit` bytes from a file in memory, and True if the file contains more."""
    size = os.fstat(fd).st_size
    return (os.pread(fd, min(size, limit), 0) if size else b""), size > limit


def _status(exit_code: int, stderr: bytes, cpu_s: float, limits: Limits) -> OutcomeStatus:
    """Return the status of a run that ended by itself.

    Nothing that a program prints can turn its failure into a success.
    """
    if exit_code == 0:
        return "ok"
    if exit_code == -signal.SIGXCPU or (exit_code == -signal.SIGKILL and cpu_s >= limits.cpu_s):
        return "cpu_timeout"
    if exit_code == -signal.SIGXFSZ:
        return "output_limit"
    last = _last_line(stderr)
    if last.startswith("MemoryError") or exit_code == -signal.SIGKILL or _OUT_OF_MEMORY.search(stderr):
        return "memory_limit"  # only the kernel sends SIGKILL, when memory runs out
    if "can't start new thread" in last:
        return "process_limit"
    return "runtime_error"


def _scratch_folder() -> str:
    try:
        return tempfile.mkdtemp(prefix=scratch.PREFIX)
    except OSError as error:
        raise SandboxUnavailable(
            f"cannot create a folder for programs ({error}); set TMPDIR to a writable folder"
        ) from None


def _free_mb(folder: str) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >> 20


def _last_line(stderr: bytes) -> str:
    return stderr[-2000:].decode("utf-8", "replace").strip().rpartition("\n")[2][:300]


def module_path() -> list[str]:
    """Return the module search path for runs, which contains the standard library and installed packages.

    Folders that PYTHONPATH or this program has added to `sys.path` are excluded.
    """
    standard = os.path.dirname(os.path.realpath(os.__file__))
    entries = [
        os.path.join(os.path.dirname(standard), f"python{sys.version_info[0]}{sys.version_info[1]}.zip")
    ]
    entries += [standard, os.path.join(standard, "lib-dynload")]
    entries += [os.path.realpath(p) for p in sys.path if p.endswith(("site-packages", "dist-packages"))]
    return list(dict.fromkeys(entries))


def readable_paths(path: list[str]) -> list[str]:
    """Return the paths that runs may read, which contain modules and shared libraries, but no user data."""
    base = os.path.join(os.path.realpath(sys.base_prefix), "lib")
    return list(dict.fromkeys([*(p for p in path if os.path.isdir(p)), base, *_LIBRARIES]))
