"""Runs the template, a process that has loaded the servers' modules and starts each server by forking.

Starting an interpreter and loading its modules takes much longer than a fork. The template never has a run's
data in memory. The template exits when the driver exits or closes the socket.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

from . import server
from .protocol import HELLO


def boot(arguments: str) -> None:
    """Start the template, without returning. The driver's `python -c` calls this.

    Args:
        arguments: JSON object with `path` (`sys.path` of the servers), `preload` (modules to load), `driver`
            (process ID) and `socket` (descriptor).
    """
    given = json.loads(arguments)
    sys.path[:] = given["path"]
    for name in given["preload"]:
        importlib.import_module(name)
    server.prepare()
    gc.freeze()  # otherwise, a garbage collection in a server would copy all pages
    requests = socket.socket(fileno=given["socket"])
    driver = os.pidfd_open(given["driver"])
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    poll.register(driver, select.POLLIN)
    signal.signal(signal.SIGCHLD, lambda number, frame: _reap())
    requests.send(HELLO)
    while driver not in {fd for fd, _ in poll.poll()}:
        packet, fds = server.receive(requests)
        if not packet:
            break
        _fork(packet, fds, requests)
        for fd in fds:
            os.close(fd)
    os._exit(0)


def _fork(packet: bytes, fds: list[int], requests: socket.socket) -> None:
    """Fork a server, and send its process ID and a descriptor of its process to the driver."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # do not reap the server too early
    pid = os.fork()
    if pid == 0:
        _become_server(packet, fds, requests)
    pidfd = os.pidfd_open(pid)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    socket.send_fds(requests, [str(pid).encode()], [pidfd])
    os.close(pidfd)


def _become_server(packet: bytes, fds: list[int], requests: socket.socket) -> None:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        os.setsid()  # only the driver receives Ctrl-C, and stops the server
        requests.close()
        control, table, errors = fds
        os.dup2(errors, 2)
        os.close(errors)
        server.start({**json.loads(packet), "socket": control, "table": table})
    finally:
        os._exit(1)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
