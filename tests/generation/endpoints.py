"""Chat endpoints on this machine, for tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any, dict[str, str]]
"""Status, body as data, further headers."""


class Endpoint:
    """Answers each POST by `answer`, in a thread of its own, until it is closed."""

    def __init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, said, headers = outer.answer(body, self.headers)
                content = json.dumps(said).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        raise NotImplementedError

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class Server(Endpoint):
    """Answers with the question and the seed; `refuse` refuses some requests first."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.refuse: dict[str, list[int]] = {}
        """Of a question, the statuses of its first answers."""
        self.retry_after = ""
        self.says: Callable[[dict[str, Any]], tuple[int, Any]] | None = None
        """A status and an answer in place of the usual ones."""
        self.holds_after: int | None = None
        """From how many requests on it answers none."""
        self.released = threading.Event()
        self.lock = threading.Lock()
        super().__init__()

    def answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        question = body["messages"][-1]["content"]
        with self.lock:
            self.asked.append(body | {"authorization": headers.get("Authorization")})
            statuses = self.refuse.get(str(question))
            status = statuses.pop(0) if statuses else 200
            held = self.holds_after is not None and len(self.asked) > self.holds_after
        if held:
            self.released.wait()
        said: Any = completion(body, question) if status == 200 else {"error": "no"}
        if self.says is not None:
            status, said = self.says(body)
        return status, said, {"Retry-After": self.retry_after} if status != 200 and self.retry_after else {}


def completion(body: dict[str, Any], question: str) -> dict[str, Any]:
    token = {"token": "x", "logprob": -0.5}
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": f"{question} seed {body['seed']}"}}
    choice |= {
        "finish_reason": "stop",
        "logprobs": {"content": [token, token]} if body.get("logprobs") else None,
    }
    return {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
