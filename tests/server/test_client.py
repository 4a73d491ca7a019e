"""The client: what it sends again and what it does not, deadlines, typed errors, very many calls at once."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewardkit import AsyncClient, Client, Sample
from rewardkit.errors import (
    DeadlineError,
    InputError,
    OptionsError,
    OverloadedError,
    RefusedError,
    ServerError,
    UnknownDataSourceError,
)
from rewardkit.types import Score
from tests.living import state, until
from tests.server.serving import Serving, serving

RIGHT = Sample("gsm8k", "#### 1", "1")

Answer = tuple[int, dict[str, str], bytes] | None
"""Status, headers and body; None: the connection is cut."""


class Fake:
    """A server that answers as it is told, one answer after the other, the last for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                fake.connections += 1
                super().setup()

            def do_POST(self) -> None:
                fake.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                fake.headers.append({name.lower(): value for name, value in self.headers.items()})
                answer = fake.answers.pop(0) if len(fake.answers) > 1 else fake.answers[0]
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, body = answer
                if body == b"scores":
                    body = json.dumps([{"score": 1.0}] * len(json.loads(fake.bodies[-1]))).encode()
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


SCORES: Answer = (200, {}, b"scores")
BUSY: Answer = (503, {"retry-after": "0.01"}, b'{"error": {"type": "overloaded", "message": "too much"}}')


@pytest.fixture
def fake() -> Iterator[Callable[..., Fake]]:
    made: list[Fake] = []

    def make(*answers: Answer) -> Fake:
        made.append(Fake(*answers))
        return made[-1]

    yield make
    for each in made:
        each.server.shutdown()
        each.server.server_close()


def sync_batch(url: str, samples: list[Sample], **options: Any) -> list[Score]:
    with Client(url, **options) as client:
        return client.score_batch(samples)


def async_batch(url: str, samples: list[Sample], **options: Any) -> list[Score]:
    async def main() -> list[Score]:
        async with AsyncClient(url, **options) as client:
            return await client.ascore_batch(samples)

    return asyncio.run(main())


both = pytest.mark.parametrize("batch", [sync_batch, async_batch])
Batch = Callable[..., list[Score]]
MakeFake = Callable[..., Fake]


@both
def test_a_busy_server_is_asked_again_when_it_said(batch: Batch, fake: MakeFake) -> None:
    server = fake(BUSY, BUSY, SCORES)
    assert [s.score for s in batch(server.url, [RIGHT])] == [1.0]
    assert len(server.bodies) == 3


@both
def test_a_cut_connection_is_tried_again(batch: Batch, fake: MakeFake) -> None:
    server = fake(None, None, SCORES)
    assert [s.score for s in batch(server.url, [RIGHT])] == [1.0]


@both
def test_a_server_that_stays_busy_is_a_typed_error(batch: Batch, fake: MakeFake) -> None:
    busy = (503, {"retry-after": "30"}, b'{"error": {"type": "overloaded", "message": "too much"}}')
    with pytest.raises(OverloadedError, match="too much") as caught:
        batch(fake(busy).url, [RIGHT], timeout_s=20.0)
    assert caught.value.retry_after_s == 30.0


@both
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((401, {}, b'{"error": {"type": "unauthorized", "message": "no token"}}'), RefusedError),
        ((422, {}, b"<html>"), RefusedError),
        ((500, {}, b""), ServerError),
        ((200, {}, b"[]"), ServerError),
    ],
)
def test_other_answers_are_typed_errors_and_not_asked_for_again(
    batch: Batch, fake: MakeFake, answer: Answer, error: type[ServerError]
) -> None:
    server = fake(answer)
    with pytest.raises(error):
        batch(server.url, [RIGHT])
    assert len(server.bodies) == 1


@both
def test_the_deadline_holds_and_the_server_is_told_of_it(batch: Batch, fake: MakeFake) -> None:
    server = fake(SCORES)
    batch(server.url, [RIGHT], timeout_s=100.0)
    assert 50.0 < float(server.headers[0]["x-timeout-s"]) < 100.0
    server.answers = [None]
    server.server.RequestHandlerClass.do_POST = lambda handler: time.sleep(1.0)  # type: ignore[attr-defined]
    with pytest.raises(DeadlineError):
        batch(server.url, [RIGHT], timeout_s=0.2)


@both
def test_a_long_list_is_sent_in_parts_and_comes_back_in_order(batch: Batch, url: str) -> None:
    samples = [Sample("gsm8k", f"#### {i}", str(i - i % 2)) for i in range(5_000)]
    assert [s.score for s in batch(url, samples)] == [1.0, 0.1] * 2_500
    assert batch(url, []) == []


def test_one_connection_serves_many_calls(fake: MakeFake) -> None:
    server = fake(SCORES)
    with Client(server.url, token="secret") as client:
        for _ in range(10):
            client.score(RIGHT)
    assert (len(server.bodies), server.connections) == (10, 1)
    assert server.headers[0]["authorization"] == "Bearer secret"


def test_threads_may_share_a_client(url: str) -> None:
    wrong: list[int] = []
    with Client(url) as client:

        def ask(n: int) -> None:
            for i in range(50):
                if client.score(Sample("gsm8k", f"#### {n}", str(n + i % 2))).score != (1.0, 0.1)[i % 2]:
                    wrong.append(n)

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("serving")) as running:
        yield running


@pytest.fixture(scope="module")
def url(server: Serving) -> str:
    return server.url


@pytest.mark.slow
def test_twenty_thousand_calls_at_once_all_get_their_own_score(url: str) -> None:
    async def main() -> list[Score]:
        async with AsyncClient(url) as client:
            samples = [Sample("gsm8k", f"#### {i}", str(i - i % 3)) for i in range(20_000)]
            return await asyncio.gather(*map(client.ascore, samples))

    assert [s.score for s in asyncio.run(main())] == [(1.0, 0.1, 0.1)[i % 3] for i in range(20_000)]


def test_calls_that_share_a_request_share_its_failure(fake: MakeFake) -> None:
    async def main(url: str) -> list[Any]:
        async with AsyncClient(url, connections=1) as client:
            calls = [client.ascore(RIGHT) for _ in range(10)]
            return list(await asyncio.gather(*calls, return_exceptions=True))

    found = asyncio.run(main(fake((401, {}, b"")).url))
    assert [type(error) for error in found] == [RefusedError] * 10


def test_a_cancelled_call_ends_the_servers_work(url: str, server: Serving, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    async def main() -> None:
        async with AsyncClient(url) as client:
            call = asyncio.create_task(client.ascore(Sample("test/spin", str(begun), "")))
            while not (begun.exists() and begun.read_text()):
                await asyncio.sleep(0.02)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert (await client.ascore(RIGHT)).ok

    asyncio.run(main())
    until(lambda: state(int(begun.read_text())) == "")


def test_a_prefix_that_is_not_the_servers_is_not_taken_for_a_missing_reward(url: str) -> None:
    with Client(f"{url}/elsewhere") as client, pytest.raises(RefusedError, match="404"):
        client.check(["gsm8k"])
    with Client(url) as client, pytest.raises(UnknownDataSourceError):
        client.check(["gms8k"])


def test_an_address_that_is_none_is_a_typed_error() -> None:
    with pytest.raises(ServerError, match="http://HOST:PORT"):
        Client("localhost:8000")


@both
def test_a_token_in_the_address_is_sent_and_no_error_shows_it(batch: Batch, fake: MakeFake) -> None:
    server = fake(SCORES, (401, {}, b'{"error": {"type": "unauthorized", "message": "no"}}'))
    url = server.url.replace("//", "//:s3cret@")
    assert [score.score for score in batch(url, [RIGHT], token="of another server")] == [1.0]
    with pytest.raises(RefusedError) as refused:
        batch(url, [RIGHT])
    sent = "Basic " + base64.b64encode(b":s3cret").decode()
    assert [headers["authorization"] for headers in server.headers] == [sent, sent]
    assert "s3cret" not in str(refused.value) and "401" in str(refused.value)


@pytest.mark.parametrize("timeout_s", [float("nan"), float("inf"), 0, -1, "60"])
def test_a_time_limit_that_is_no_positive_number_is_refused(timeout_s: Any) -> None:
    for client in (Client, AsyncClient):
        with pytest.raises(OptionsError, match=r"timeout_s .* found"):
            client("http://127.0.0.1:9", timeout_s=timeout_s)
    with pytest.raises(OptionsError, match=r"connections .* found 0"):
        AsyncClient("http://127.0.0.1:9", connections=0)


@both
@pytest.mark.parametrize("response", ["#### 1", np.str_("#### 1"), "#### 1 \ud800"])
def test_values_of_numpy_are_sent_as_the_texts_numbers_and_lists_that_they_are(
    fake: Callable[..., Fake], batch: Batch, response: str
) -> None:
    server = fake(SCORES)
    extra_info = {"a": np.int64(3), "b": [np.float64(0.5)], "c": {"d": np.array([1, 2])}, "e": np.str_("f")}
    batch(server.url, [Sample("gsm8k", response, "1", extra_info=extra_info)])
    (sent,) = json.loads(server.bodies[0])
    assert sent["response"] == response
    assert sent["extra_info"] == {"a": 3, "b": [0.5], "c": {"d": [1, 2]}, "e": "f"}


@both
def test_a_sample_that_json_cannot_hold_is_named(fake: Callable[..., Fake], batch: Batch) -> None:
    odd = Sample("gsm8k", "#### 1", "1", extra_info={"a": object()})
    with pytest.raises(InputError, match=r"Sample\(.*object is unsupported"):
        batch(fake(SCORES).url, [odd])
