"""Runs the application: its socket and TLS, a stop that loses no request, and several processes.

The processes are uvicorn's own workers, which SIGHUP has replaced one by one. What they serve is made by a
function that is called in each. Knows nothing of rewards.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.processes import die_with_parent
from rewardkit.server.connections import LimitedHeaders
from rewardkit.server.observability.health import Health
from rewardkit.server.observability.logs import write_line

LAME_DUCK_S = 1.0
"""Seconds after SIGTERM for which requests are still accepted, each answer asking to close its connection, so
that no request crosses with a connection that we close."""

SAME_SIGNAL_S = 2.0
"""A signal within so long of the first one is the same wish, come by another way: Ctrl-C and the stop of a
control group reach every process, and what a supervisor passes on reaches its processes once more."""

BACKLOG = 4096
"""Connections that may wait to be accepted."""

_KEEP_ALIVE_S = 75
"""Seconds that an idle connection is kept: longer than clients keep theirs, so that it is they who close."""

_ANSWERS_WITHIN_S = 60
"""A worker whose interpreter does not answer its supervisor for so long is replaced."""

_READY_WITHIN_S = 3_600
"""Seconds that a process that is to take the place of another may load its models."""

_MOST_FILES = 1 << 20
"""A hard limit may be in the billions, and what we start would take its time over them."""

_OTHER_FILES = 256
"""Open files that are no connections: pipes to scoring processes, logs, libraries."""

MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"

AppMaker = Callable[[], AbstractContextManager[FastAPI]]
"""Makes the application of a process; leaving the context closes what it holds."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Rewards to serve, the address, and the limits."""

    make_app: AppMaker
    host: str
    port: int
    """0: any free one."""
    workers: int = 1
    drain_s: float = 30.0
    """Seconds that requests in flight may take after SIGTERM."""
    certfile: Path | None = None
    keyfile: Path | None = None

    def url(self, port: int) -> str:
        """The address as clients write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certfile else 'http'}://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket, before the address is printed: a client that connects early waits.

    Raises:
        ConfigError: the address is taken or not ours.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        reason = error.strerror or error
        raise ConfigError(
            f"cannot listen on {host}:{port}: {reason}; choose another --host or --port"
        ) from None
    bound.listen(BACKLOG)
    return bound


def check_certificate(certfile: Path | None, keyfile: Path | None) -> None:
    """Make sure that TLS will work.

    Raises:
        ConfigError: the files cannot be used.
    """
    if certfile is None:
        if keyfile is not None:
            raise ConfigError("--keyfile needs --certfile")
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certfile, keyfile)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"cannot use --certfile {certfile} for TLS: {error}") from None


def serve(wanted: Serving, socket_: socket.socket) -> None:
    """Serve from this process until SIGTERM or SIGINT; another one, some time later, ends it at once."""
    for sig in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises the signal again when it has stopped
        signal.signal(sig, lambda sig, frame: sys.exit(0))
    _say_where(wanted, socket_)
    with wanted.make_app() as app:
        _extend_lifespan(app)
        uvicorn.Server(_config(app, wanted)).run([socket_])


def supervise(wanted: Serving, socket_: socket.socket) -> int:
    """Serve from several processes until SIGTERM or SIGINT; return the exit code.

    One that ends is replaced. SIGHUP has new processes take the places of those that there are, one by one,
    each of which then drains; one that cannot start leaves its place to the one that was there. Where orphans
    come to this process, it reaps them.

    Args:
        wanted: its function is called in each process, and pickled for it.
    """
    with tempfile.TemporaryDirectory(prefix="rewardkit-serve-") as folder:
        os.environ[MULTIPROC_DIR] = folder  # where the figures of all processes are added up
        application = _Application(wanted.make_app, os.getpid(), folder)
        config = _config(application, wanted, workers=wanted.workers, factory=True)
        workers = _Workers(config, [socket_], application)
        _say_where(wanted, socket_)
        try:
            workers.run()
        finally:
            del os.environ[MULTIPROC_DIR]
    return int(any(process.exitcode == STARTUP_FAILURE for process in workers.processes))


def _say_where(wanted: Serving, socket_: socket.socket) -> None:
    """Print the address; who reads it may stop us at once, so signals are handled by now."""
    url = wanted.url(socket_.getsockname()[1])
    write_line(f"rewardkit serves at {url} (docs: {url}/docs); stop it with Ctrl-C")


def _config(app: Any, wanted: Serving, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        http=LimitedHeaders,
        limit_concurrency=_raise_file_limit(),
        backlog=BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(wanted.drain_s)),
        timeout_worker_healthcheck=_ANSWERS_WITHIN_S,
        ssl_certfile=wanted.certfile,
        ssl_keyfile=wanted.keyfile,
        **more,
    )


def _raise_file_limit() -> int:
    """Raise the limit of open files as far as we may; return how many connections that leaves room for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(soft // 2, soft - _OTHER_FILES)


# --- a stop ------------------------------------------------------------------------------------------------


class _Stop:
    """Handles the signals to stop: lets requests in for a moment yet, and then has uvicorn stop.

    Made while uvicorn's own handler is in place.
    """

    def __init__(self, health: Health) -> None:
        self.health = health
        self.loop = asyncio.get_running_loop()
        self.first = 0.0
        self.uvicorn: Any = signal.getsignal(signal.SIGTERM)

    def __call__(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain; stop without waiting for requests when a signal comes again later."""
        if not self.health.draining:
            self.health.draining = True
            self.first = time.monotonic()
            self.loop.call_soon_threadsafe(self.loop.call_later, LAME_DUCK_S, self.uvicorn, sig, None)
        elif time.monotonic() - self.first > SAME_SIGNAL_S:
            for _ in range(2):  # its second SIGINT is at once
                self.uvicorn(signal.SIGINT, None)


def _extend_lifespan(
    app: FastAPI, *, prepared: bool = False, close: Callable[[], None] | None = None
) -> None:
    """Have the application drain before uvicorn stops.

    Args:
        prepared: it takes no requests until all that it needs is there.
        close: called when it has stopped.
    """
    inner = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        health: Health = app.state.health
        if prepared:
            await health.prepare()
            if health.waiting_for:
                raise ConfigError(health.reason())
        stop = _Stop(health)
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, stop)
        async with inner(app) as state:
            yield state
        if close is not None:
            close()

    app.router.lifespan_context = lifespan


# --- several processes -------------------------------------------------------------------------------------


@dataclass
class _Application:
    """Makes the application in a process that serves."""

    make_app: AppMaker
    supervisor: int
    """Its process id."""
    folder: str
    """Folder in which all processes keep their figures."""
    prepared: bool = False
    """It takes no requests until all that it needs is there."""

    def __call__(self) -> FastAPI:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a group's goes to every process
        if not die_with_parent(self.supervisor, signal.SIGTERM):
            sys.exit(1)
        holding = ExitStack()
        holding.callback(self._clean_up)
        try:
            app = holding.enter_context(self.make_app())
        except RewardkitError as error:
            write_line(f"error: {error}")
            sys.exit(STARTUP_FAILURE)
        _extend_lifespan(app, prepared=self.prepared, close=holding.close)
        return app

    def _clean_up(self) -> None:
        """Remove what a supervisor that was killed can no more."""
        if os.getppid() != self.supervisor:
            shutil.rmtree(self.folder, ignore_errors=True)


class _Workers(Multiprocess):
    """uvicorn's supervisor, with our exposition of metrics and under our way to get ready."""

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], application: _Application
    ) -> None:
        super().__init__(config, sockets)
        self.application = application
        self.living: set[int | None] = set()

    def handle_hup(self) -> None:
        """Have new processes take over, each once it is ready."""
        self.application.prepared = True
        self.config.timeout_worker_healthcheck = _READY_WITHIN_S
        super().handle_hup()
        self.config.timeout_worker_healthcheck = _ANSWERS_WITHIN_S

    def keep_subprocess_alive(self) -> None:
        """Replace what has ended; what it held, it holds no more; what it counted stays counted."""
        from prometheus_client.multiprocess import mark_process_dead

        super().keep_subprocess_alive()
        living = {process.pid for process in self.processes}
        for pid in self.living - living:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
        self.living = living
        _reap_orphans(living)


def _reap_orphans(ours: set[int | None]) -> None:
    """Reap processes that have come to this one; our own are left to be joined."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in ours:
                return
            os.waitpid(ended.si_pid, 0)
