"""The life of the server's processes: draining on SIGTERM, and several of them on one port.

What they serve is made by a function that is called in each; where they listen is `listening`'s business.
Knows nothing of rewards.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from rewardkit.errors import ConfigError
from rewardkit.processes import die_with_parent, unsearched_imports
from rewardkit.server.connections import REQUEST_TIMEOUT_S, LimitedHeaders
from rewardkit.server.health import Health
from rewardkit.server.listening import BACKLOG, Listening, raise_file_limit
from rewardkit.server.logs import write_line
from rewardkit.server.shared_folder import shared_folder
from rewardkit.server.siblings import Siblings

LAME_DUCK_S = 1.0
"""After SIGTERM requests are still accepted for so long, each answer asking to close its connection, so
that no request crosses with a connection that we close."""

SAME_SIGNAL_S = 1.0
"""A signal within so long of the first one is the same wish, come by another way."""

STOP_NOW = signal.SIGUSR1
"""What a supervisor sends to end its processes at once."""

REPLACED = signal.SIGUSR2
"""What a process sends to the one whose place it has taken."""

_GENERATIONS = 4
"""How many processes may live at one place, where each has replaced the one before and still holds what
clients will come back for."""

_GARBAGE = 20_000
"""New objects until the youngest are looked through for cycles: a batch of 64 samples makes some 300."""

MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"

_KEEP_ALIVE_S = 75
"""How long an idle connection is kept: longer than clients keep theirs, so that it is they who close."""

_MIN_LIFE_S = 5.0
"""A process that ends sooner has not come up."""

_MAX_FALSE_STARTS = 5

AppMaker = Callable[[Siblings | None], AbstractContextManager[FastAPI]]
"""Makes the application of a process, which may have siblings; leaving the context closes what it holds."""


def serve(
    make_app: AppMaker,
    listening: Listening,
    socket_: socket.socket,
    *,
    siblings: Siblings | None = None,
    supervised: bool = False,
    replaces: Sequence[int] = (),
) -> None:
    """Serve from this process until SIGTERM or SIGINT; a second one, some time later, ends it at once.

    Args:
        siblings: the other processes of this server.
        supervised: it is the supervisor who says when to end at once, with STOP_NOW.
        replaces: processes on the same socket that are asked to drain once this one takes requests.

    Raises:
        ConfigError: what this one needs before it may take the place of others cannot be had.
    """
    connections = raise_file_limit()
    _import_application()
    with make_app(siblings) as app:
        if replaces:
            _prepare(app.state.health)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            ws="websockets-sansio",
            http=LimitedHeaders,
            limit_concurrency=connections,
            backlog=BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(listening.drain_s)),
            ssl_certfile=listening.certfile,
            ssl_keyfile=listening.keyfile,
        )
        _DrainingServer(config, app.state.health, listening.drain_s, supervised, replaces).run(
            sockets=[socket_]
        )


def _import_application() -> None:
    """Import what an application is made of; not before it is known where metrics are shared."""
    with nullcontext() if "rewardkit.server.app" in sys.modules else unsearched_imports():
        importlib.import_module("rewardkit.server.app")


def _prepare(health: Health) -> None:
    asyncio.run(health.prepare())
    if health.waiting_for:
        raise ConfigError(health.reason())


def _collect_less_garbage() -> None:
    """Look at what was made until now never again, and at what requests make less often.

    What a request makes goes with it, by its reference counts; few of the cycles that need a collector arise.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE)


class _Patience:
    """Tells a second wish to stop from the first one that comes by two ways.

    Ctrl-C and the stop of a control group reach every process of the group, and what a supervisor passes on
    reaches its processes once more.
    """

    def __init__(self) -> None:
        self.first = float("inf")

    def is_over(self) -> bool:
        """True when this signal is not the first one, nor the same by another way."""
        now = time.monotonic()
        self.first = min(self.first, now)
        return now - self.first > SAME_SIGNAL_S


class _DrainingServer(uvicorn.Server):
    """uvicorn's, with a time between the signal and the closed door."""

    def __init__(
        self,
        config: uvicorn.Config,
        health: Health,
        drain_s: float,
        supervised: bool,
        replaces: Sequence[int],
    ) -> None:
        super().__init__(config)
        self.health = health
        self.drain_s = drain_s
        self.supervised = supervised
        self.replaces = replaces
        self.patience = _Patience()
        self.door_closes = float("inf")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle two more signals: the supervisor's, to stop at once, and that of a process taking over."""
        signal.signal(STOP_NOW, lambda sig, frame: self.stop_now())
        signal.signal(REPLACED, lambda sig, frame: self.be_replaced())
        with super().capture_signals():
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to take requests, and then tell the processes that this one replaces to drain."""
        await super().startup(sockets)
        _collect_less_garbage()
        if self.started:
            for pid in self.replaces:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, REPLACED)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start to drain; when the signal comes again later, stop at once."""
        if self.patience.is_over() and not self.supervised:
            self.stop_now()
        self.health.replaced = False  # nobody will come back: all processes stop
        self.drain()

    def be_replaced(self) -> None:
        """Start to drain; end a little later where clients have sessions in this process."""
        if not self.health.draining:
            self.health.replaced = True
        self.drain()

    def drain(self) -> None:
        """Start to drain: new requests are taken for a moment yet, and those in progress are finished."""
        if not self.health.draining:
            self.health.draining = True
            self.door_closes = time.monotonic() + LAME_DUCK_S

    def stop_now(self) -> None:
        """Stop without waiting for requests."""
        self.health.draining = True
        self.should_exit = self.force_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: True when it is time to shut down."""
        idle = self.health.draining and not self.server_state.connections
        closing = time.monotonic() >= self.door_closes
        if closing:
            for listener in self.servers:
                listener.close()
        if (idle or (closing and not self._awaits_a_request())) and not self._is_needed():
            self.should_exit = True
        return await super().on_tick(counter)

    def _awaits_a_request(self) -> bool:
        """Whether a connection has been accepted whose first request is still on its way."""
        in_time = time.monotonic() < self.door_closes + REQUEST_TIMEOUT_S
        connections = self.server_state.connections
        return in_time and any(getattr(one, "cycle", one) is None for one in connections)

    def _is_needed(self) -> bool:
        """Whether its successors will ask this process for what clients come back for."""
        in_time = time.monotonic() < self.door_closes + self.drain_s
        return self.health.replaced and in_time and self.health.holds_something


def supervise(
    make_app: AppMaker, listening: Listening, sockets: list[socket.socket], *, reloadable: bool = False
) -> int:
    """Serve from one process for each socket until SIGTERM or SIGINT; return the exit code.

    One that ends is replaced, and its connections wait for the new one. This process only forks and waits,
    and takes the others with it. Where orphans come to it, it reaps them.

    Args:
        reloadable: SIGHUP has new processes take the places of those that there are, which then drain. One
            that cannot start leaves its place to the one that was there.
    """
    with _shared_folder() if len(sockets) > 1 or reloadable else nullcontext() as folder:
        family = _Family(make_app, listening, sockets, folder, generations=_GENERATIONS if reloadable else 1)
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, family.stop)
        if reloadable:
            signal.signal(signal.SIGHUP, family.reload)
        _import_application()  # once for all of them
        for place in range(len(sockets)):
            family.fork(place)
        return family.wait()


class _Family:
    """The server processes of one supervisor."""

    def __init__(
        self,
        make_app: AppMaker,
        listening: Listening,
        sockets: list[socket.socket],
        folder: Path | None,
        generations: int,
    ) -> None:
        self.generations = generations
        """How many may live at once at a place."""
        self.folder = folder
        self.make_app = make_app
        self.listening = listening
        self.sockets = sockets
        self.living: dict[int, tuple[int, float]] = {}
        """By process id: the place of its socket, and when it was started."""
        self.stopping = False
        self.patience = _Patience()
        self.false_starts = 0
        self.generation = 0

    def fork(self, place: int) -> None:
        parent = os.getpid()
        replaces = self.serving(place)
        child = os.fork()
        if child == 0:
            os._exit(self._child(parent, place, replaces))
        self.living[child] = place, time.monotonic()
        if self.stopping:  # the signal came between the two lines above
            os.kill(child, signal.SIGTERM)

    def serving(self, place: int) -> list[int]:
        """The processes at a place: while one replaces another there are two."""
        return [pid for pid, (theirs, _) in self.living.items() if theirs == place]

    def reload(self, sig: int, frame: FrameType | None) -> None:
        """Start a process at each place that makes its application anew."""
        if not self.stopping:
            self.generation += 1
            for place in range(len(self.sockets)):
                self.fork(place)

    def _child(self, parent: int, place: int, replaces: list[int]) -> int:
        """Serve; never return into the supervisor's code."""
        try:
            for sig in (signal.SIGTERM, signal.SIGINT):
                signal.signal(sig, signal.SIG_DFL)
            if signal.getsignal(signal.SIGHUP) == self.reload:  # a control group's goes to every process
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
            if not die_with_parent(parent, signal.SIGTERM):
                return 1
            for other in self.sockets[:place] + self.sockets[place + 1 :]:
                other.close()
            serve(
                self.make_app,
                self.listening,
                self.sockets[place],
                siblings=self._siblings(place),
                supervised=True,
                replaces=replaces,
            )
        except BaseException as error:
            write_line(f"error: a server process failed: {type(error).__name__}: {error}")
            return 1
        return 0

    def _siblings(self, place: int) -> Siblings | None:
        """Of a process: it and those that it replaces all answer the others, so each has a number."""
        if self.folder is None:
            return None
        n = len(self.sockets)
        return Siblings(self.folder, place + n * (self.generation % self.generations), n * self.generations)

    def stop(self, sig: int, frame: FrameType | None) -> None:
        """Have the processes drain; when the signal comes again later, have them stop at once."""
        self.stopping = True
        for socket_ in self.sockets:  # or connections would go on waiting for a process to come
            socket_.close()
        passed_on = STOP_NOW if self.patience.is_over() else signal.SIGTERM
        for child in self.living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, passed_on)

    def wait(self) -> int:
        while self.living:
            child, _ = os.wait()
            if child not in self.living:  # an orphan: it has come to us to be reaped
                continue
            place, born = self.living.pop(child)
            lived_s = time.monotonic() - born
            _forget_gauges(child)
            if self.stopping:
                continue
            if self.serving(place):  # it was replaced, or could not replace the one that is there
                if born > max(self.living[other][1] for other in self.serving(place)):
                    write_line("error: what was to be read anew cannot be served; what was before goes on")
                continue
            self.false_starts = 0 if lived_s > _MIN_LIFE_S else self.false_starts + 1
            if self.false_starts >= _MAX_FALSE_STARTS:
                write_line("error: the server processes end as soon as they start; giving up")
                self.stop(signal.SIGTERM, None)
            else:
                self.fork(place)
        return 1 if self.false_starts >= _MAX_FALSE_STARTS else 0


@contextlib.contextmanager
def _shared_folder() -> Iterator[Path]:
    """Give the processes a folder through which any of them can show all figures and ask the others."""
    with shared_folder() as folder:
        os.environ[MULTIPROC_DIR] = str(folder)
        try:
            yield folder
        finally:
            os.environ.pop(MULTIPROC_DIR, None)


def _forget_gauges(pid: int) -> None:
    """What a process that has ended held, it holds no more; what it counted stays counted."""
    for path in Path(os.environ.get(MULTIPROC_DIR, os.devnull)).glob(f"gauge_live*_{pid}.db"):
        path.unlink(missing_ok=True)
