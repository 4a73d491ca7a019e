"""Server that imports a heavy library once and answers questions in forks of itself.

Forking takes milliseconds and shares the library's memory. A question that exceeds its CPU time or crashes
ends only its fork. The client receives the reason, and the next question gets another fork. The server can
answer any kind of question from any client.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from rewardkit import processes

MEMORY_BYTES = 1 << 30
"""Additional address space allowed to a fork, in bytes. Questions that SymPy can decide need far less."""
_IDLE = 2
"""Maximum number of idle forks to keep. More forks run if more questions arrive at the same time."""
_TOO_LONG = "too long"
_CRASHED = "crashed"
_KILLED = "killed"

AnswerQuestion = Callable[[dict[str, Any]], dict[str, Any]]


def main(parent: int) -> None:
    """Serve until the owner has exited.

    Standard input contains one line of JSON with the file descriptors `listening` and `alive`, and `target`,
    the `module:function` that answers questions. If the module has a function `prepare`, it is called first.
    """
    requests, _ = processes.take_standard_streams()
    order = json.loads(requests.readline())
    requests.close()
    listening = socket.socket(fileno=order["listening"])
    module, _, function = order["target"].partition(":")
    try:
        with processes.large_imports():
            imported = importlib.import_module(module)
        answer = getattr(imported, function)
        getattr(imported, "prepare", lambda: None)()
    except Exception as error:
        _refuse(listening, f"{module} cannot be imported: {type(error).__name__}: {error}")
        return
    sys.set_int_max_str_digits(0)
    _ForkServer(listening, order["alive"], answer).run()


def _refuse(listening: socket.socket, reason: str) -> None:
    """Send all waiting clients the reason why the server cannot answer."""
    listening.settimeout(1.0)
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listening.accept()
            _send(connection, {"failed": reason})


class _Fork:
    """Child process with the connection whose question it is answering."""

    def __init__(self, process: int, control: socket.socket) -> None:
        self.process = process
        self.control = control
        self.connection: socket.socket | None = None


class _ForkServer:
    def __init__(self, listening: socket.socket, alive: int, answer: AnswerQuestion) -> None:
        self.listening = listening
        self.alive = alive
        self.answer = answer
        self.forks: list[_Fork] = []
        self.limit = max(2, len(os.sched_getaffinity(0)))
        self.selector = selectors.DefaultSelector()
        self.selector.register(alive, selectors.EVENT_READ)

    def run(self) -> None:
        self.start_fork()
        while True:
            self.listen(len([f for f in self.forks if f.connection]) < self.limit)
            for key, _ in self.selector.select():
                if key.fileobj == self.alive:
                    return  # The kernel ends the forks when this process exits.
                if key.data is None:
                    self.take_question()
                else:
                    self.hear(key.data)

    def listen(self, wanted: bool) -> None:
        """Start or stop accepting questions. Other connections wait in the kernel's queue."""
        listening = self.listening in self.selector.get_map()
        if wanted and not listening:
            self.selector.register(self.listening, selectors.EVENT_READ)
        elif listening and not wanted:
            self.selector.unregister(self.listening)

    def take_question(self) -> None:
        connection, _ = self.listening.accept()
        if peer(connection) != os.getuid():
            connection.close()
            return
        idle = next((f for f in self.forks if f.connection is None), None) or self.start_fork()
        idle.connection = connection
        try:
            socket.send_fds(idle.control, [b"."], [connection.fileno()])
        except OSError:
            self.hear(idle)

    def hear(self, fork: _Fork) -> None:
        """Handle a fork that has answered its question or exited."""
        try:
            done = fork.control.recv(1)
        except OSError:
            done = b""
        connection = fork.connection
        fork.connection = None
        if not done:
            reason = self.bury(fork)
            if connection is not None:
                _send(connection, {"died": reason})
        elif connection is not None:
            connection.close()
        spare = [f for f in self.forks if f.connection is None][_IDLE:]
        for extra in spare:
            self.bury(extra)

    def bury(self, fork: _Fork) -> str:
        """Close a fork's control socket, which ends the fork, and return the reason why it exited."""
        self.forks.remove(fork)
        self.selector.unregister(fork.control)
        fork.control.close()
        _, status = os.waitpid(fork.process, 0)
        if not os.WIFSIGNALED(status):
            return _CRASHED
        return {signal.SIGPROF: _TOO_LONG, signal.SIGKILL: _KILLED}.get(
            signal.Signals(os.WTERMSIG(status)), _CRASHED
        )

    def start_fork(self) -> _Fork:
        ours, its = socket.socketpair()
        process = os.fork()
        if process == 0:
            self.be_fork(its)
        its.close()
        fork = _Fork(process, ours)
        self.forks.append(fork)
        self.selector.register(ours, selectors.EVENT_READ, fork)
        return fork

    def be_fork(self, control: socket.socket) -> None:
        """Run the loop of a child process until its control socket closes, then exit."""
        try:
            server = os.getppid()
            if processes.die_with_parent(server):
                self.selector.close()
                self.listening.close()
                for fork in self.forks:
                    fork.control.close()
                    if fork.connection is not None:
                        fork.connection.close()
                _work(control, self.answer)
        finally:
            os._exit(0)


def _work(control: socket.socket, answer: AnswerQuestion) -> None:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY_BYTES, size + MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        with socket.socket(fileno=descriptors[0]) as connection, connection.makefile("rb") as lines:
            _send(connection, _guarded(answer, lines.readline()), close=False)
        control.send(b".")


def _guarded(answer: AnswerQuestion, line: bytes) -> dict[str, Any]:
    """Answer one question. The kernel kills this process if the question uses up its CPU time."""
    try:
        question = msgspec.json.decode(line, type=dict[str, Any])
        signal.setitimer(signal.ITIMER_PROF, float(question["cpu_s"]))
        found = answer(question)
    except MemoryError:
        return {"died": "out of memory"}
    except Exception as error:  # An error in one question must not end the fork.
        found = {"outcome": "undecided", "reason": f"{type(error).__name__}"}
    left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
    return found | {"spent_s": max(0.0, question["cpu_s"] - left)}


def _send(connection: socket.socket, message: dict[str, Any], *, close: bool = True) -> None:
    with contextlib.suppress(OSError):  # The client may have disconnected.
        connection.sendall(msgspec.json.encode(message) + b"\n")
    if close:
        connection.close()


def peer(connection: socket.socket) -> int:
    """Return the user id of the process at the other end of a Unix socket."""
    # On Linux, the credentials are pid, uid and gid as three 32-bit integers.
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder)
