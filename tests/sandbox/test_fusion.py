"""SandboxFusion's `/run_code`: our route answers as theirs does, our client reads it, failures stay failures."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rewardkit.sandbox import Limits, Pool, SandboxUnavailable
from rewardkit.sandbox.fusion import FusionClient, run_code
from rewardkit.sandbox.levels import why_not


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    with Pool(1) as pool:
        yield lambda body: asyncio.run(run_code(pool, body))


@pytest.fixture(scope="module")
def service(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(500 if body["code"] == "break" else 200)
            self.end_headers()
            self.wfile.write(json.dumps(ask(body)).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/run_code"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_route_answers_as_sandbox_fusion_does(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    answer = ask(
        {
            "code": "print(int(input()) + 1)",
            "stdin": "41",
            "language": "python",
            "run_timeout": 5,
            "memory_limit_MB": None,
        }
    )
    assert answer["status"] == "Success"
    assert answer["compile_result"] is None
    assert (
        answer["run_result"].items()
        >= {"status": "Finished", "return_code": 0, "stdout": "42\n", "stderr": ""}.items()
    )
    failed = ask({"code": "1 / 0"})
    assert (failed["status"], failed["run_result"]["return_code"]) == ("Failed", 1)
    late = ask({"code": "while True: pass", "run_timeout": 0.1})
    assert (late["status"], late["run_result"]["status"]) == ("Failed", "TimeLimitExceeded")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"code": 3},
        {"code": "x", "language": "cpp"},
        {"code": "x", "run_timeout": -1},
        {"code": "x", "files": {"a": ""}},
        {"code": "x", "memory_limit_MB": "a"},
    ],
)
def test_what_cannot_be_run_is_an_error_of_the_service(
    body: dict[str, Any], ask: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    answer = ask(body)
    assert (answer["status"], answer["run_result"]) == ("SandboxError", None)
    assert answer["message"]


def test_the_client_reads_what_the_route_says(service: str) -> None:
    client = FusionClient(service)
    good = client.run("print(int(input()) + 1)", "41")
    assert (good.status, good.stdout, good.exit_code) == ("ok", b"42\n", 0)
    assert client.run("1 / 0").status == "runtime_error"
    assert client.run("while True: pass", limits=Limits(cpu_s=0.1)).status == "wall_timeout"
    assert client.run("x", language="cpp").status == "sandbox_error"
    assert client.run("break").status == "sandbox_error"


def test_a_service_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(SandboxUnavailable, match="is it running"):
        FusionClient("http://127.0.0.1:9/run_code").run("print(1)")
