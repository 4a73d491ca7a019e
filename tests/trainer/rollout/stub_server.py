"""A stand-in for a vLLM server: the same wire form, no model, and faults at will."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from safetensors import safe_open

Answered = dict[str, Any]


def response_to(request: Answered) -> list[int]:
    """What a stub draws: prompt and seed alone decide it."""
    asked = request["sampling_params"]
    draw = random.Random(f"{request['token_ids']} {asked['seed']}")
    return [draw.randrange(5, 100) for _ in range(asked["max_tokens"])]


class Stub:
    """One server, on a port of its own until it is closed."""

    def __init__(self, port: int = 0) -> None:
        self.calls: list[str] = []
        """Paths that were asked for, in order; not those of turns and versions."""
        self.turns: list[Answered] = []
        self.received: list[list[str]] = []
        """Names of the tensors of each bucket."""
        self.version = "default"
        self.adapters: list[str] = []
        """Those that it has, by name."""
        self.dies_at: int | None = None
        """The turn at which it is gone, like a process that was killed."""
        self.gone = False
        self.fails: dict[str, int] = {}
        """How often a path is answered 500, from now on."""
        self.refuses: Any = lambda request: None
        """The status with which it answers a turn, if not 200."""
        self.spoil: Any = lambda answer: answer
        """What it makes of an answer to a turn."""
        self.seconds = 0.0
        """What a turn takes."""
        self._server = self._listen(port)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Be gone."""
        self._server.shutdown()
        self._server.server_close()

    def come_back(self) -> None:
        """Listen again where it did."""
        self.dies_at = None
        self.gone = False
        self._server = self._listen(self._server.server_port)

    def _listen(self, port: int) -> ThreadingHTTPServer:
        server = _Quiet(("127.0.0.1", port), type("Handler", (_Handler,), {"stub": self}))
        threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True).start()
        return server

    def turn(self, request: Answered) -> Answered | None:
        """Return an answer; None: the connection breaks."""
        self.turns.append(request)
        if self.dies_at is not None and len(self.turns) > self.dies_at:
            self.gone = True
            threading.Thread(target=self.close).start()
        if self.gone:
            return None
        time.sleep(self.seconds)
        ids = response_to(request)
        content = [{"token_id": i, "logprob": -1.0 - i / 1000, "rank": 1, "top_logprobs": []} for i in ids]
        choice = {
            "index": 0,
            "token_ids": ids,
            "finish_reason": "length",
            "stop_reason": None,
            "weight_versions": [{"version": self.version, "start": 0, "end": len(ids)}],
            "logprobs": {"content": content},
        }
        answer: Answered = self.spoil({"choices": [choice], "usage": {"prompt_tokens": 3}})
        return answer

    def models(self) -> list[str]:
        """Return what can be asked for."""
        return ["policy", *self.adapters]

    def control(self, path: str, body: Answered) -> Answered:
        """Answer a call about weights."""
        self.calls.append(path)
        if path == "/update_weights":
            info = body["update_info"]
            with safe_open(info["path"], "pt") as file:
                assert set(file.keys()) == set(info["names"])
            self.received.append(info["names"])
        if path == "/v1/load_lora_adapter":
            assert sorted(
                path.name for path in Path(body["lora_path"]).iterdir() if "adapter" in path.name
            ) == [
                "adapter_config.json",
                "adapter_model.safetensors",
            ]
            self.adapters.append(body["lora_name"])
        if path == "/v1/unload_lora_adapter":
            self.adapters.remove(body["lora_name"])
        if path == "/finish_weight_update":
            self.version = body["weight_version"]
        return {}


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that do not wait."""


class _Handler(BaseHTTPRequestHandler):
    stub: Stub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        answers: dict[str, Answered] = {
            "/weight_info": {"weight_version": self.stub.version},
            "/get_world_size": {"world_size": 1},
            "/v1/models": {"data": [{"id": name, "max_model_len": 512} for name in self.stub.models()]},
        }
        self._answer(200, answers[self.path])

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if self.stub.fails.get(path, 0):
            self.stub.fails[path] -= 1
            self.stub.calls.append(f"{path} failed")
            self._answer(500, {"error": {"message": "EngineCore encountered an issue"}})
        elif path == "/inference/v1/generate" and body.get("model", "policy") not in self.stub.models():
            self._answer(404, {"error": {"message": f"The model {body['model']} does not exist."}})
        elif path == "/inference/v1/generate" and (status := self.stub.refuses(body)):
            self.stub.turns.append(body)
            self._answer(status, {"error": {"message": "not this time"}})
        elif path == "/inference/v1/generate":
            answer = self.stub.turn(body)
            if answer is None:
                self.close_connection = True
            else:
                self._answer(200, answer)
        else:
            self._answer(200, self.stub.control(path, body))

    def _answer(self, status: int, document: Answered) -> None:
        if self.stub.gone:
            self.close_connection = True
            return
        said = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def main(port: int, dies_at: int) -> None:
    """Serve as a process, which exits at the turn after `dies_at` turns unless that is negative."""
    stub = Stub(port)
    answered = stub.turn

    def turn(request: Answered) -> Answered | None:
        if dies_at >= 0 and len(stub.turns) >= dies_at:
            os._exit(0)
        return answered(request)

    stub.turn = turn  # type: ignore[method-assign]
    threading.Event().wait()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
