"""The client of OpenAI-compatible servers: what is sent, what is tried again, and what an error says."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from typing import Any

import pytest

from rewardkit.errors import MissingDependencyError
from rewardkit.model_api.client import Endpoint, EndpointError, complete, complete_text, require_openai

GOOD = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}).encode()


class Stub(ThreadingHTTPServer):
    """A server that does with each request what the next of `scripted` says, then answers well."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.scripted: list[Callable[[_Handler], object]] = []
        self.asked: list[dict[str, Any]] = []
        self.seen: list[tuple[str, str | None]] = []
        """Path and key of each request."""
        self.at: list[float] = []
        self.lock = threading.Lock()
        self.address = f"127.0.0.1:{self.server_address[1]}"

    def endpoint(self, **changes: Any) -> Endpoint:
        return Endpoint(**{"url": f"http://{self.address}/v1", "model": "m", "retries": 2, **changes})


class _Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.asked.append(asked)
            self.server.seen.append((self.path, self.headers["authorization"]))
            self.server.at.append(time.monotonic())
            do = self.server.scripted.pop(0) if self.server.scripted else answer(200)
        do(self)

    def log_message(self, *_: object) -> None:
        pass


def answer(status: int, body: bytes = GOOD, **headers: str) -> Callable[[_Handler], None]:
    def do(request: _Handler) -> None:
        request.send_response(status)
        for name, value in {"content_length": str(len(body)), **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return do


def drop(request: _Handler) -> None:
    request.close_connection = True
    request.connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def ask(endpoint: Endpoint, **body: Any) -> str:
    return asyncio.run(_said(endpoint, **body))


async def _said(endpoint: Endpoint, **body: Any) -> str:
    answered = await complete(endpoint, {"messages": [{"role": "user", "content": "q"}], **body})
    return str(answered["choices"][0]["message"]["content"])


def why_not(endpoint: Endpoint, **body: Any) -> str:
    with pytest.raises(EndpointError) as caught:
        ask(endpoint, **body)
    return str(caught.value)


@pytest.mark.parametrize("path", ["/v1/", "/v1/chat/completions", "", "/some/where"])
def test_the_base_of_an_api_may_be_written_in_any_way(stub: Stub, path: str) -> None:
    assert ask(stub.endpoint(url=f"http://{stub.address}{path}"), top_k=3) == "yes"
    base = path.rstrip("/").removesuffix("/chat/completions")
    assert stub.seen == [(f"{base}/chat/completions", None)]
    assert stub.asked == [{"model": "m", "messages": [{"role": "user", "content": "q"}], "top_k": 3}]


def test_no_key_is_sent_but_the_one_that_is_named(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not meant")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer not meant either")
    monkeypatch.setenv("MY_KEY", "k-1")
    ask(stub.endpoint())
    ask(stub.endpoint(api_key_env="MY_KEY"))
    ask(stub.endpoint(api_key_env="NOT_SET"))
    assert [key for _, key in stub.seen] == [None, "Bearer k-1", None]


def test_a_key_in_the_address_is_sent_and_no_error_shows_it(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "k-1")
    with_key = {"url": f"http://me:s3cret@{stub.address}/v1", "api_key_env": "MY_KEY"}
    assert ask(stub.endpoint(**with_key)) == "yes"
    sent = f"Basic {base64.b64encode(b'me:s3cret').decode()}"
    for status, said in ((404, "no such model"), (401, f"wrong: {sent}")):
        stub.scripted = [answer(status, said.encode())]
        with pytest.raises(EndpointError) as refused:
            ask(stub.endpoint(**with_key))
        assert not any(secret in str(refused.value) for secret in ("s3cret", sent))
    assert {key for _, key in stub.seen} == {sent}


@pytest.mark.parametrize(
    "bad",
    [
        answer(429, b"slow down"),
        answer(503, b""),
        drop,
        answer(200, b"<html>not found</html>"),
        answer(200, b'{"error": {"message": "Overloaded"}}'),
        answer(200, b'{"choices": []}'),
        answer(200, b'{"choices": [{"message": {"content": "ye"}, "finish_reason": "abort"}]}'),
        answer(200, GOOD[:30], content_length=str(len(GOOD))),
    ],
)
def test_what_may_pass_is_tried_again(stub: Stub, bad: Callable[[_Handler], None]) -> None:
    stub.scripted = [bad]
    assert ask(stub.endpoint()) == "yes"
    assert len(stub.asked) == 2
    stub.scripted = [bad] * 9
    assert why_not(stub.endpoint(retries=0)).startswith("the server ")
    assert len(stub.asked) == 3


@pytest.mark.parametrize(
    ("status", "said", "shown"),
    [
        (401, "who are you?", "MY_KEY"),
        (404, "no model", "no model; "),
        (302, "", ""),
        (422, "a\nb", "a b"),
    ],
)
def test_a_refusal_is_not_tried_again_and_says_what_to_look_at(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, status: int, said: str, shown: str
) -> None:
    monkeypatch.setenv("MY_KEY", "k-1")
    stub.scripted = [answer(status, said.encode(), location=f"http://{stub.address}/elsewhere")]
    found = why_not(stub.endpoint(api_key_env="MY_KEY", who="the judge's server"))
    assert found.startswith(f"the judge's server answered {status}") and shown in found
    assert "k-1" not in found
    assert len(stub.asked) == 1


def test_a_retry_after_holds_all_requests_to_the_server_back(stub: Stub) -> None:
    async def both() -> list[str]:
        first = asyncio.create_task(_said(stub.endpoint()))
        while not stub.at:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        return [await _said(stub.endpoint()), await first]

    stub.scripted = [answer(429, b"", retry_after="2")]
    assert asyncio.run(both()) == ["yes", "yes"]
    assert all(at - stub.at[0] >= 1.9 for at in stub.at[1:])


def test_a_server_that_asks_to_wait_for_an_hour_is_not_waited_for(stub: Stub) -> None:
    stub.scripted = [answer(429, b"spent", retry_after="3600")]
    assert why_not(stub.endpoint()) == "the server answered 429: spent"


def test_nobody_there_is_said() -> None:
    with socket.socket() as taken:  # bound, and not listened at
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        assert why_not(Endpoint(url, "m", retries=0)).startswith("the server cannot ")


@pytest.mark.parametrize("begins", [False, True], ids=["silent", "endless"])
def test_an_attempt_ends_at_its_deadline(stub: Stub, begins: bool) -> None:
    over = threading.Event()

    def hold(request: _Handler) -> None:
        if begins:
            answer(200, b" ", content_length="1000")(request)
        while begins and not over.wait(0.1):
            request.wfile.write(b" ")
        over.wait(100)

    stub.scripted = [hold, hold]
    assert ask(stub.endpoint(request_timeout_s=0.5)) == "yes"
    stub.scripted = [hold]
    assert "within 0.5 s" in why_not(stub.endpoint(request_timeout_s=0.5, retries=0))
    over.set()


def test_a_request_that_is_cancelled_is_ended_on_the_server(stub: Stub) -> None:
    left = threading.Event()

    def hold(request: _Handler) -> None:
        if not request.connection.recv(1):
            left.set()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_said(stub.endpoint()), 1.0)
        assert await asyncio.to_thread(left.wait, 60)

    stub.scripted = [hold]
    asyncio.run(give_up())
    assert len(stub.asked) == 1


def test_hundreds_of_requests_are_in_flight_together(stub: Stub) -> None:
    count = 300
    all_here = threading.Barrier(count)

    def meet(request: _Handler) -> None:
        all_here.wait(300)
        answer(200)(request)

    async def many() -> list[str]:
        return await asyncio.gather(*(_said(stub.endpoint(retries=0)) for _ in range(count)))

    stub.scripted = [meet] * count
    assert asyncio.run(many()) == ["yes"] * count


def test_the_proxies_of_the_environment_are_used(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://{stub.address}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert ask(stub.endpoint(url="http://far.invalid/v1")) == "yes"
    assert ask(stub.endpoint()) == "yes"
    assert [path for path, _ in stub.seen] == [
        "http://far.invalid/v1/chat/completions",
        "/v1/chat/completions",
    ]


def test_half_a_character_is_sent_as_it_is(stub: Stub) -> None:
    ask(stub.endpoint(), messages=[{"role": "user", "content": "a\ud800"}])
    assert stub.asked[0]["messages"][0]["content"] == "a\ud800"


def test_a_server_that_calls_the_limit_by_its_newer_name_is_asked_so(stub: Stub) -> None:
    async def twice() -> None:
        for _ in range(2):
            await _said(stub.endpoint(retries=0), max_tokens=5)

    stub.scripted = [answer(400, b"x" * 300 + b"Use 'max_completion_tokens' instead.")]
    asyncio.run(twice())
    limits = [{name: asked[name] for name in asked if name.startswith("max")} for asked in stub.asked]
    assert limits == [{"max_tokens": 5}, {"max_completion_tokens": 5}, {"max_completion_tokens": 5}]


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ({"message": {"content": "so,"}, "finish_reason": "length"}, "truncated at max_tokens=5"),
        ({"message": {"content": None}, "finish_reason": "stop"}, "without text"),
    ],
)
def test_a_text_that_is_none_is_an_error(stub: Stub, choice: dict[str, Any], why: str) -> None:
    def text(**given: Any) -> Coroutine[Any, Any, str]:
        return complete_text(stub.endpoint(), [], temperature=0.5, max_tokens=5, extra_body=given)

    stub.scripted = [answer(200, json.dumps({"choices": [choice]}).encode())]
    with pytest.raises(EndpointError, match=why):
        asyncio.run(text())
    assert asyncio.run(text(seed=3)) == "yes"
    assert stub.asked[-1] == {"model": "m", "messages": [], "temperature": 0.5, "max_tokens": 5, "seed": 3}


@pytest.mark.parametrize("installed", [None, "2.30.1"])
def test_without_the_package_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, installed: str | None
) -> None:
    def version(name: str) -> str:
        if installed is None:
            raise metadata.PackageNotFoundError(name)
        return installed

    require_openai("a judge")
    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(MissingDependencyError, match=r"pip install 'rewardkit\[openai\]'"):
        require_openai("a judge")
