"""Starts the servers of this process by forking templates (`jail/template.py`), one for each set of modules.

A template lives as long as the servers that it has started. A forked process gets its own templates.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.sandbox.jail import protocol

START_TIMEOUT_S = 60.0
_ATTEMPTS = 3

_BOOT = "import sys; sys.path.insert(0, sys.argv[2]);from jail.template import boot; boot(sys.argv[1])"
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class TemplateDied(Exception):
    """Raised if a template exited or did not start a server. The message contains its last output."""


@dataclass
class ServerProcess:
    """A server that a template has started. Its driver must close it."""

    pid: int
    descriptor: int
    """Descriptor of the process, which becomes readable when the process ends."""
    template: _Template

    def close(self) -> None:
        """Kill the server, and wait until it has ended. A fork of the driver only closes the descriptor."""
        if os.getpid() == self.template.driver:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)
            poll = select.poll()
            poll.register(self.descriptor, select.POLLIN)
            poll.poll()
            _release(self.template)
        os.close(self.descriptor)


class _Template:
    """One template, which is started when the object is created."""

    def __init__(self, path: Sequence[str], preload: Sequence[str]) -> None:
        self.driver = os.getpid()
        self.users = 0
        """Number of servers that the template has started and that are not closed."""
        self._lock = threading.Lock()
        self._errors = os.memfd_create("sandbox-template", os.MFD_CLOEXEC)
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        setup = {"path": path, "preload": preload, "driver": self.driver, "socket": theirs.fileno()}
        home = str(Path(__file__).parent)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _BOOT, json.dumps(setup), home],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=_ENVIRONMENT,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._requests.settimeout(START_TIMEOUT_S)
        try:
            hello = self._requests.recv(protocol.MAX_PACKET)
        except OSError:
            hello = b""
        if hello != protocol.HELLO:
            said = os.pread(self._errors, 10_000, 0).decode("utf-8", "replace").strip()
            self.close()
            raise TemplateDied(said.rpartition("\n")[2])

    def start(self, setup: Mapping[str, Any], descriptors: Sequence[int]) -> ServerProcess:
        """Start a server. A template that has died raises an OSError."""
        with self._lock:
            socket.send_fds(self._requests, [json.dumps(setup).encode()], descriptors)
            packet, fds, _, _ = socket.recv_fds(self._requests, protocol.MAX_PACKET, 1)
        if not fds:
            raise ConnectionResetError("the template has exited")
        return ServerProcess(int(packet), fds[0], self)

    def close(self) -> None:
        self._requests.close()
        self._process.kill()
        self._process.wait()
        os.close(self._errors)


_lock = threading.Lock()
_templates: dict[tuple[str, ...], _Template] = {}


def start_server(
    setup: Mapping[str, Any], path: Sequence[str], preload: Sequence[str], descriptors: Sequence[int]
) -> ServerProcess:
    """Start a server from the template for its modules.

    Args:
        setup: Fields of the server's `Setup`, except those that name descriptors.
        path: `sys.path` of the server.
        preload: Modules that the server loads.
        descriptors: Descriptors for the socket to the driver, the table of turns, and the standard error.

    Raises:
        TemplateDied: No template could be started.
    """
    for _ in range(_ATTEMPTS):
        template = _acquire(path, preload)
        try:
            return template.start(setup, descriptors)
        except OSError:
            _release(template, usable=False)
    raise TemplateDied("the template exited in every attempt to start a server")


def _acquire(path: Sequence[str], preload: Sequence[str]) -> _Template:
    key = (*path, "", *preload)
    with _lock:
        template = _templates.get(key)
        if template is None:
            template = _templates[key] = _Template(path, preload)
        template.users += 1
        return template


def _release(template: _Template, *, usable: bool = True) -> None:
    """Close a template that no server uses, and forget a template that has died."""
    with _lock:
        template.users -= 1
        if not template.users or not usable:
            for key in [key for key, known in _templates.items() if known is template]:
                del _templates[key]
        if not template.users:
            template.close()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held the old lock
    _templates.clear()


os.register_at_fork(after_in_child=_after_fork)
