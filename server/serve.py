"""Runs the application.

This module opens the socket, sets up TLS, manages the processes, and stops without losing requests.

The processes are uvicorn's workers. SIGHUP replaces them one by one. Each process calls a function
that creates its application. Nothing in this module depends on rewards.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
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
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.processes import die_with_parent
from rewardkit.server.admission import LoopTurns
from rewardkit.server.connections import LimitedHeaders
from rewardkit.server.observability.health import Health
from rewardkit.server.observability.logs import write_line

LAME_DUCK_S = 1.0
"""Seconds after SIGTERM during which requests are still accepted.

Each response during this time asks the client to close the connection. No request then arrives on a
connection that the server is closing.
"""

SAME_SIGNAL_S = 2.0
"""Seconds after a signal during which further signals count as duplicates.

For example, Ctrl-C sends a signal to every process, and the supervisor forwards the same signal again.
"""

BACKLOG = 4096
"""Maximum number of connections waiting to be accepted."""

_KEEP_ALIVE_S = 75
"""Seconds for which idle connections stay open.

Clients have shorter limits, so clients close idle connections first.
"""

_GC_THRESHOLD = 10_000
"""Number of new objects after which Python looks for reference cycles.

Requests leave few cycles. With Python's default of 700, looking for them takes several percent of the CPU
time of a request.
"""

_SWITCH_S = 1e-5
"""Seconds after which a thread that computes lets another thread run.

The thread that exchanges messages with the scoring processes waits for the interpreter's lock several times
per message. With Python's default of 5 ms, a flood of small requests would delay each message by tens of
milliseconds. With 0.1 ms, the event loop often releases the lock before the thread may demand it, and takes
it again before the thread has woken up, which delays messages by up to 20 ms.
"""

_ACCEPTED_AT_ONCE = 4
"""Maximum number of connections that are accepted between two turns of the event loop.

uvloop accepts one for each descriptor of a socket. Connections that wait are accepted in order, so that a
client that connects again and again would keep others waiting.
"""

_ANSWERS_WITHIN_S = 60
"""Seconds after which a worker that does not respond to its supervisor is replaced."""

_READY_WITHIN_S = 3_600
"""Time limit in seconds for a replacement process to load its models."""

_MOST_FILES = 1 << 20
"""Maximum number of open files to allow. The hard limit may be in the billions, which would slow down child
processes that iterate over all descriptors."""

_OTHER_FILES = 256
"""Number of open files reserved for other purposes: pipes to scoring processes, logs, libraries."""

MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"

AppMaker = Callable[[], AbstractContextManager[FastAPI]]
"""Function that creates a process's application. Leaving the context closes its resources."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Application to serve, with its address and limits."""

    make_app: AppMaker
    host: str
    port: int
    """Port to listen on; 0 selects a free port."""
    workers: int = 1
    drain_s: float = 30.0
    """Time limit in seconds for requests in flight after SIGTERM."""
    certfile: Path | None = None
    keyfile: Path | None = None
    ignored_by_reload: Callable[[], str] = str
    """Function that is called before a reload, with several processes. It returns a line about changed
    settings that a reload cannot apply, or an empty string."""

    def url(self, port: int) -> str:
        """Return the URL of the server for clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certfile else 'http'}://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket. Clients that connect before the server has started have to wait.

    Raises:
        ConfigError: The address is in use, or does not belong to this machine.
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
    """Check that the certificate and key can be used for TLS.

    Raises:
        ConfigError: The files cannot be used.
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
    """Serve from this process until SIGTERM or SIGINT. A later second signal stops the server immediately."""
    # uvicorn raises the signal again after the server has stopped.
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda sig, frame: sys.exit(0))
    _say_where(wanted, socket_)
    with wanted.make_app() as app:
        _extend_lifespan(app)
        uvicorn.Server(_config(app, wanted)).run(_copies(socket_))


def supervise(wanted: Serving, socket_: socket.socket) -> int:
    """Serve from several processes until SIGTERM or SIGINT, and return the exit code.

    A process that exits is replaced. On SIGHUP, new processes replace the current processes one by one, and
    each replaced process finishes its requests. If a new process cannot start, the old process continues.
    Orphaned processes that are reparented to this process are reaped.

    Args:
        wanted: Server to run. Its `make_app` must be picklable, and is called in each process.
        socket_: Listening socket.
    """
    with tempfile.TemporaryDirectory(prefix="rewardkit-serve-") as folder:
        os.environ[MULTIPROC_DIR] = folder  # All processes store their metrics in this folder.
        application = _Application(wanted.make_app, os.getpid(), folder)
        config = _config(application, wanted, workers=wanted.workers, factory=True)
        workers = _Workers(config, _copies(socket_), application, wanted.ignored_by_reload)
        _say_where(wanted, socket_)
        try:
            workers.run()
        finally:
            del os.environ[MULTIPROC_DIR]
    return int(any(process.exitcode == STARTUP_FAILURE for process in workers.processes))


def _copies(socket_: socket.socket) -> list[socket.socket]:
    return [socket_, *(socket_.dup() for _ in range(1, _ACCEPTED_AT_ONCE))]


def _say_where(wanted: Serving, socket_: socket.socket) -> None:
    """Print the server's address.

    The signal handlers must already be installed, because a program that reads the address may stop the
    server immediately.
    """
    url = wanted.url(socket_.getsockname()[1])
    write_line(f"rewardkit serves at {url} (docs: {url}/docs); stop it with Ctrl-C")


def _config(app: Any, wanted: Serving, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        http=cast("type[asyncio.Protocol]", partial(LimitedHeaders, turns=LoopTurns())),
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
    """Raise the limit on open files as far as possible, and return the maximum number of connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(soft // 2, soft - _OTHER_FILES)


# --- stopping ----------------------------------------------------------------------------------------------


class _Stop:
    """Signal handler that lets the server accept requests for another moment, and then stops uvicorn.

    It calls uvicorn's own handler, which must be installed when this object is created.
    """

    def __init__(self, health: Health) -> None:
        self.health = health
        self.loop = asyncio.get_running_loop()
        self.first = 0.0
        self.uvicorn: Any = signal.getsignal(signal.SIGTERM)

    def __call__(self, sig: int, frame: FrameType | None) -> None:
        """Start draining on the first signal. On a later signal, stop without waiting for requests."""
        if not self.health.draining:
            self.health.draining = True
            self.first = time.monotonic()
            self.loop.call_soon_threadsafe(self.loop.call_later, LAME_DUCK_S, self.uvicorn, sig, None)
        elif time.monotonic() - self.first > SAME_SIGNAL_S:
            for _ in range(2):  # uvicorn stops immediately on its second SIGINT.
                self.uvicorn(signal.SIGINT, None)


def _extend_lifespan(
    app: FastAPI, *, prepared: bool = False, close: Callable[[], None] | None = None
) -> None:
    """Extend the application's lifespan so that it drains before uvicorn stops.

    Args:
        app: Application to extend.
        prepared: True to accept requests only after all preparations are done.
        close: Function to call after the application has stopped.
    """
    inner = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        health: Health = app.state.health
        sys.setswitchinterval(_SWITCH_S)
        if prepared:
            await health.prepare()
            if health.waiting_for:
                raise ConfigError(health.reason())
        stop = _Stop(health)
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, stop)
        async with inner(app) as state:
            # Otherwise, each full collection would hold the event loop for 60 ms to look at imported modules.
            gc.freeze()
            gc.set_threshold(_GC_THRESHOLD)
            yield state
        if close is not None:
            close()

    app.router.lifespan_context = lifespan


# --- multiple processes ------------------------------------------------------------------------------------


@dataclass
class _Application:
    """Picklable function that creates the application in a server process."""

    make_app: AppMaker
    supervisor: int
    """Process id of the supervisor."""
    folder: str
    """Folder for the metrics of all processes."""
    prepared: bool = False
    """True to accept requests only after all preparations are done."""

    def __call__(self) -> FastAPI:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # Only the supervisor handles SIGHUP.
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
        """Remove the metrics folder if the supervisor was killed before it could do so."""
        if os.getppid() != self.supervisor:
            shutil.rmtree(self.folder, ignore_errors=True)


class _Workers(Multiprocess):
    """uvicorn's supervisor, extended with multi-process metrics, readiness checks and reaping of orphans."""

    def __init__(
        self,
        config: uvicorn.Config,
        sockets: list[socket.socket],
        application: _Application,
        ignored_by_reload: Callable[[], str],
    ) -> None:
        super().__init__(config, sockets)
        self.ignored_by_reload = ignored_by_reload
        self.application = application
        self.living: set[int | None] = set()
        self.reloads: Any = None
        """Counter of reloads, in the metrics folder that all processes share."""
        # These signals take effect at once, even if earlier SIGHUPs are still pending.
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, lambda sig, frame: self.should_exit.set())

    def handle_hup(self) -> None:
        """Replace each process with a new process, once the new process is ready."""
        from prometheus_client import CollectorRegistry, Counter

        if ignored := self.ignored_by_reload():
            write_line(ignored)
        began = time.monotonic()
        before = {process.pid for process in self.processes}
        self.application.prepared = True
        self.config.timeout_worker_healthcheck = _READY_WITHIN_S
        super().handle_hup()
        self.config.timeout_worker_healthcheck = _ANSWERS_WITHIN_S
        if self.should_exit.is_set():
            return
        if self.reloads is None:
            self.reloads = Counter(
                "rewardkit_reloads", "Finished reloads", ["outcome"], registry=CollectorRegistry()
            )
        kept = len(before & {process.pid for process in self.processes})
        self.reloads.labels("failed" if kept else "ok").inc()
        took_s = time.monotonic() - began
        replaced = f"replaced {len(before) - kept} of {len(before)} server processes"
        write_line(f"the reload {'failed' if kept else 'is finished'} after {took_s:.1f} s: {replaced}")

    def keep_subprocess_alive(self) -> None:
        """Replace processes that have exited. Their gauges are dropped, but their counters are kept."""
        from prometheus_client.multiprocess import mark_process_dead

        for process in self.processes:
            # With this end open, waiting for the answer of a killed process would take the whole time limit.
            process.child_conn.close()
        super().keep_subprocess_alive()
        living = {process.pid for process in self.processes}
        for pid in self.living - living:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
        self.living = living
        _reap_orphans(living)


def _reap_orphans(ours: set[int | None]) -> None:
    """Reap exited processes that were reparented to this process, except the processes in `ours`, which are
    joined elsewhere."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid in ours:
                return
            os.waitpid(ended.si_pid, 0)
