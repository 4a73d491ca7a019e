"""A subprocess that answers one JSON question at a time and is killed when it takes too long.

No signals, no main thread, no event loop: a pipe and `poll`. It works from any thread; a forked child starts
its own. The process ends by itself when its parent is gone (end of file on its input).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any
from weakref import WeakSet

import msgspec

_START_S = 30.0
"""Wall seconds that starting the process and importing its libraries may take, once."""
_ALL: WeakSet[Killable] = WeakSet()


class WorkerTimeout(Exception):
    """The answer did not come in time; the process has been killed."""


class WorkerDied(Exception):
    """The process ended before it answered, or could not be started."""


class Killable:
    """One such process and a spare, started when first asked; a killed one is replaced by the spare."""

    def __init__(self, module: str) -> None:
        self.module = module
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        """The one that answers, then the spare."""
        self._warm: set[int] = set()
        """Process ids that have said that they are ready."""
        self._dying: list[subprocess.Popen[bytes]] = []
        _ALL.add(self)

    def ask(self, question: Mapping[str, Any], deadline_s: float) -> dict[str, Any]:
        """Return the answer to a question.

        Raises:
            WorkerTimeout: no answer within `deadline_s`.
            WorkerDied: the process crashed, ran out of memory or cannot be started.
        """
        line = msgspec.json.encode(dict(question, deadline_s=deadline_s)) + b"\n"
        with self._lock:
            process = self._ready()
            try:
                return self._exchange(process, line, deadline_s)
            except (WorkerTimeout, WorkerDied):
                self._kill(process)
                with contextlib.suppress(WorkerDied):
                    self._fill()
                raise

    def warm(self) -> None:
        """Start the processes without waiting for them."""
        with self._lock:
            self._fill()

    def close(self) -> None:
        """End the processes. They start again if another question comes."""
        with self._lock:
            for process in list(self._processes):
                self._kill(process)
            for process in self._dying:
                process.wait()
            self._dying.clear()

    def _fill(self) -> None:
        while len(self._processes) < 2:
            self._processes.append(self._start())

    def _ready(self) -> subprocess.Popen[bytes]:
        for process in list(self._processes):
            if process.poll() is not None:
                self._kill(process)
        self._fill()
        process = self._processes[0]
        if process.pid not in self._warm:
            try:
                self._read(process, time.monotonic() + _START_S)
            except (WorkerTimeout, WorkerDied) as error:
                self._kill(process)
                raise WorkerDied(f"{self.module} did not start: {error}") from None
            self._warm.add(process.pid)
        return process

    def _start(self) -> subprocess.Popen[bytes]:
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p or os.getcwd() for p in sys.path))
        try:
            return subprocess.Popen(
                [sys.executable, "-m", self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise WorkerDied(str(error)) from None

    def _exchange(self, process: subprocess.Popen[bytes], line: bytes, deadline_s: float) -> dict[str, Any]:
        until = time.monotonic() + deadline_s
        assert process.stdin is not None
        try:
            process.stdin.write(line)
        except OSError as error:
            raise WorkerDied(str(error)) from None
        reply = self._read(process, until)
        try:
            return msgspec.json.decode(reply, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise WorkerDied(f"an unreadable answer: {error}") from None

    def _read(self, process: subprocess.Popen[bytes], until: float) -> bytes:
        """Read one line."""
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN | select.POLLHUP)
        received = bytearray()
        while not received.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise WorkerTimeout(f"no answer from {self.module}")
            chunk = os.read(descriptor, 65_536)
            if not chunk:
                raise WorkerDied(f"{self.module} ended")
            received += chunk
        return bytes(received)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        self._processes.remove(process)
        self._warm.discard(process.pid)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        _close_pipes(process)
        self._dying.append(process)  # freeing its memory takes a while; nobody has to wait for that
        self._dying = [p for p in self._dying if p.poll() is None]

    def forget(self) -> None:
        """Drop the parent's processes in a forked child, which may neither use nor end them."""
        self._lock = threading.Lock()
        for process in (*self._processes, *self._dying):
            _close_pipes(process)
            process.returncode = 0  # not our child: nothing to wait for
        self._processes, self._dying, self._warm = [], [], set()


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _forget_all() -> None:
    for worker in list(_ALL):
        worker.forget()


os.register_at_fork(after_in_child=_forget_all)
