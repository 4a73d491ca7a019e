"""Connections that send too much, too slowly or nothing keep nobody out, and a burst is wholly served."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
import pytest
import uvicorn
from uvicorn.supervisors.multiprocess import SIGNALS

from rewardkit.scoring.jobs import Client
from rewardkit.server import connections
from rewardkit.server.admission import LoopTurns
from rewardkit.server.connections import LimitedHeaders
from rewardkit.server.observability.logs import MAX_EQUAL, RateLimit
from rewardkit.server.serve import _Application, _Workers
from tests.living import until
from tests.server.serving import serve, serving

GET = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"


RELEASED = threading.Event()
"""Set when what is slow may be answered."""
GONE = threading.Event()
"""Set when a request to `/watch` has heard that its client has gone."""


async def app(scope: dict, receive: object, send: object) -> None:  # type: ignore[type-arg]
    while scope["path"] == "/slow" and not RELEASED.is_set():
        await asyncio.sleep(0.02)
    while scope["path"] == "/watch" and not GONE.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                if (await receive())["type"] == "http.disconnect":  # type: ignore[operator]
                    GONE.set()
    while scope["path"] != "/watch" and (await receive()).get("more_body"):  # type: ignore[operator]
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b""})  # type: ignore[operator]


class Bare:
    """uvicorn with our connections and a small application, in a thread."""

    def __init__(self, limit_concurrency: int | None = None) -> None:
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            http=cast("type[asyncio.Protocol]", partial(LimitedHeaders, turns=LoopTurns())),
            log_config=None,
            lifespan="off",
            limit_concurrency=limit_concurrency,
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=120)

    def answers(self) -> bool:
        with self.connect() as connection:
            connection.sendall(GET)
            return connection.recv(100).startswith(b"HTTP/1.1 200")


@contextlib.contextmanager
def bare(limit_concurrency: int | None = None) -> Iterator[Bare]:
    RELEASED.clear()
    made = Bare(limit_concurrency)
    made.thread.start()
    until(lambda: made.server.started)
    try:
        yield made
    finally:
        RELEASED.set()
        made.server.should_exit = True
        made.thread.join()


def closed(connection: socket.socket) -> bool:
    """True when the other end closes it, reading what it says before."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


ENDLESS = {
    "a header": b"GET / HTTP/1.1\r\nA: ",
    "a path": b"GET /",
    "many headers": b"GET / HTTP/1.1\r\n",
    "a trailer": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nT: ",
    "the size of a chunk": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_never_ends_and_is_no_body_is_cut_off(kind: str) -> None:
    more = b"Name: value\r\n" * 100 if kind == "many headers" else b"a" * 1000
    with bare() as server, server.connect() as connection:
        connection.sendall(ENDLESS[kind])
        with pytest.raises(OSError):
            for _ in range(100_000):
                connection.sendall(more)
        assert server.answers()


def test_long_headers_are_read_and_longer_ones_are_not_waited_for() -> None:
    long = b"GET / HTTP/1.1\r\nhost: x\r\nA: " + b"a" * (60 << 10) + b"\r\n\r\n"
    with bare() as server, server.connect() as connection, server.connect() as longer:
        connection.sendall(long)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        longer.sendall(long[:-4] + b"a" * (8 << 10))
        assert longer.recv(100).startswith(b"HTTP/1.1 431")
        assert closed(longer)


def test_a_request_that_dribbles_is_closed_and_a_connection_that_waits_with_its_first_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "REQUEST_TIMEOUT_S", 0.5)
    monkeypatch.setattr(connections, "_GRACE_S", 0.1)
    with bare() as server, contextlib.ExitStack() as stack:
        silent, dribbling, slow, second = (stack.enter_context(server.connect()) for _ in range(4))
        slow.sendall(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n")
        second.sendall(GET)
        assert second.recv(100).startswith(b"HTTP/1.1 200")
        second.sendall(GET[:10])
        with contextlib.suppress(OSError):
            for byte in GET[:-2]:
                dribbling.sendall(bytes([byte]))
                time.sleep(0.03)
        assert closed(dribbling) and closed(second)
        RELEASED.set()
        assert slow.recv(100).startswith(b"HTTP/1.1 200")  # it only waited for its answer
        silent.sendall(GET)
        assert silent.recv(100).startswith(b"HTTP/1.1 200")


def test_where_places_run_out_those_go_that_were_silent_longest_and_no_request() -> None:
    with bare(limit_concurrency=6) as server, contextlib.ExitStack() as stack:
        slow = stack.enter_context(server.connect())
        slow.sendall(GET.replace(b"/healthz", b"/slow"))
        begun = stack.enter_context(server.connect())
        begun.sendall(GET[:10])
        silent = []
        for _ in range(10):
            silent.append(stack.enter_context(server.connect()))
            time.sleep(0.01)  # the loop's clock counts milliseconds
            assert server.answers()
        assert all(closed(connection) for connection in silent[:7])
        for connection in (silent[-1], begun):
            connection.sendall(GET if connection is silent[-1] else GET[10:])
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        RELEASED.set()
        assert slow.recv(100).startswith(b"HTTP/1.1 200")


def test_a_stop_does_not_wait_for_connections_that_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_TIMEOUT_S", 0.5)
    with bare() as server, server.connect() as silent:
        assert server.answers()
        server.server.should_exit = True
        assert closed(silent)
        server.thread.join()


def test_requests_may_be_sent_before_the_answers_of_those_before_them() -> None:
    with bare() as server, server.connect() as connection:
        connection.sendall(GET.replace(b"/healthz", b"/slow") + GET * 300)
        RELEASED.set()
        connection.sendall(GET * 100)
        answered = b""
        while answered.count(b"HTTP/1.1 200") < 401:
            piece = connection.recv(1 << 16)
            assert piece
            answered += piece


def test_a_request_hears_that_its_client_has_gone_while_others_wait_behind_it() -> None:
    GONE.clear()
    with bare() as server, server.connect() as connection:
        connection.sendall(GET.replace(b"/healthz", b"/watch") + GET * 3)
        connection.close()
        heard = GONE.wait(20)
        GONE.set()
        assert heard


def test_few_of_the_requests_on_a_connection_are_read_before_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = Counter[str]()
    begin = LimitedHeaders.on_message_begin

    def counted(self: LimitedHeaders) -> None:
        read["requests"] += 1
        begin(self)

    monkeypatch.setattr(LimitedHeaders, "on_message_begin", counted)
    many = 20_000
    with bare() as server, server.connect() as connection:
        sending = threading.Thread(
            target=connection.sendall, args=(GET.replace(b"/healthz", b"/slow") + GET * many,)
        )
        sending.start()
        for _ in range(3):
            assert server.answers()
        assert 0 < read["requests"] < 100
        RELEASED.set()
        answered = b""
        while answered.count(b"HTTP/1.1 200") < many + 1:
            piece = connection.recv(1 << 16)
            assert piece
            answered += piece
        sending.join()


def test_what_arrives_is_read_when_its_address_has_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[tuple[str, Callable[[], object], asyncio.AbstractEventLoop]] = []

    def ask(self: LoopTurns, client: Client, now: float, size: int, begin: Callable[[], object]) -> bool:
        waiting.append((client.address, begin, asyncio.get_running_loop()))
        return False

    monkeypatch.setattr(LoopTurns, "ask", ask)
    monkeypatch.setattr(connections, "REQUEST_TIMEOUT_S", 0.2)
    monkeypatch.setattr(connections, "_GRACE_S", 0.1)
    with bare() as server, server.connect() as connection:
        for _ in range(2):
            for piece in (GET[:10], GET[10:]):
                connection.sendall(piece)
                until(lambda: bool(waiting))
                time.sleep(0.5)  # longer than headers may take to arrive
                address, begin, loop = waiting.pop()
                assert address == "127.0.0.1" and not waiting, "a connection waits for one turn at a time"
                loop.call_soon_threadsafe(begin)
            assert connection.recv(1_000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("size", [1, 7, 2_047, 2_048, 2_049, 65_536])
def test_requests_with_bodies_arrive_whole_however_they_are_cut(size: int) -> None:
    chunked = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + b"5\r\nhello\r\n" * 400
    bodies = [b"a" * n for n in (1, 2_000, 5_000)]
    posts = [b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(one) + one for one in bodies]
    sent = b"".join([*posts, chunked + b"0\r\n\r\n", GET] * 3)
    with bare() as server, server.connect() as connection:
        for start in range(0, len(sent), size):
            connection.sendall(sent[start : start + size])
        answered = b""
        while answered.count(b"HTTP/1.1 200") < 15:
            piece = connection.recv(1 << 16)
            assert piece, answered
            answered += piece


def test_a_body_may_come_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_TIMEOUT_S", 1.5)
    with bare() as server, server.connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n")
        for _ in range(10):
            connection.sendall(b"a" * 10_000)
            time.sleep(0.2)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_a_burst_beyond_the_soft_limit_of_files_is_wholly_scored(tmp_path: Path) -> None:
    body = msgspec.json.encode({"query": ["6 * 12?\n#### 72"], "prompts": ["6 * 12?\n"], "labels": ["72"]})
    head = f"POST /openrlhf/gsm8k HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"

    async def ask(port: int, all_open: asyncio.Barrier) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await all_open.wait()
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
        return b'"rewards":[1.0]' in answer

    async def burst(port: int, n: int) -> int:
        all_open = asyncio.Barrier(n)
        return sum(await asyncio.gather(*(ask(port, all_open) for _ in range(n))))

    with serving(tmp_path, files=(256, 4_000)) as server:
        assert asyncio.run(burst(server.port, 700)) == 700
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
        urllib.request.urlopen(f"{server.url}/healthz", timeout=120).close()
        for connection in idle:
            connection.close()


def test_warnings_that_clients_cause_are_logged_at_a_bounded_rate(tmp_path: Path) -> None:
    with serve("--no-sandbox", "--scorers", "1") as server:
        for bad in (b"GARBAGE\r\n\r\n", b"GET / HTTP/1.1\r\nhost: x\r\na: " + b"x" * 70_000):
            for _ in range(200):
                with socket.create_connection(("127.0.0.1", server.port)) as connection:
                    connection.sendall(bad)
                    with contextlib.suppress(OSError):
                        connection.recv(1_000)
        server.stop()
        assert server.process.stderr is not None
        lines = [json.loads(line) for line in server.process.stderr if line.startswith("{")]
    found = Counter((line["logger"], line["message"], line["time"][:19]) for line in lines)
    assert {logger for logger, _, _ in found} >= {"uvicorn.error", "rewardkit.server"}
    assert max(found.values()) <= MAX_EQUAL


def test_a_limited_warning_says_how_many_were_left_out() -> None:
    limit = RateLimit()

    def logged(second: float, text: str = "closed %s") -> logging.LogRecord | None:
        record = logging.makeLogRecord(
            {"name": "a", "levelno": logging.WARNING, "msg": text, "created": second}
        )
        return record if limit.filter(record) else None

    assert sum(logged(5.0) is not None for _ in range(1_000)) == MAX_EQUAL
    assert logged(5.5, "another") is not None
    later = logged(6.0)
    assert later is not None and vars(later)["left_out"] == 1_000 - MAX_EQUAL
    assert all(logged(6.0, "%s") for _ in range(100))  # what users' code prints


def test_sigterm_stops_a_supervisor_at_once_whatever_signals_came_before() -> None:
    before = {sig: signal.getsignal(sig) for sig in SIGNALS}
    try:
        workers = _Workers(uvicorn.Config("none:none", workers=2), [], cast("_Application", None), str)
        for _ in range(20):
            os.kill(os.getpid(), signal.SIGHUP)
        assert not workers.should_exit.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        assert workers.should_exit.is_set()
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
