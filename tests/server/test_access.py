"""Tokens as clients really send them, pages that may not call, compressed bodies."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.sandbox import Pool
from rewardkit.server.app import create_app
from tests.server.serving import Serving, serve

RIGHT = {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"}
TOKEN = "s3cret-token"
OPENRLHF = {"query": ["6 * 12?\n#### 72"], "prompts": ["6 * 12?\n"], "labels": ["72"]}


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer() as made:
        yield made


@pytest.fixture(scope="module")
def http(scorer: Scorer) -> Iterator[TestClient]:
    with TestClient(create_app(scorer, max_body_bytes=1 << 20)) as client:
        yield client


@pytest.fixture(scope="module")
def guarded(scorer: Scorer) -> Iterator[TestClient]:
    """A server that wants a token."""
    with TestClient(create_app(scorer, tokens=["another", TOKEN])) as client:
        yield client


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": f"Bearer {TOKEN}"}, 200),
        ({"authorization": basic(f":{TOKEN}")}, 200),
        ({"authorization": "bearer another"}, 200),
        ({"authorization": basic(f"{TOKEN}:")}, 200),
        ({"xrl-authorization": f"Bearer {TOKEN}"}, 200),
        ({"x-api-key": TOKEN}, 200),
        ({"authorization": "Bearer other", "x-api-key": TOKEN}, 200),
        ({"authorization": basic(f":{TOKEN}x")}, 401),
        ({"authorization": basic(TOKEN)[:-3]}, 401),
        ({"authorization": "Basic \xff"}, 401),
        ({"authorization": basic(":")}, 401),
        ({"xrl-authorization": TOKEN}, 401),
        ({"x-api-key": f"Bearer {TOKEN}"}, 401),
        ({}, 401),
    ],
)
def test_a_token_is_taken_from_each_header_that_clients_send(
    guarded: TestClient, headers: dict[str, str], status: int
) -> None:
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    assert guarded.post("/score", json=RIGHT, headers=raw).status_code == status


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REWARDKIT_TOKEN", TOKEN)
        with serve("--no-sandbox") as running:
            yield running


def with_requests(url: str) -> Any:
    return requests.post(url, json=OPENRLHF, timeout=120).json()


def with_httpx(url: str) -> Any:
    return httpx.post(url, json=OPENRLHF, timeout=120).json()


def with_aiohttp(url: str) -> Any:
    async def post() -> Any:
        async with aiohttp.ClientSession() as session, session.post(url, json=OPENRLHF) as answer:
            return await answer.json()

    return asyncio.run(post())


@pytest.mark.parametrize("post", [with_requests, with_httpx, with_aiohttp])
def test_a_client_that_takes_only_an_address_sends_the_token_from_it(
    server: Serving, post: Callable[[str], Any]
) -> None:
    address = f"127.0.0.1:{server.port}/openrlhf/gsm8k"
    assert post(f"http://:{TOKEN}@{address}")["rewards"] == [1.0]
    assert post(f"http://:wrong@{address}")["error"]["type"] == "unauthorized"


OURS = ["localhost:8000", "10.1.2.3:80", "[::1]:8000", "rewardkit", "reward.kit.svc", "a.local"]
OTHERS = ["evil.com:8000", "127.0.0.1.evil.com", "localhost.evil.com", "1.2.3", "[::1", "a.com."]


@pytest.mark.parametrize("host", OURS)
def test_without_a_token_our_own_names_are_served(http: TestClient, host: str) -> None:
    assert http.get("/traffic", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", OTHERS)
def test_without_a_token_no_other_name_is(http: TestClient, host: str) -> None:
    for path in ("/traffic", "/", "/"):
        answer = http.get(path, headers={"host": host})
        assert (answer.status_code, answer.json()["error"]["type"]) == (421, "unknown_host")
        assert "--allow-host" in answer.json()["error"]["message"]


def test_further_names_can_be_allowed_and_with_a_token_any_name_will_do(
    scorer: Scorer, guarded: TestClient
) -> None:
    with TestClient(create_app(scorer, hosts=["Rewards.example.com"])) as http:
        assert http.get("/traffic", headers={"host": "rewards.example.com:80"}).status_code == 200
    headers = {"host": "evil.com", "x-api-key": TOKEN}
    assert guarded.get("/traffic", headers=headers).status_code == 200


@pytest.mark.parametrize("tokens", [[], [TOKEN]])
def test_a_page_of_another_origin_cannot_run_programs(scorer: Scorer, tokens: list[str]) -> None:
    program = json.dumps({"code": "print(1)", "language": "python"})
    with Pool(1) as pool, TestClient(create_app(scorer, sandbox=pool, tokens=tokens)) as http:
        headers = {"content-type": "text/plain", "x-api-key": TOKEN, "host": "localhost:8000"}

        def status(**more: str) -> int:
            named = {name.replace("_", "-"): value for name, value in more.items()}
            return http.post("/run_code", content=program, headers=headers | named).status_code

        assert status(origin="http://evil.com") == 403
        assert status(origin="null") == 403
        assert status(origin="http://localhost:3000") == 403
        assert status(origin="http://evil.com", sec_fetch_site="cross-site") == 403
        assert status(origin="http://localhost:8000") == 200
        assert status(origin="http://proxied.com", sec_fetch_site="same-origin") == 200
        assert status() == 200


def test_pages_of_allowed_origins_call(scorer: Scorer) -> None:
    with TestClient(create_app(scorer, cors_origins=["http://friend.com"])) as http:
        assert http.post("/score", json=RIGHT, headers={"origin": "http://friend.com"}).status_code == 200
        assert http.post("/score", json=RIGHT, headers={"origin": "http://evil.com"}).status_code == 403


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("identity", 200)])
def test_a_compressed_body_is_refused(http: TestClient, encoding: str, status: int) -> None:
    assert http.post("/score", json=RIGHT, headers={"content-encoding": encoding}).status_code == status
