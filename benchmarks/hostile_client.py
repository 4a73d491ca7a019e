"""Latency of one client's samples while another client is hostile, by each of twelve means.

    PYTHONPATH=. python benchmarks/hostile_client.py [--only MEANS ...] [--seconds 6]

The hostile client runs in a process of its own with the lowest priority, and has an address of its own. The
other client sends one sample every 20 ms, in turn to a reward that the server scores itself and to one that
needs a worker. It sends the same samples to a second server, which is otherwise idle, and thus shows the
effect of the machine. Bar: for each means, the 99th percentile is less than twice that of the idle server,
and no request is refused.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec

from server import SERVE, Server

HOSTILE, OTHER = "127.0.0.2", "127.0.0.1"
EVERY_S = 0.02
BAR = 2.0
PROGRAM = {"sleeps": "import time\ntime.sleep(1000)", "spins": "while True: pass"}

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter


async def connect(port: int, address: str = HOSTILE) -> tuple[Reader, Writer]:
    """Open a connection from an address."""
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))


def head(length: int, path: str = "/score", more: str = "", kind: str = "application/json") -> bytes:
    """Return the headers of a request."""
    return (
        f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\n\r\n"
    ).encode()


async def answer(reader: Reader) -> tuple[int, bytes]:
    """Read one answer with a Content-Length."""
    said = await reader.readuntil(b"\r\n\r\n")
    length = int(said.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return int(said[9:12]), await reader.readexactly(length)


async def drain(reader: Reader) -> None:
    """Read answers until the connection ends."""
    while await reader.read(1 << 16):
        pass


async def forever(port: int, body: bytes, path: str = "/score", more: str = "") -> None:
    """Send a request again and again."""
    while True:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await connect(port)
            while True:
                writer.write(head(len(body), path, more) + body)
                if (await answer(reader))[0] == 503:
                    await asyncio.sleep(0.05)
        await asyncio.sleep(0.05)


def row(**more: object) -> dict[str, object]:
    return {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72", **more}


def maths(i: int) -> dict[str, object]:
    return row(data_source="math", response=f"\\boxed{{x^{i}+1}}", ground_truth="(x+1)^9")


def code(kind: str, i: int) -> dict[str, object]:
    truth = '{"inputs": ["1\\n"], "outputs": ["2\\n"]}'
    return row(
        data_source="apps", response=f"```python\n{PROGRAM[kind]} # {i}\n```", ground_truth=truth, prompt=None
    )


async def cheap(port: int) -> None:
    """Send cheap samples on 32 connections."""
    body = msgspec.json.encode(row())
    await asyncio.gather(*(forever(port, body) for _ in range(32)))


async def batches(port: int) -> None:
    """Send large batches on 8 connections."""
    body = msgspec.json.encode([row()] * 8_000)
    await asyncio.gather(*(forever(port, body) for _ in range(8)))


async def unknown(port: int) -> None:
    """Send 50,000 unknown data sources at a time."""
    body = msgspec.json.encode([row(data_source=f"unknown-{i}") for i in range(50_000)])
    await asyncio.gather(*(forever(port, body) for _ in range(4)))


async def drips(port: int) -> None:
    """Announce 64 MiB on 64 connections, and send a byte at a time."""

    async def drip() -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await connect(port)
                writer.write(head(64 << 20))
                while not writer.is_closing():
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.1)

    await asyncio.gather(*(drip() for _ in range(64)))


async def heads(port: int) -> None:
    """Open connections, 200 a second, that send their headers slowly."""

    async def slow() -> None:
        with contextlib.suppress(OSError):
            _, writer = await connect(port)
            for byte in head(10):
                writer.write(bytes([byte]))
                await asyncio.sleep(0.5)

    tasks = set()
    while True:
        tasks.add(asyncio.create_task(slow()))
        await asyncio.sleep(0.005)


async def names(port: int) -> None:
    """Send dear samples under 500 names."""
    body = msgspec.json.encode([maths(i) for i in range(60)])
    await asyncio.gather(*(forever(port, body, more=f"x-client-id: {i}\r\n") for i in range(200)))


async def programs(port: int, kind: str) -> None:
    await asyncio.gather(
        *(forever(port, msgspec.json.encode(code(kind, i)), more="x-timeout-s: 60\r\n") for i in range(64))
    )


async def sleeps(port: int) -> None:
    """Send 64 programs that sleep."""
    await programs(port, "sleeps")


async def spins(port: int) -> None:
    """Send 64 programs that spin."""
    await programs(port, "spins")


async def runs(port: int) -> None:
    """Send 64 sleepers to `/run_code`."""
    body = json.dumps({"code": PROGRAM["sleeps"], "language": "python", "run_timeout": 20}).encode()
    await asyncio.gather(*(forever(port, body, "/run_code") for _ in range(64)))


async def lines(port: int) -> None:
    """Send endless lines on 8 connections."""
    some = b"".join(msgspec.json.encode(row(response=f"#### {i}" + " x" * 100)) + b"\n" for i in range(500))

    async def stream() -> None:
        while True:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await connect(port)
                writer.write(
                    b"POST /score HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\n"
                    b"transfer-encoding: chunked\r\n\r\n"
                )
                reading = asyncio.create_task(drain(reader))
                while not reading.done():
                    writer.write(f"{len(some):x}\r\n".encode() + some + b"\r\n")
                    await writer.drain()
                    await asyncio.sleep(0.02)

    await asyncio.gather(*(stream() for _ in range(8)))


async def leaves(port: int) -> None:
    """Send dear samples, and disconnect at once."""
    body = msgspec.json.encode([maths(i) for i in range(60)])

    async def leave() -> None:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await connect(port)
                writer.write(head(len(body)) + body)
                await writer.drain()
                await asyncio.sleep(0.02)
                writer.transport.abort()

    await asyncio.gather(*(leave() for _ in range(16)))


async def pipelines(port: int) -> None:
    """Send 400 requests at a time on each of 16 connections, without reading the answers."""
    body = msgspec.json.encode(row())
    request = (head(len(body)) + body) * 400

    async def pipeline() -> None:
        while True:
            with contextlib.suppress(OSError, TimeoutError):
                _, writer = await connect(port)
                async with asyncio.timeout(2.0):
                    while not writer.is_closing():
                        writer.write(request)
                        await writer.drain()
                        await asyncio.sleep(0.05)
                writer.transport.abort()

    await asyncio.gather(*(pipeline() for _ in range(16)))


MEANS: dict[str, Callable[[int], Awaitable[object]]] = {
    one.__name__: one
    for one in (
        cheap,
        batches,
        unknown,
        drips,
        heads,
        names,
        sleeps,
        spins,
        runs,
        lines,
        leaves,
        pipelines,
    )
}


class Other:
    """The client that is not hostile.

    Args:
        ports: Ports of the servers.
    """

    def __init__(self, ports: list[int]) -> None:
        self.ports = ports
        self.took: dict[tuple[int, str], list[float]] = {}
        self.statuses: Counter[tuple[int, int]] = Counter()

    async def ask(self, port: int, kind: str, body: bytes) -> None:
        before = time.perf_counter()
        status = 0
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await connect(port, OTHER)
            writer.write(head(len(body)) + body)
            status, _ = await answer(reader)
            writer.close()
        self.took.setdefault((port, kind), []).append((time.perf_counter() - before) * 1e3)
        self.statuses[port, status] += 1

    async def run(self, seconds: float) -> None:
        bodies = {
            "inline": msgspec.json.encode(row()),
            "worker": msgspec.json.encode(row(data_source="math", response="\\boxed{72}")),
        }
        tasks = []
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends:
            for kind, body in bodies.items():
                for port in self.ports:
                    tasks.append(asyncio.create_task(self.ask(port, kind, body)))
                    await asyncio.sleep(EVERY_S / 4)
        await asyncio.gather(*tasks)


def late(waits: list[float]) -> float:
    return sorted(waits)[int(len(waits) * 0.99)]


def measure(means: str, seconds: float) -> bool:
    """Print the figures for one means, and return whether the bar was met."""
    command = [word for word in SERVE if word != "--no-sandbox"] + ["--run-code"]
    servers = [Server(command), Server(command)]
    ports = [server.port for server in servers]
    hostile = None
    try:
        asyncio.run(Other(ports).run(2.0))  # the workers start
        hostile = subprocess.Popen(
            [sys.executable, __file__, "--attack", means, "--port", str(ports[0])],
            stderr=subprocess.DEVNULL,
        )
        time.sleep(2.0)
        other = Other(ports)
        asyncio.run(other.run(seconds))
    finally:
        if hostile is not None:
            hostile.kill()
            hostile.wait()
        for server in servers:
            server.close()
    refused = sum(n for (port, status), n in other.statuses.items() if port == ports[0] and status != 200)
    met = not refused
    figures = []
    for kind in ("inline", "worker"):
        mine, idle = (late(other.took[port, kind]) for port in ports)
        met = met and mine < BAR * idle
        figures.append(f"{kind} {mine:7.1f} ms, idle server {idle:7.1f} ms ({mine / idle:.2f} x)")
    print(f"{means:10} {'; '.join(figures)}; {refused} refused{'' if met else '  MISSED'}", flush=True)
    return met


def main() -> None:
    """Measure, and fail if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(MEANS), default=tuple(MEANS))
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--attack", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.attack:
        os.nice(19)
        asyncio.run(MEANS[args.attack](args.port))  # type: ignore[arg-type]
    met = [measure(means, args.seconds) for means in args.only]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
