"""The life of the server's processes: listening, draining on SIGTERM, and several of them on one port.

What they serve is made by a function that is called in each. Knows nothing of rewards.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from rewardkit.errors import ConfigError
from rewardkit.server.health import Health
from rewardkit.server.logs import write_line

LAME_DUCK_S = 1.0
"""After SIGTERM requests are still accepted for so long, each answer asking to close its connection, so
that no request crosses with a connection that we close."""

MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"

_BACKLOG = 4096
"""Connections that may wait to be accepted."""

_KEEP_ALIVE_S = 75
"""How long an idle connection is kept: longer than clients keep theirs, so that it is they who close."""

_MIN_LIFE_S = 5.0
"""A process that ends sooner has not come up."""

_MAX_FALSE_STARTS = 5
_PR_SET_PDEATHSIG = 1

AppMaker = Callable[[], AbstractContextManager[FastAPI]]
"""Makes the application; leaving the context closes what it holds."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where and how to listen."""

    host: str
    port: int
    """0: any free one."""
    drain_s: float = 30.0
    """How long requests in flight may take after SIGTERM."""
    certfile: Path | None = None
    keyfile: Path | None = None

    @property
    def url(self) -> str:
        """The address as clients write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certfile else 'http'}://{host}:{self.port}"


def listen(host: str, port: int, n: int) -> list[socket.socket]:
    """Open one listening socket for each of `n` processes, all on one port, before anything is said.

    The printed address is true then, and whoever calls it early waits rather than being refused.

    Raises:
        ConfigError: the address is taken or not ours.
    """
    sockets = [_bind(host, port, shared=n > 1)]
    port = sockets[0].getsockname()[1]
    sockets += [_bind(host, port, shared=True) for _ in range(n - 1)]
    for bound in sockets:
        bound.listen(_BACKLOG)
    return sockets


def _bind(host: str, port: int, *, shared: bool) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        reason = error.strerror or error
        raise ConfigError(f"cannot listen on {host}:{port}: {reason}; choose another --port") from None
    return bound


def check_certificate(certfile: Path | None, keyfile: Path | None) -> None:
    """Make sure that TLS will work.

    Raises:
        ConfigError: the files cannot be used.
    """
    if certfile is None:
        if keyfile is not None:
            raise ConfigError("--keyfile without --certfile; set both")
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certfile, keyfile)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"cannot use --certfile {certfile} for TLS: {error}") from None


def serve(make_app: AppMaker, listening: Listening, socket_: socket.socket) -> None:
    """Serve from this process until SIGTERM or SIGINT; a second one ends it at once."""
    with make_app() as app:
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(listening.drain_s)),
            ssl_certfile=listening.certfile,
            ssl_keyfile=listening.keyfile,
        )
        _Server(config, app.state.health).run(sockets=[socket_])


class _Server(uvicorn.Server):
    """uvicorn's, with a time between the signal and the closed door."""

    def __init__(self, config: uvicorn.Config, health: Health) -> None:
        super().__init__(config)
        self.health = health
        self.door_closes = float("inf")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start to drain; at the second signal stop at once."""
        if self.health.draining:
            self.should_exit = self.force_exit = True
        self.health.draining = True
        self.door_closes = time.monotonic() + LAME_DUCK_S

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: True when it is time to shut down."""
        idle = self.health.draining and not self.server_state.connections
        if idle or time.monotonic() >= self.door_closes:
            self.should_exit = True
        return await super().on_tick(counter)


def supervise(make_app: AppMaker, listening: Listening, sockets: list[socket.socket]) -> int:
    """Serve from one process for each socket until SIGTERM or SIGINT; return the exit code.

    One that ends is replaced, and its connections wait for the new one. This process only forks and waits,
    and takes the others with it.
    """
    with _metrics_shared():
        family = _Family(make_app, listening, sockets)
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, family.stop)
        for place in range(len(sockets)):
            family.fork(place)
        return family.wait()


class _Family:
    """The server processes of one supervisor."""

    def __init__(self, make_app: AppMaker, listening: Listening, sockets: list[socket.socket]) -> None:
        self.make_app = make_app
        self.listening = listening
        self.sockets = sockets
        self.living: dict[int, tuple[int, float]] = {}
        """By process id: the place of its socket, and when it was started."""
        self.stopping = False
        self.false_starts = 0

    def fork(self, place: int) -> None:
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os._exit(self._child(parent, place))
        self.living[child] = place, time.monotonic()
        if self.stopping:  # the signal came between the two lines above
            os.kill(child, signal.SIGTERM)

    def _child(self, parent: int, place: int) -> int:
        """Serve; never return into the supervisor's code."""
        try:
            for sig in (signal.SIGTERM, signal.SIGINT):
                signal.signal(sig, signal.SIG_DFL)
            if sys.platform == "linux":
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                return 1
            for other in self.sockets[:place] + self.sockets[place + 1 :]:
                other.close()
            serve(self.make_app, self.listening, self.sockets[place])
        except BaseException as error:
            write_line(f"error: a server process failed: {type(error).__name__}: {error}")
            return 1
        return 0

    def stop(self, sig: int, frame: FrameType | None) -> None:
        self.stopping = True
        for socket_ in self.sockets:  # or connections would go on waiting for a process to come
            socket_.close()
        for child in self.living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, sig)

    def wait(self) -> int:
        while self.living:
            child, _ = os.wait()
            place, born = self.living.pop(child)
            lived_s = time.monotonic() - born
            _forget_gauges(child)
            if self.stopping:
                continue
            self.false_starts = 0 if lived_s > _MIN_LIFE_S else self.false_starts + 1
            if self.false_starts >= _MAX_FALSE_STARTS:
                write_line("error: the server processes end as soon as they start; giving up")
                self.stop(signal.SIGTERM, None)
            else:
                self.fork(place)
        return 1 if self.false_starts >= _MAX_FALSE_STARTS else 0


@contextlib.contextmanager
def _metrics_shared() -> Iterator[None]:
    """Give the processes a folder through which any of them can show the figures of all."""
    folder = tempfile.mkdtemp(prefix="rewardkit-metrics-")
    os.environ[MULTIPROC_DIR] = folder
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _forget_gauges(pid: int) -> None:
    """What a process that has ended held, it holds no more; what it counted stays counted."""
    for path in Path(os.environ[MULTIPROC_DIR]).glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)
