"""A request that is here as a whole and is scored in microseconds is answered without a task, and no client can
tell: the answer is that of the usual way.
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import uvicorn

from rewardkit import Scorer
from rewardkit.server import native
from rewardkit.server.access import Access
from rewardkit.server.app import create_app
from rewardkit.server.connections import Places, with_places
from tests.living import until

RIGHT = {"data_source": "gsm8k", "response": "so\n#### 72", "ground_truth": "72"}
MATH = {"data_source": "math", "response": r"\boxed{72}", "ground_truth": "72"}


class Server:
    """The application under uvicorn in a thread, and what was answered at once."""

    def __init__(self) -> None:
        self.scorer = Scorer(workers=1)
        app = create_app(self.scorer, max_body_bytes=1 << 16)
        self.at_once: list[bool] = []

        def at_once(scope: Any, body: bytearray) -> Any:
            answer = app.state.at_once(scope, body)
            self.at_once.append(answer is not None)
            return answer

        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        config = uvicorn.Config(
            app, http=with_places(Places(100), at_once), log_config=None, server_header=False
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))
        self.thread.start()
        until(lambda: self.server.started)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.scorer.close()

    def asked(self, *pieces: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send pieces, which may be read one by one; return the answer's parts."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connection.sendall(piece)
            return answers(connection, 1)[0]


def answers(connection: socket.socket, n: int) -> list[tuple[int, dict[str, str], bytes]]:
    """The next answers on a connection, interim ones left out."""
    file = connection.makefile("rb")
    found: list[tuple[int, dict[str, str], bytes]] = []
    while len(found) < n:
        status = int(file.readline().split()[1])
        headers: dict[str, str] = {}
        while line := file.readline().strip():
            name, _, value = line.decode().partition(": ")
            assert name not in headers
            headers[name] = value
        if status >= 200:
            found.append((status, headers, file.read(int(headers["content-length"]))))
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def request(body: bytes, *headers: str, line: str = "POST /score HTTP/1.1") -> tuple[bytes, bytes]:
    names = {header.partition(":")[0].lower() for header in headers}
    own = [] if "host" in names else ["host: x"]
    own += [] if "content-type" in names else ["content-type: application/json"]
    head = "\r\n".join([line, *own, *headers, f"content-length: {len(body)}", "", ""])
    return head.encode(), body


ONE = json.dumps(RIGHT).encode()
REQUESTS = {
    "one": (request(ONE), True),
    "a list": (request(json.dumps([RIGHT] * 64).encode()), True),
    "an empty list": (request(b"[]"), True),
    "an unknown source": (request(json.dumps({**RIGHT, "data_source": "gms8k"}).encode()), True),
    "a version": (request(ONE, line="POST /v1/score HTTP/1.1"), True),
    "a query": (request(ONE, line="POST /score?a=b HTTP/1.1"), True),
    "an id": (request(ONE, "x-request-id: mine"), True),
    "a bad id": (request(ONE, "x-request-id: {}"), True),
    "not JSON": (request(b"[{"), False),
    "nothing": (request(b""), False),
    "not samples": (request(b'[{"data_source": 1}]'), False),
    "beyond JSON": (request(ONE.replace(b'"72"}', b'"72", "extra_info": {"a": NaN}}')), True),
    "more than are scored at once": (request(json.dumps([RIGHT] * 65).encode()), False),
    "needs a worker": (request(json.dumps([RIGHT, MATH]).encode()), False),
    "too large": (request(b" " * (1 << 17)), False),
    "foreign host": (request(ONE, "host: evil.example"), False),
    "foreign origin": (request(ONE, "origin: http://evil.example"), False),
    "own origin": (request(ONE, "origin: http://x"), False),
    "a deadline": (request(ONE, "x-timeout-s: 5"), False),
    "no deadline": (request(ONE, "x-timeout-s: soon"), False),
    "compressed": (request(gzip.compress(ONE), "content-encoding: gzip"), False),
    "closes": (request(ONE, "connection: close"), False),
    "an old version": (request(ONE, line="POST /score HTTP/1.0"), False),
    "expects": (request(ONE, "expect: 100-continue"), False),
    "another path": (request(ONE, line="POST /scored HTTP/1.1"), False),
    "another method": (request(ONE, line="PUT /score HTTP/1.1"), False),
    "head": (request(b"", line="GET /health HTTP/1.1"), False),
}


def comparable(answer: tuple[int, dict[str, str], bytes]) -> tuple[Any, ...]:
    """An answer without what is another each time."""
    status, headers, body = answer
    id_ = headers.pop("x-request-id")
    for name in ("date", "content-length"):
        headers.pop(name)
    own_id = id_ if id_ == "mine" else re.fullmatch(r"[0-9a-f]{9,}", id_) is not None
    return status, headers, re.sub(rb'("seconds":)[-+.\de]+', rb"\1", body), own_id


def usual(request: tuple[bytes, bytes]) -> bytes:
    """The same with a header that nobody answers at once."""
    head, body = request
    return head[:-2] + b"traceparent: none\r\n\r\n" + body


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_answer_at_once_is_that_of_the_usual_way(server: Server, kind: str) -> None:
    (head, body), at_once = REQUESTS[kind]
    server.at_once.clear()
    together = server.asked(head + body)
    assert any(server.at_once) == at_once
    server.at_once.clear()
    by_the_usual_way = server.asked(usual((head, body)))
    assert not any(server.at_once)
    in_pieces = server.asked(head, body[:1], body[1:])
    assert comparable(together) == comparable(by_the_usual_way) == comparable(in_pieces)


@pytest.mark.parametrize("kind", ["one", "needs a worker", "more than are scored at once"])
def test_whoever_asks_is_looked_at_once_and_what_is_asked_is_decoded_once(
    server: Server, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    decode = native.decode_samples
    refused = Access.refused

    def counted_refused(self: Access, *args: Any, **keywords: Any) -> Any:
        done.append("access")
        return refused(self, *args, **keywords)

    def counted_decode(body: bytes | bytearray) -> Any:
        done.append("decode")
        return decode(body)

    monkeypatch.setattr(Access, "refused", counted_refused)
    monkeypatch.setattr(native, "decode_samples", counted_decode)
    head, body = REQUESTS[kind][0]
    assert server.asked(head + body)[0] == 200
    assert done == ["access", "decode"]


def test_lines_are_answered_by_lines(server: Server) -> None:
    server.at_once.clear()
    answer = httpx.post(
        f"http://127.0.0.1:{server.port}/score",
        content=ONE + b"\n" + ONE,
        headers={"content-type": "application/x-ndjson"},
    )
    assert [json.loads(line)["correct"] for line in answer.text.splitlines()] == [True, True]
    assert not any(server.at_once)


def test_it_is_counted_as_any_other(server: Server) -> None:
    def counted() -> list[float]:
        text = server.asked(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")[2].decode()
        names = (
            'rewardkit_samples_total{data_source="gsm8k",status="ok"}',
            'rewardkit_request_seconds_count{route="/score",status="200"}',
            'rewardkit_client_samples_total{client="me"}',
        )
        found = [re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE) for name in names]
        return [float(match[1]) if match else 0.0 for match in found]

    head, body = request(ONE, "x-client-id: me")
    before = counted()
    server.at_once.clear()
    server.asked(head + body)
    assert any(server.at_once)
    between = counted()
    server.at_once.clear()
    server.asked(usual((head, body)))
    assert not any(server.at_once)
    assert [b - a for a, b in zip(before, between, strict=True)] == [1, 1, 1]
    assert [b - a for a, b in zip(between, counted(), strict=True)] == [1, 1, 1]


def test_requests_that_come_together_are_answered_in_order(server: Server) -> None:
    samples = [{**RIGHT, "ground_truth": str(i)} for i in range(70, 75)]
    bodies = [json.dumps([sample, MATH] if i % 2 else sample).encode() for i, sample in enumerate(samples)]
    server.at_once.clear()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"".join(b"".join(request(body)) for body in bodies * 20))
        found = [json.loads(body) for _, _, body in answers(connection, 100)]
        connection.sendall(b"".join(request(ONE)))  # and the connection is as it was
        assert json.loads(answers(connection, 1)[0][2])["correct"] is True
    right = [score[0]["correct"] if isinstance(score, list) else score["correct"] for score in found]
    assert right == [False, False, True, False, False] * 20
    assert [isinstance(score, list) for score in found] == [False, True, False, True, False] * 20
    assert any(server.at_once)


def test_no_more_is_read_of_a_client_that_does_not_read_its_answers(server: Server) -> None:
    many = b"".join(request(json.dumps([RIGHT] * 64).encode())) * 100
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.settimeout(3)
        with pytest.raises(TimeoutError):
            for _ in range((64 << 20) // len(many)):
                connection.sendall(many)
