"""Small HTTP servers of other projects' wire shapes, for tests."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any] | tuple[int, Any, Mapping[str, str]]
"""Status, body (bytes, or data that becomes JSON), further headers."""
Answering = Callable[[str, Any, Mapping[str, str]], Answer]
"""(path, decoded body, headers) -> what to answer."""


class _Handler(BaseHTTPRequestHandler):
    server: JsonServer
    protocol_version = "HTTP/1.1"

    def _do(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"] or 0))
        self.server.asked.append(self.path)
        answer = self.server.answering(self.path, json.loads(content) if content else None, self.headers)
        body = answer[1] if isinstance(answer[1], bytes) else json.dumps(answer[1]).encode()
        self.send_response(answer[0])
        for name, value in {"Content-Length": str(len(body)), **dict(*answer[2:])}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _do

    def log_message(self, *_: object) -> None:
        pass


class JsonServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answering: Answering) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answering = answering
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


@contextlib.contextmanager
def serving(answering: Answering) -> Iterator[JsonServer]:
    with JsonServer(answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
