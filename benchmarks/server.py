"""Measures the cost of the server compared with a bare FastAPI echo, and its behaviour in a trainer's burst.

    python benchmarks/server.py [--only peer|echo|burst|crowd] [--seconds 0.1] [--samples 1400] [--nap 0.2]

`peer`: CPU time beside a plain server of FastAPI and pydantic with verl's function, measured as for `echo`.
No request is sent twice. A request has 1 sample, or 8 responses to each of 8 prompts, half of them right,
with answers distributed as in GSM8K.
Bars: at most 1.2 times the peer for one sample, and at most 0.9 times for 64.

`echo`: CPU time of the server process (`/proc/PID/schedstat`), which other jobs disturb less than elapsed
time. Both servers run uvicorn with uvloop and httptools in one process; the load comes from raw sockets over
16 keep-alive connections. The figures are medians of five rounds; no bar.

`burst`: OpenRLHF's client has all samples of a step in flight at once, each in a separate request over its
own connection, and waits 180 s. Bars: every sample is scored; meanwhile, a second client's sample of the same
reward, sent every two seconds, is answered within a second in the median, and always within five.

`crowd`: 3,000 posts of aiohttp at once, each over its own connection, while eight processes keep the cores
busy. Bar: 3,000 scores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median

import aiohttp
import msgspec

CONNECTIONS = 16
ROUNDS = 5
TURNS = 20
SERVE = [sys.executable, "-m", "rewardkit", "serve", "--port", "0", "--no-sandbox"]
SIZES = (1, 64)
"""Numbers of samples in a request."""

CROWD = 3_000
BUSY = 8
BUSY_LOOP = [sys.executable, "-c", "while True: pass"]

CLIENT_WAITS_S = 180.0
OTHER_EVERY_S = 2.0
OTHER_MEDIAN_S = 1.0
OTHER_WAITS_S = 5.0

ECHO = """
import socket, uvicorn
from fastapi import FastAPI, Request, Response
app = FastAPI()
@app.post("/score")
async def echo(request: Request):
    return Response(await request.body(), media_type="application/json")
bound = socket.socket(); bound.bind(("127.0.0.1", 0)); bound.listen(4096)
import sys; print(f"http://127.0.0.1:{bound.getsockname()[1]}", file=sys.stderr, flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[bound])
"""
PEER = """
import socket, sys, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from rewardkit.rewards.gsm8k import verl_score
class Row(BaseModel):
    data_source: str
    response: str
    ground_truth: str
    prompt: list[dict[str, str]] | None = None
    extra_info: dict[str, object] = {}
class Result(BaseModel):
    score: float
app = FastAPI()
def scored(row):
    return Result(score=verl_score(row.response, row.ground_truth))
@app.post("/score")
async def score(rows: Row | list[Row]) -> Result | list[Result]:
    return [scored(row) for row in rows] if isinstance(rows, list) else scored(rows)
bound = socket.socket(); bound.bind(("127.0.0.1", 0)); bound.listen(4096)
print(f"http://127.0.0.1:{bound.getsockname()[1]}", file=sys.stderr, flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[bound])
"""
"""Server whose `verl_score` gives the same scores as verl's own function, for every input."""
GROUP = 8
"""Number of responses to a prompt."""

PEER_BARS = {1: 1.2, 64: 0.9}

REWARD = """
import time
from rewardkit import reward

@reward("bench/nap", timeout_s=30)
def nap(sample):
    time.sleep(float(sample.ground_truth))
    return 1.0
"""
"""Reward whose ground truth is the time for a sample, in seconds."""


def sample(i: int) -> dict[str, object]:
    """Return one GSM8K sample of about 850 bytes: the question, a worked answer, the ground truth."""
    steps = " ".join(f"Then {k} bags of {i + k} apples make {k * (i + k)} apples." for k in range(2, 9))
    return {
        "data_source": "openai/gsm8k",
        "prompt": [
            {"role": "user", "content": f"A farmer has {i} trees. {steps} How many apples are there?"}
        ],
        "response": f"Let us count. {steps}\n#### {i}",
        "ground_truth": str(i - i % 2),
    }


class Server:
    """A server process, with its CPU time."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        found = re.search(r"http://\S+:(\d+)", self.process.stderr.readline())
        assert found is not None, "the server did not start"
        self.port = int(found[1])

    def cpu_s(self) -> float:
        """Return the CPU time of all its threads so far."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(path.read_text().split()[0]) for path in tasks) / 1e9

    def close(self) -> None:
        """Stop the process."""
        self.process.terminate()
        self.process.wait()


def same(n: int) -> Iterator[bytes]:
    """Yield the same request again and again."""
    body = msgspec.json.encode(sample(3) if n == 1 else [sample(i) for i in range(n)])
    while True:
        yield body


def fresh(n: int, seed: int) -> Iterator[bytes]:
    """Yield requests with the responses of a trainer's groups, no two of them equal.

    The answers are distributed as in GSM8K: most are small numbers. A wrong answer is near the right one.
    """
    rng = random.Random(seed)
    for i in count():
        groups = []
        for k in range(-(-n // GROUP)):
            truth = round(10 ** rng.uniform(0, 3.3))
            row = sample(i * GROUP + k) | {"ground_truth": str(truth)}
            said = str(row["response"]).partition("####")[0]
            wrong = [truth + rng.randint(-9, 10) for _ in range(GROUP // 2)]
            groups += [row | {"response": f"{said}#### {a}"} for a in [truth] * (GROUP // 2) + wrong]
        yield msgspec.json.encode(rng.choice(groups) if n == 1 else groups)


async def load(port: int, bodies: Iterator[bytes], seconds: float) -> int:
    """Send requests on each connection; return how many were answered with 200."""
    ends = time.perf_counter() + seconds

    async def connection() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        answered = 0
        while not answered or time.perf_counter() < ends:
            body = next(bodies)
            head = (
                "POST /score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
            assert length is not None
            await reader.readexactly(int(length[1]))
            answered += 1
        writer.close()
        return answered

    return sum(await asyncio.gather(*(connection() for _ in range(CONNECTIONS))))


def measure(servers: list[Server], bodies: list[Iterator[bytes]], seconds: float) -> list[list[float]]:
    """Return the CPU seconds per request to each server, in each of the rounds.

    Within a round, the servers are called alternately, many times and briefly, so that other load on the
    machine affects all of them.
    """
    for server, mine in zip(servers, bodies, strict=True):
        asyncio.run(load(server.port, mine, seconds))
    return [_round(servers, bodies, seconds) for _ in range(ROUNDS)]


def _round(servers: list[Server], bodies: list[Iterator[bytes]], seconds: float) -> list[float]:
    cpu_s = [0.0] * len(servers)
    answered = [0] * len(servers)
    for _ in range(TURNS):
        for i, server in enumerate(servers):
            before = server.cpu_s()
            answered[i] += asyncio.run(load(server.port, bodies[i], seconds))
            cpu_s[i] += server.cpu_s() - before
    return [spent / n for spent, n in zip(cpu_s, answered, strict=True)]


async def ask(port: int, nap_s: float, client: str) -> tuple[str, float]:
    """Send one sample as OpenRLHF does; return its outcome and the seconds that it took."""
    body = json.dumps({"query": ["q\na"], "prompts": ["q\n"], "labels": [str(nap_s)]})
    head = f"POST /openrlhf/bench/nap HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-client-id: {client}\r\n"
    began = time.perf_counter()
    try:
        async with asyncio.timeout(CLIENT_WAITS_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
            answer = await reader.read()
            writer.close()
    except (OSError, TimeoutError) as error:
        return type(error).__name__, time.perf_counter() - began
    scored = b'"rewards":[1.0]' in answer
    return "scored" if scored else answer[9:12].decode(), time.perf_counter() - began


async def bear(port: int, samples: int, nap_s: float) -> list[str]:
    """Run both clients, print the results, and return the missed bars."""
    await ask(port, nap_s, "warm-up")
    burst = asyncio.gather(*(ask(port, nap_s, "trainer") for _ in range(samples)))
    waits: list[float] = []
    while not burst.done():
        await asyncio.wait([burst], timeout=OTHER_EVERY_S)
        outcome, took_s = await ask(port, nap_s, "other")
        assert outcome == "scored", outcome
        waits.append(took_s)
    outcomes = Counter(outcome for outcome, _ in await burst)
    slowest = max(took_s for _, took_s in await burst)
    print(f"burst: {dict(outcomes)}, the last after {slowest:.1f} s")
    print(f"the other client: {len(waits)} samples, median {median(waits):.2f} s, slowest {max(waits):.2f} s")
    missed = {
        "a sample of the burst was lost": outcomes["scored"] < samples,
        "the other client waited": max(waits) > OTHER_WAITS_S or median(waits) > OTHER_MEDIAN_S,
    }
    return [bar for bar, is_missed in missed.items() if is_missed]


async def crowd(port: int) -> list[str]:
    """Post all at once, print the results, and return the bar if it was missed."""
    body = msgspec.json.encode(sample(2))
    headers = {"content-type": "application/json"}

    async def post(session: aiohttp.ClientSession) -> str:
        try:
            async with session.post(f"http://127.0.0.1:{port}/score", data=body, headers=headers) as answer:
                scored = (await answer.json()).get("score") == 1.0
                return "scored" if scored else str(answer.status)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return type(error).__name__

    began = time.perf_counter()
    limits = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=CLIENT_WAITS_S)
    async with aiohttp.ClientSession(connector=limits[0], timeout=limits[1]) as session:
        outcomes = Counter(await asyncio.gather(*(post(session) for _ in range(CROWD))))
    print(f"crowd: {dict(outcomes)} of {CROWD:,} in {time.perf_counter() - began:.1f} s")
    return ["a post of the crowd was lost"] if outcomes["scored"] < CROWD else []


def crowd_beside_busy_processes() -> list[str]:
    """Run the crowd while other processes keep the cores busy."""
    busy = [subprocess.Popen(BUSY_LOOP) for _ in range(BUSY)]
    server = Server(SERVE)
    try:
        return asyncio.run(crowd(server.port))
    finally:
        server.close()
        for process in busy:
            process.kill()
            process.wait()


@contextmanager
def nap_server(scorers: int = 2) -> Iterator[int]:
    """Run a server whose only reward sleeps, with this many scoring processes; yield its port."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as reward:
        reward.write(REWARD)
        reward.flush()
        options = ["--scorers", str(scorers), "--reward", reward.name]
        server = Server([*SERVE, *options])
        try:
            yield server.port
        finally:
            server.close()


def beside(seconds: float, name: str, code: str) -> dict[int, float]:
    """Measure our server and another one, print a table, and return the ratio for each size."""
    ours, other = Server(SERVE), Server([sys.executable, "-c", code])
    ratios: dict[int, float] = {}
    try:
        for n in SIZES:
            bodies = [same(n), same(n)] if name == "echo" else [fresh(n, 2), fresh(n, 3)]
            rounds = measure([ours, other], bodies, seconds)
            mine, bare = (median(costs) for costs in zip(*rounds, strict=True))
            each = [a / b for a, b in rounds]
            ratios[n] = median(each)
            print(
                f"{n:3} samples, {len(next(bodies[0])):6} bytes: {mine * 1e6:6.1f} us CPU/request, "
                f"{name} {bare * 1e6:6.1f} us, {ratios[n]:.2f} x "
                f"(rounds {', '.join(f'{ratio:.2f}' for ratio in each)}); "
                f"{1 / mine:7,.0f} requests/s, {n / mine:8,.0f} samples/s per core",
                flush=True,
            )
    finally:
        ours.close()
        other.close()
    return ratios


def main() -> None:
    """Measure, and fail if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=("peer", "echo", "burst", "crowd"))
    parser.add_argument("--seconds", type=float, default=0.1, help="of a turn; 20 turns are a round")
    parser.add_argument("--samples", type=int, default=1_400, help="in flight at once")
    parser.add_argument("--nap", type=float, default=0.2, help="seconds to score a sample of the burst")
    args = parser.parse_args()
    missed: list[str] = []
    if args.only in (None, "peer"):
        ratios = beside(args.seconds, "peer", PEER)
        missed += [
            f"{ratios[n]:.2f} times the peer for {n}" for n, bar in PEER_BARS.items() if ratios[n] > bar
        ]
    if args.only in (None, "echo"):
        beside(args.seconds, "echo", ECHO)
    if args.only in (None, "burst"):
        with nap_server() as port:
            missed += asyncio.run(bear(port, args.samples, args.nap))
    if args.only in (None, "crowd"):
        missed += crowd_beside_busy_processes()
    sys.exit("; ".join(missed) or 0)


if __name__ == "__main__":
    main()
