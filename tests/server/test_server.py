"""`rewardkit serve` and its client: the Scorer's answers over HTTP, and typed errors."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from rewardkit import AsyncClient, Client, Sample, Scorer
from rewardkit.cli import run
from rewardkit.errors import ServerError, UnknownDataSourceError
from rewardkit.registry import REGISTRY
from rewardkit.sandbox import Pool
from rewardkit.server.app import create_app
from tests.server.serving import serve

RIGHT = {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"}


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with Scorer() as scorer, TestClient(create_app(scorer, max_body_bytes=1 << 20)) as client:
        yield client


def test_code_runs_only_where_the_route_was_asked_for(http: TestClient) -> None:
    program = {"code": "print(int(input()) + 1)", "stdin": "41", "language": "python"}
    assert http.post("/run_code", json=program).status_code == 404
    with Scorer() as scorer, Pool(1) as pool, TestClient(create_app(scorer, sandbox=pool)) as client:
        answer = client.post("/run_code", json=program).json()
        assert (answer["status"], answer["run_result"]["stdout"]) == ("Success", "42\n")
        failed = client.post("/run_code", json={"code": "1/0", "language": "python"}).json()
        assert (failed["status"], failed["run_result"]["return_code"]) == ("Failed", 1)
        assert client.post("/run_code", content=b"[").status_code == 422


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server process."""
    slow = tmp_path_factory.mktemp("rewards") / "slow.py"
    slow.write_text(
        "import time\n"
        "from rewardkit import reward\n"
        "@reward('test/hang', timeout_s=3)\n"
        "def hang(sample):\n    time.sleep(3_600)\n"
    )
    with serve("--no-sandbox", "--reward", str(slow)) as server:
        yield server.url
        assert server.stop() in (0, -signal.SIGTERM)


def test_one_sample_in_gives_one_score_out_and_a_list_a_list(http: TestClient) -> None:
    one = http.post("/score", json=RIGHT).json()
    assert (one["score"], one["status"], one["correct"], one["scorer"]) == (
        1.0,
        "ok",
        True,
        REGISTRY.resolve("gsm8k").scorer,
    )
    many = http.post("/score", json=[RIGHT, {**RIGHT, "response": "#### 1"}]).json()
    assert [score["score"] for score in many] == [1.0, 0.1]
    assert http.post("/score", json=[]).json() == []


def test_a_ground_truth_of_any_type_is_read_as_in_files(http: TestClient) -> None:
    for truth, right in ((72, "72"), (72.0, "72"), (0.5, "0.5"), (10**30, str(10**30))):
        sample = {"data_source": "gsm8k", "response": f"#### {right}", "ground_truth": truth}
        assert http.post("/score", json=sample).json()["score"] == 1.0
        assert [one["score"] for one in http.post("/score", json=[RIGHT, sample]).json()] == [1.0, 1.0]
        lines = json.dumps(sample) + "\n"
        streamed = http.post("/score", content=lines, headers={"content-type": "application/x-ndjson"})
        assert json.loads(streamed.text)["score"] == 1.0
    several = {"data_source": "exact", "response": "b", "ground_truth": ["a", "b"]}
    assert http.post("/score", json=several).json()["score"] == 1.0
    assert http.post("/score", json={**RIGHT, "ground_truth": None}).json()["status"] == "invalid"


def test_an_unknown_data_source_is_an_invalid_score_not_a_failed_request(http: TestClient) -> None:
    score = http.post("/score", json={**RIGHT, "data_source": "gms8k"}).json()
    assert score["status"] == "invalid"
    assert "did you mean gsm8k" in score["detail"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"data_source": "gsm8k"}', "`response`"),
        (b'[{"data_source": "gsm8k", "response": 1, "ground_truth": "1"}]', "`$[0].response`"),
        (b"[" * 100_000, "the body is not JSON"),
        (b'[{"data_source": "gsm8k", "response": "", "ground_truth": 7}, 5]', "got `int` - at `$[1]`"),
    ],
)  # fmt: skip
def test_a_bad_body_is_a_typed_error(http: TestClient, body: bytes, message: str) -> None:
    answer = http.post("/score", content=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["type"] == "bad_request"
    assert message in answer.json()["error"]["message"]


def test_what_pythons_json_writes_beyond_the_standard_gets_an_answer(http: TestClient) -> None:
    body = json.dumps({**RIGHT, "response": "\ud800 #### 72", "extra_info": {"x": float("nan")}})
    answer = http.post("/score", content=body)
    assert (answer.status_code, answer.json()["score"]) == (200, 1.0)
    echoed = http.post("/score", content=json.dumps({**RIGHT, "data_source": "\udc80"}))
    assert echoed.json()["status"] == "invalid"


def test_lines_in_give_lines_out_in_order_and_a_bad_one_is_an_invalid_score(http: TestClient) -> None:
    lines = [json.dumps({**RIGHT, "ground_truth": str(i % 2 + 71)}) for i in range(700)]
    lines[3], lines[5] = '{"data_source": "gsm8k"}', json.dumps({**RIGHT, "response": "\ud800 #### 72"})
    sent = "\n".join([*lines[:10], "", *lines[10:]]).encode()
    pieces = (sent[i : i + 1_000] for i in range(0, len(sent), 1_000))
    answer = http.post("/score", content=pieces, headers={"content-type": "application/x-ndjson"})
    scores = [json.loads(line) for line in answer.text.splitlines()]
    assert [s["score"] for s in scores] == [0.0 if i == 3 else (0.1, 1.0)[i % 2] for i in range(700)]
    assert "missing required field" in scores[3]["detail"]
    empty = http.post("/score", content=b"", headers={"content-type": "application/x-ndjson"})
    assert (empty.status_code, empty.content) == (200, b"")


def test_a_stream_is_answered_while_it_is_being_sent(url: str) -> None:
    line = json.dumps(RIGHT).encode() + b"\n"
    chunk = b"%x\r\n%s\r\n" % (len(line), line)
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as connection:
        answer = connection.makefile("rb")
        head = "POST /score HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-type: application/x-ndjson"
        connection.sendall(head.encode() + b"\r\n\r\n")
        for _ in range(3):
            connection.sendall(chunk)
            while b'"correct":true' not in answer.readline():
                pass
        connection.sendall(b"0\r\n\r\n")
        while answer.readline() != b"0\r\n":
            pass


def test_a_stream_may_be_longer_than_a_body_but_a_line_may_not() -> None:
    app = create_app(Scorer(), max_body_bytes=1_000)
    with TestClient(app) as client:
        headers = {"content-type": "application/x-ndjson"}
        line = json.dumps(RIGHT).encode() + b"\n"
        answer = client.post("/score", content=(line for _ in range(100)), headers=headers)
        assert len(answer.text.splitlines()) == 100
        endless = client.post("/score", content=(b"x" * 100 for _ in range(100)), headers=headers)
        assert endless.status_code == 422
        assert app.state.request_scorer.admission.bytes == 0


@pytest.mark.parametrize("digits", [16, 20, 5_000])
def test_a_body_said_to_be_too_large_is_refused_before_it_comes(http: TestClient, digits: int) -> None:
    answer = http.post("/score", content=b"[]", headers={"content-length": "1" * digits})
    assert answer.status_code == 413


def test_the_rewards_and_the_document_are_listed(http: TestClient) -> None:
    gsm8k = next(r for r in http.get("/rewards").json() if r["name"] == "gsm8k")
    assert gsm8k["options"]["method"] == "strict"
    assert http.get("/rewards", params={"for": "gms8k"}).status_code == 404
    document = http.get("/openapi.json").json()
    example = document["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]["example"]
    assert http.post("/score", json=example).json()["score"] == 1.0
    assert http.get("/docs").status_code == 200


def test_the_client_scores_like_the_scorer(url: str) -> None:
    samples = [Sample("gsm8k", f"#### {i}", "3") for i in range(5)]
    with Scorer() as scorer, Client(url) as client:
        here, there = scorer.score_batch(samples), client.score_batch(samples)
        assert [(s.score, s.extracted, s.parts) for s in there] == [
            (s.score, s.extracted, s.parts) for s in here
        ]
        assert client.score(Sample("gsm8k", "half \ud800 #### 3", "3")).score == 1.0
        client.check(["gsm8k", "test/hang"])
        with pytest.raises(UnknownDataSourceError, match="did you mean gsm8k"):
            client.check(["gms8k"])


def test_a_hanging_reward_does_not_hold_up_the_others(url: str) -> None:
    async def main() -> list[str]:
        async with AsyncClient(url) as client:
            hanging = asyncio.create_task(client.ascore(Sample("test/hang", "", "")))
            quick = [await client.ascore(Sample("gsm8k", "#### 1", "1")) for _ in range(5)]
            assert not hanging.done()
            return [s.status for s in quick] + [(await hanging).status]

    assert asyncio.run(main()) == ["ok"] * 5 + ["timeout"]


def test_a_server_that_is_not_there_is_a_typed_error() -> None:
    with (
        Client("http://127.0.0.1:9", timeout_s=2.0) as client,
        pytest.raises(ServerError, match="rewardkit serve"),
    ):
        client.score(Sample("gsm8k", "", "1"))


def test_a_port_in_use_is_one_clear_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    port = httpx.URL(url).port
    assert run(["serve", "--port", str(port)]) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot listen on 127.0.0.1:{port}")


def test_token_files_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--token-file", str(tmp_path / "missing")]) == 2
    assert f"cannot read {tmp_path}/missing: " in capsys.readouterr().err
    assert run(["serve", "--tasks", str(tmp_path / "missing")]) == 2
    assert f"cannot read {tmp_path}/missing: " in capsys.readouterr().err
    (tmp_path / "empty").touch()
    assert run(["serve", "--token-file", str(tmp_path / "empty")]) == 2
    assert "no token" in capsys.readouterr().err


@pytest.mark.parametrize("typo", ["TYPO", "out/TYPO", "~/TYPO"])
def test_a_mistyped_reward_model_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typo: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    assert run(["serve", "--port", "0", "--reward-model", typo, "--for", "Dahoas/*"]) == 2
    assert "no such model folder" in capsys.readouterr().err
