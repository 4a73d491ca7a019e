"""Scores hostile responses with the rewards and a server, from the corpus of `tests/rewards/hostile.py`.

    PYTHONPATH=. python benchmarks/hostile.py [--only statuses|loop|large] [--inputs 100000] [--seconds 30]

`statuses`: this many generated responses, divided among the rewards and sizes; prints a table of the
statuses, and of the CPU time for 10,000 characters. Bar: no status but `ok`.

`loop`: four clients send requests of 64 responses of 5 to 60 kB to every reward, while `/healthz` is called
every 20 ms on this server and on an idle one, which shows the effect of the machine. Bar: the 99th percentile
of the response times is under 50 ms, on a machine without other load.

`large`: one large request at a time to several routes, whose contents are expensive to read, while `/healthz`
is called every 20 ms. Bar: the server process, which only passes the bytes on, spends less than 0.3 seconds
of CPU time on each, not counting the probes. This does not depend on the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from statistics import quantiles
from typing import Any

import httpx
import msgspec

import rewardkit.rewards  # noqa: F401  (registers the rewards)
from rewardkit.registry import REGISTRY
from rewardkit.scoring.runner import RewardRunner
from server import SERVE, Server
from tests.rewards.hostile import PROGRAMS, QUESTIONS, samples, texts

SIZES = (20, 200, 1_000, 10_000)
JAILED_SHARE = 100
"""Ratio of inputs for other rewards to inputs for a reward that runs programs."""
CLIENTS = 4
BATCH = 64
MOST_MS = 50.0
MOST_CPU_S = 0.3


def statuses(inputs: int, seed: int) -> bool:
    """Score hostile responses with every reward; return whether each status was `ok`."""
    bad = 0
    jailed = [name for name in QUESTIONS if REGISTRY.resolve(name).running.runs == "sandbox"]
    each = inputs // (len(QUESTIONS) - len(jailed))
    print(f"{'reward':16} {'inputs':>7} {'ms a 10 kB, median':>19} {'worst':>8}  statuses")
    for name, questions in QUESTIONS.items():
        reward = REGISTRY.resolve(name)
        run = RewardRunner(reward, reward.make_options({})).run
        count = each // (JAILED_SHARE if name in jailed else 1) // len(SIZES) // len(questions) + 1
        found: Counter[str] = Counter()
        cpu_ms = []
        for size in SIZES:
            for response in texts(size, count, seed + size):
                before = time.thread_time()
                scored = run(samples(name, response))
                if size == SIZES[-1]:
                    cpu_ms.append((time.thread_time() - before) * 1e3 / len(questions))
                found.update(score.status for score in scored)
                if any(score.status != "ok" for score in scored):
                    print(f"  {name}: {response[:80]!r}: {[score.detail for score in scored]}")
        bad += found.total() - found["ok"]
        middle = quantiles(cpu_ms, n=2)[0] if len(cpu_ms) > 1 else cpu_ms[0]
        print(
            f"{name:16} {found.total():7,} {middle:19.2f} {max(cpu_ms):8.2f}  {dict(found)}",
            flush=True,
        )
    return bad == 0


def _requests(seed: int) -> list[bytes]:
    rng = random.Random(seed)
    requests = []
    for name in QUESTIONS:
        responses = [next(texts(rng.randint(5_000, 60_000), 1, rng.randrange(1 << 30))) for _ in range(BATCH)]
        if REGISTRY.resolve(name).running.runs == "sandbox":
            responses = [f"```python\n{rng.choice(PROGRAMS)}\n```\n{text}" for text in responses]
        batch = [samples(name, response)[0] for response in responses]
        clean = [
            {
                "data_source": s.data_source,
                "response": s.response.encode(errors="replace").decode(),
                "ground_truth": s.ground_truth,
                "prompt": s.prompt,
                "extra_info": s.extra_info,
            }
            for s in batch
        ]
        requests.append(msgspec.json.encode(clean))
    return requests


async def _send(client: httpx.AsyncClient, requests: list[bytes], ends: float, seed: int) -> Counter[int]:
    rng = random.Random(seed)
    answers: Counter[int] = Counter()
    while time.perf_counter() < ends:
        answer = await client.post("/score", content=rng.choice(requests), timeout=None)
        answers[answer.status_code] += 1
    return answers


async def _probe(port: int, busy: asyncio.Future[Any]) -> list[float]:
    """Return the sorted response times in milliseconds."""
    client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}")
    waits = []
    while not busy.done():
        before = time.perf_counter()
        assert (await client.get("/healthz", timeout=None)).status_code == 200
        waits.append((time.perf_counter() - before) * 1e3)
        await asyncio.sleep(0.02)
    return sorted(waits)


async def _loop(port: int, idle_port: int, seconds: float, seed: int) -> bool:
    requests = _requests(seed)
    ends = time.perf_counter() + seconds
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        busy = asyncio.gather(*(_send(client, requests, ends, seed + i) for i in range(CLIENTS)))
        both = await asyncio.gather(_probe(port, busy), _probe(idle_port, busy))
        answers = sum(await busy, Counter())
    for name, waits in zip(("this server", "one that idles"), both, strict=True):
        print(
            f"/healthz of {name}: {len(waits)} probes, median {waits[len(waits) // 2]:.1f} ms, "
            f"99 % under {_late(waits):.1f} ms, {waits[-1]:.1f} ms at most"
        )
    print(f"answers to requests of {BATCH}: {dict(answers)}")
    return _late(both[0]) < MOST_MS


def _late(waits: list[float]) -> float:
    return waits[int(len(waits) * 0.99)]


def _large() -> dict[str, tuple[str, bytes]]:
    """Return the paths and bodies of large requests, by name."""
    text = "<|user|>6 * 12 = ?<|assistant|>#### 72"
    row = {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"}
    unknown = [{**row, "data_source": f"unknown-{i}"} for i in range(8_000)]
    said = [{"role": "assistant", "content": "#### 72"}]
    encode = msgspec.json.encode
    return {
        "8,000 unknown data sources": ("/score", encode(unknown)),
        "the same as lines": ("/score", b"\n".join(map(encode, unknown))),
        "a ground truth of 500,000 texts": ("/score", encode([{**row, "ground_truth": ["text"] * 500_000}])),
        "300,000 null responses": ("/score", encode([{**row, "response": None}] * 300_000)),
        "20,000 responses as messages": ("/score", encode([{**row, "response": said}] * 20_000)),
        "8,000 right responses": ("/score", encode([row] * 8_000)),
        "50,000 texts of LLaMA-Factory": ("/llama_factory/gsm8k", encode({"messages": [text] * 50_000})),
        "50,000 texts of vLLM": ("/classify", encode({"model": "gsm8k", "input": [text] * 50_000})),
        "2 MB of brackets": ("/score", b"[" * 1_000_000 + b"]" * 1_000_000),
    }


async def _alone(server: Server) -> bool:
    met = True
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}") as client:
        before = server.cpu_s()
        probes = await _probe(server.port, asyncio.create_task(asyncio.sleep(2.0)))
        probe_s = (server.cpu_s() - before) / len(probes)
        for name, (path, body) in _large().items():
            kind = "application/x-ndjson" if "lines" in name else "application/json"
            headers = {"content-type": kind, "x-timeout-s": "300"}
            posted = client.post(path, content=body, headers=headers, timeout=None)
            began, before = time.perf_counter(), server.cpu_s()
            busy = asyncio.ensure_future(posted)
            waits = await _probe(server.port, busy)
            spent_s = max(0.0, server.cpu_s() - before - len(waits) * probe_s)
            took_s = time.perf_counter() - began
            status = (await busy).status_code
            met = met and spent_s < MOST_CPU_S
            print(
                f"{name:32} {len(body) / 1e6:6.2f} MB: {status} after {took_s:5.1f} s; CPU of the server "
                f"process {spent_s * 1e3:6.0f} ms; /healthz 99 % under {_late(waits):6.1f} ms, "
                f"{waits[-1]:6.1f} ms at most",
                flush=True,
            )
    return met


def main() -> None:
    """Measure, and fail if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=("statuses", "loop", "large"))
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    met = True
    if args.only in (None, "statuses"):
        met = statuses(args.inputs, args.seed)
    if args.only in (None, "large"):
        server = Server(SERVE)
        try:
            met = asyncio.run(_alone(server)) and met
        finally:
            server.close()
    if args.only in (None, "loop"):
        command = [word for word in SERVE if word != "--no-sandbox"]
        servers = [Server(command), Server(command)]
        try:
            met = asyncio.run(_loop(servers[0].port, servers[1].port, args.seconds, args.seed)) and met
        finally:
            for server in servers:
                server.close()
    sys.exit(not met)


if __name__ == "__main__":
    main()
