"""Who may ask, and how much: tokens, sizes, origins, TLS, addresses."""

from __future__ import annotations

import asyncio
import re
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message

from rewardkit import Scorer
from rewardkit.cli import run
from rewardkit.scoring.jobs import Client
from rewardkit.server import admission
from rewardkit.server.app import create_app
from tests.server.serving import serving

RIGHT = {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"}


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer() as made:
        yield made


@pytest.fixture(scope="module")
def http(scorer: Scorer) -> Iterator[TestClient]:
    with TestClient(create_app(scorer)) as client:
        yield client


@pytest.fixture(scope="module")
def guarded(scorer: Scorer) -> Iterator[TestClient]:
    """A server that wants a token."""
    with TestClient(create_app(scorer, tokens=["one", "two"])) as client:
        yield client


def test_everything_but_the_probes_wants_a_token(guarded: TestClient) -> None:
    for path in (
        "/rewards",
        "/metrics",
        "/openapi.json",
        "/traffic",
        "/traffic/responses",
        "/traffic/responses/0-1",
        "/nowhere",
        "/healthz/",
        "http://testserver//healthz",
    ):
        assert guarded.get(path, follow_redirects=False).status_code == 401, path
    assert guarded.get("/healthz").status_code == 200
    assert guarded.get("/readyz").status_code == 200


def test_a_body_without_a_length_is_counted_while_it_comes_in(scorer: Scorer) -> None:
    with TestClient(create_app(scorer, max_body_bytes=1 << 20)) as http:
        small = http.post("/score", content=iter([b"[", b"]"]))
        assert (small.status_code, small.json()) == (200, [])
        large = http.post("/score", content=(b" " * 1_000 for _ in range(2_000)))
        assert (large.status_code, large.json()["error"]["type"]) == (413, "too_large")


def test_more_bytes_than_may_be_held_are_refused_at_once(scorer: Scorer) -> None:
    app = create_app(scorer, max_bytes=1_000)
    app.state.request_scorer.admission.take_bytes(900, Client("testclient"))  # another request's
    with TestClient(app) as http:
        for content in (b" " * 200 + b"[]", iter([b" " * 200, b"[]"])):
            answer = http.post("/score", content=content)
            assert (answer.status_code, answer.json()["error"]["type"]) == (503, "overloaded")
            assert int(answer.headers["retry-after"]) >= 1
        assert http.post("/score", content=b"[]").status_code == 200
    assert app.state.request_scorer.admission.bytes == 900


def test_one_client_cannot_use_up_the_room_for_the_bodies_of_others(scorer: Scorer) -> None:
    app = create_app(scorer, max_bytes=1_000)
    app.state.request_scorer.admission.take_bytes(1_000, "another client")
    with TestClient(app) as http:
        assert http.post("/score", content=b" " * 200 + b"[]").status_code == 200
        assert http.post("/score", content=b" " * 600 + b"[]").status_code == 503


@pytest.mark.parametrize("name", ["BODY_TIMEOUT_S", "BODY_GRACE_S"])
def test_a_body_that_takes_too_long_is_a_408_and_its_room_is_given_back(
    scorer: Scorer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(admission, name, 0.05)
    app = create_app(scorer)
    coming: list[Message] = [{"type": "http.request", "body": b"[", "more_body": True}]
    sent: list[Message] = []

    async def receive() -> Message:
        return coming.pop() if coming else await asyncio.Event().wait()  # type: ignore[func-returns-value]

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> int:
        scope = {"type": "http", "method": "POST", "path": "/score", "headers": [(b"content-length", b"9")]}
        await app(scope, receive, send)
        return asyncio.current_task().cancelling()  # type: ignore[union-attr]

    assert asyncio.run(ask()) == 0
    assert sent[0]["status"] == 408 and b"too long" in sent[1]["body"]
    assert app.state.request_scorer.admission.bytes == 0


@pytest.mark.parametrize("value", ["x", "0", "nan"])
def test_a_deadline_that_is_none_is_refused(http: TestClient, value: str) -> None:
    assert http.post("/score", json=RIGHT, headers={"x-timeout-s": value}).status_code == 422
    assert http.post("/score", json=RIGHT, headers={"x-timeout-s": "5"}).status_code == 200


def test_pages_of_other_origins_may_call_only_when_told_so(scorer: Scorer, http: TestClient) -> None:
    asked = {"origin": "https://page.example", "access-control-request-method": "POST"}
    assert "access-control-allow-origin" not in http.options("/score", headers=asked).headers
    assert "access-control-allow-origin" not in http.post("/score", json=RIGHT, headers=asked).headers
    with TestClient(create_app(scorer, tokens=["t"], cors_origins=["https://page.example"])) as open_:
        preflight = open_.options("/score", headers=asked)
        assert preflight.headers["access-control-allow-origin"] == "https://page.example"
        other = open_.options("/score", headers={**asked, "origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers


def test_request_ids_are_given_back_or_made(http: TestClient) -> None:
    given = http.post("/score", json=RIGHT, headers={"x-request-id": "run-7/step.12"})
    assert given.headers["x-request-id"] == "run-7/step.12"
    made = [
        http.get("/healthz", headers={"x-request-id": bad}).headers["x-request-id"]
        for bad in ("a b", "x" * 200)
    ]
    assert len({*made, "a b", "x" * 200}) == 4
    assert http.get("/nowhere").headers["x-request-id"]


def test_no_page_loads_anything_from_elsewhere(http: TestClient) -> None:
    for path in ("/", "/docs"):
        page = http.get(path)
        assert "default-src 'none'" in page.headers["content-security-policy"]
        loaded = re.findall(r'(?:src|href)="([^"]*)"', page.text)
        assert loaded and not any("//" in name for name in loaded)
        files = [name for name in loaded if name.startswith("page/")]
        assert all(http.get(f"/{name}").status_code == 200 for name in files)
    assert http.get("/redoc").status_code == 404


def test_it_serves_over_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    with serving(tmp_path, "--certfile", str(certificate), "--keyfile", str(key)) as server:
        assert server.url.startswith("https://")
        context = ssl.create_default_context(cafile=certificate)
        with urllib.request.urlopen(f"{server.url}/healthz", context=context) as answer:
            assert answer.status == 200


def test_tls_files_that_cannot_be_used_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--port", "0", "--certfile", str(tmp_path / "none.pem")]) == 2
    assert "--certfile" in capsys.readouterr().err
    assert run(["serve", "--port", "0", "--keyfile", str(tmp_path / "none.pem")]) == 2


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org"])
def test_an_address_open_to_others_needs_a_token(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--host", host, "--port", "0"]) == 2
    assert "--insecure" in capsys.readouterr().err


def test_more_server_processes_than_scorers_is_a_clear_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--port", "0", "--workers", "4", "--scorers", "2"]) == 2
    assert "--scorers 4" in capfd.readouterr().err
