"""Client for `forkserver`, which sends one question at a time and starts the server if none is running.

All processes that share an owner use the same server. The client works in any thread and in forked processes.
It needs no signals, main thread or event loop, and finds the server by its address in the kernel.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import subprocess
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from rewardkit import processes
from rewardkit.rewards.math.sympy.forkserver import peer
from rewardkit.worker_lifeline import Shared, shared

_START_S = 60.0
"""Time limit for starting the server and importing its library, in seconds of elapsed time."""
_SLOWDOWN = 10.0
"""Maximum ratio of the elapsed time to the CPU time of a question on a busy machine."""


class Undecided(Exception):
    """Raised if a question used up its CPU time or memory, or crashed its process."""


class ServerFailed(Exception):
    """Raised if the server fails to answer for a reason unrelated to the question."""


class ForkServer:
    """Client for a server that answers one kind of question.

    Args:
        target: Function that answers questions, as `module:function`. It accepts a dict with the question,
            including `cpu_s`, and returns a dict.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self._started: list[subprocess.Popen[bytes]] = []

    def ask(self, question: Mapping[str, Any], cpu_s: float) -> dict[str, Any]:
        """Return the answer to a question that may use `cpu_s` seconds of CPU time.

        Raises:
            Undecided: The question exceeded its CPU time or memory, or crashed its process.
            ServerFailed: The server cannot be started or reached, or failed on the question twice.
        """
        line = msgspec.json.encode(dict(question, cpu_s=cpu_s)) + b"\n"
        reason = ""
        for _ in range(2):  # Another process may have killed the first fork.
            reply = self._exchange(line, _START_S + cpu_s * _SLOWDOWN)
            died = reply.get("died")
            if died not in (None, "killed"):
                raise Undecided(str(died))
            if died is None and "failed" not in reply:
                return reply
            reason = str(died or reply["failed"])
        raise ServerFailed(reason)

    def warm(self) -> None:
        """Start the server without waiting until it is ready."""
        with contextlib.suppress(ServerFailed):
            self._connect(time.monotonic() + 1.0).close()

    def _exchange(self, line: bytes, patience_s: float) -> dict[str, Any]:
        until = time.monotonic() + patience_s
        with self._connect(until) as connection:
            connection.settimeout(patience_s)
            try:
                with contextlib.suppress(BrokenPipeError):  # A failed server replies without reading.
                    connection.sendall(line)
                with connection.makefile("rb") as replies:
                    reply = replies.readline()
            except TimeoutError:
                raise ServerFailed(f"no answer within {patience_s:g} s: the machine is too busy") from None
            except OSError as error:
                return {"failed": str(error)}
        if not reply.endswith(b"\n"):
            return {"failed": "the server exited"}
        return msgspec.json.decode(reply, type=dict[str, Any])

    def _connect(self, until: float) -> socket.socket:
        """Connect to the server. If none is listening, the first process to bind the address starts it."""
        ours = shared()
        address = f"\0rewardkit-{ours.name}-{self.target}"
        while time.monotonic() < until:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(address)
                if peer(connection) != os.getuid():
                    raise ServerFailed("another program listens at the address")
                return connection
            except ConnectionRefusedError:
                connection.close()
                self._start(address, ours)
        raise ServerFailed(f"{self.target} is unreachable")

    def _start(self, address: str, ours: Shared) -> None:
        self._started = [process for process in self._started if process.poll() is None]
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            try:
                listening.bind(address)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise ServerFailed(str(error)) from None
                time.sleep(0.001)  # Another process has bound the address and is about to listen.
                return
            listening.listen(128)
            descriptors = (listening.fileno(), ours.alive)
            try:
                process = processes.start_python(
                    "rewardkit.rewards.math.sympy.forkserver:main",
                    stderr=subprocess.DEVNULL,
                    descriptors=descriptors,
                )
            except OSError as error:
                raise ServerFailed(str(error)) from None
            order = {"listening": descriptors[0], "alive": descriptors[1], "target": self.target}
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.write(json.dumps(order).encode() + b"\n")
            processes.close_pipes(process)
            self._started.append(process)
