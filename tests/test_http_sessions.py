"""Kept connections leave nothing to say behind: whatever becomes of the event loop, stderr is empty."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

ENDS = {
    "run twice": "asyncio.run(scored()); asyncio.run(scored())",
    "left open": "loop = asyncio.new_event_loop(); loop.run_until_complete(scored())",
    "in a thread": (
        "loop = asyncio.new_event_loop(); threading.Thread(target=loop.run_forever, daemon=True).start(); "
        "asyncio.run_coroutine_threadsafe(scored(), loop).result()"
    ),
    "cancelled": "asyncio.run(late())",
}
SCRIPT = """
import asyncio, sys, threading
from rewardkit import AsyncClient, Sample
from rewardkit.adapters import verl
from rewardkit.adapters.callable import make_async_reward
from rewardkit.model_api.client import Endpoint, complete_text
url = sys.argv[1]

async def scored():
    assert (await verl.acompute_score("gsm8k", "#### 72", "72", url=url))["score"] == 1.0
    assert await make_async_reward("gsm8k", url=url)(["#### 72"], ["72"]) == [1.0]
    assert (await AsyncClient(url).ascore(Sample("gsm8k", "#### 72", "72"))).ok
    async with AsyncClient(url) as client:
        assert (await client.ascore(Sample("gsm8k", "#### 72", "72"))).ok
    assert await complete_text(Endpoint(url, "m"), [], temperature=0.0, max_tokens=1, extra_body={}) == "72"

async def late():
    await scored()
    task = asyncio.create_task(verl.acompute_score("gsm8k", "#### 72", "72", url=url))
    await asyncio.sleep(0)
    task.cancel()

END
print("scored")
"""


class _Scores(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_chat = self.path == "/chat/completions"
        said = {"choices": [{"message": {"content": "72"}}]} if is_chat else [{"score": 1.0}] * len(asked)
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Scores) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
def test_sessions_end_with_their_loop_or_with_the_process(url: str, end: str) -> None:
    command = [sys.executable, "-c", SCRIPT.replace("END", ENDS[end]), url]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("scored\n", "", 0)
