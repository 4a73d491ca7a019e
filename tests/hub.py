"""A model hub on this machine, as far as one asks it whether there is a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

HEADERS = {"ETag": '"1"', "X-Repo-Commit": "0" * 40, "Content-Length": "2"}
ANSWERS = {
    "someone/has-it": (200, HEADERS),
    "someone/asks-first": (403, {"X-Error-Code": "GatedRepo"}),
    "someone/has-weights": (404, {"X-Error-Code": "EntryNotFound"}),
    "someone/is-busy": (503, {}),
}
"""By model; of others it says that it has none, and to `someone/sleeps` nothing at all."""


@contextmanager
def hub(monkeypatch: pytest.MonkeyPatch, patience_s: float = 20.0) -> Iterator[list[str]]:
    """Stand in for the hub; yields the paths that it is asked for."""
    asked: list[str] = []
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(self.path)
            name = self.path.removeprefix("/").partition("/resolve/")[0]
            if name == "someone/sleeps":
                over.wait()
                return
            status, headers = ANSWERS.get(name, (404, {"X-Error-Code": "RepoNotFound"}))
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT", patience_s)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    try:
        yield asked
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
