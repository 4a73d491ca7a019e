"""A server that speaks chat completions and answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rewardkit import run_folder
from tests.one_core import one_core

__all__ = ["one_core"]

Answer = Callable[[dict[str, Any]], Any]
"""Of a request's body: the text to answer, a status that is no 200, a choice with all that belongs to it, or
None to drop the connection."""


class JudgeServer(ThreadingHTTPServer):
    """Answers each request with `answer(body)`, and counts 100 tokens for a question and 10 for an answer."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer: Answer = lambda body: f"{marker_in(body)} 7"
        self.usage: dict[str, Any] | None = {"prompt_tokens": 100, "completion_tokens": 10}
        self.bodies: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *_: object) -> None:
        """Keep quiet about clients that have gone."""


class _Handler(BaseHTTPRequestHandler):
    server: JudgeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.bodies.append(body)
        said = self.server.answer(body)
        if said is None:
            self.close_connection = True
            return
        if isinstance(said, str):
            said = {"message": {"content": said}, "finish_reason": "stop"}
        status = said if isinstance(said, int) else 200
        usage = {} if self.server.usage is None else {"usage": self.server.usage}
        content = json.dumps({"error": "no"} if status != 200 else {"choices": [said], **usage}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def text_in(body: dict[str, Any]) -> str:
    """What a request says, all of it."""
    return "\n".join(str(message["content"]) for message in body["messages"])


def marker_in(body: dict[str, Any]) -> str:
    """The marker that a request asks for."""
    word = [word for word in text_in(body).split() if word.startswith("VERDICT-")]
    return word[-1] if word else ""


@pytest.fixture(autouse=True)
def own_run(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Count what each test spends apart from all other tests."""
    monkeypatch.setenv(run_folder.VARIABLE, run_folder.value_for(tmp_path_factory.mktemp("run")))


@pytest.fixture
def judge_server() -> Iterator[JudgeServer]:
    with JudgeServer() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()
