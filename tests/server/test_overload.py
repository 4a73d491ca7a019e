"""Far more work than the server can do: each request gets scores or a 503 at once, and it recovers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from rewardkit import Client, Sample
from tests.server.serving import serving

NAP_S = 0.02
TIMES = 20
SECONDS = 3.0
DEADLINE_S = 12.0
"""Half of it is kept for errors, so that a busy machine too scores in time what it has taken on."""


async def ask(port: int, body: bytes) -> tuple[int, dict[bytes, bytes], bytes]:
    """One request over its own connection, as trainers that do not keep theirs send it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /score HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-timeout-s: {DEADLINE_S}\r\n"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    answer = await reader.read()
    writer.close()
    start, _, rest = answer.partition(b"\r\n")
    lines, _, content = rest.partition(b"\r\n\r\n")
    headers = dict(line.split(b": ", 1) for line in lines.split(b"\r\n"))
    return int(start.split()[1]), headers, content


@pytest.mark.slow
def test_far_too_many_requests_are_each_answered_and_the_server_recovers(tmp_path: Path) -> None:
    body = json.dumps({"data_source": "test/nap", "response": "", "ground_truth": str(NAP_S)}).encode()

    async def load() -> list[tuple[int, dict[bytes, bytes], bytes]]:
        asked = []
        for _ in range(round(SECONDS / NAP_S)):
            asked += [asyncio.create_task(ask(server.port, body)) for _ in range(TIMES)]
            await asyncio.sleep(NAP_S)
        return await asyncio.gather(*asked)

    with serving(tmp_path, "--scorers", "1") as server, Client(server.url) as client:
        assert client.score(Sample("test/nap", "", str(NAP_S))).ok
        answers = asyncio.run(load())
        scored = [json.loads(content) for status, _, content in answers if status == 200]
        refused = [headers for status, headers, _ in answers if status == 503]
        assert len(scored) + len(refused) == len(answers) == TIMES * round(SECONDS / NAP_S)
        statuses = [score["status"] for score in scored]  # a busier machine than was expected is a timeout
        assert set(statuses) <= {"ok", "timeout"} and statuses.count("ok") > 20
        assert len(refused) > len(scored)
        assert all(int(headers[b"retry-after"]) >= 1 for headers in refused)
        assert client.score(Sample("test/nap", "", str(NAP_S))).ok
        assert server.stop() == 0
