"""What the server does with twenty times the work it can do: for a minute, from raw sockets.

    python benchmarks/server_overload.py [--seconds 60] [--nap 0.1]

One scoring process naps 0.1 s a sample, so the capacity is a little under 10 samples/s; 20 times that is
asked for, each request over its own connection and with a deadline of 10 s. Bars: every answer is scores or
a 503 within the deadline; memory flat within 50 MB; p99 of the admitted under 2 times its unloaded value
plus the share of the deadline that a request may wait; normal latency within 2 s of the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nap_server import nap_server

TIMES = 20
DEADLINE_S = 10.0
DEADLINE_SHARE = 0.5
"""Of its deadline an admitted request may wait, beyond twice its unloaded time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request and what came of it."""

    at_s: float
    took_s: float
    outcome: str


async def ask(port: int, nap_s: float) -> Asked:
    """Send one request over a new connection."""
    body = json.dumps({"data_source": "bench/nap", "response": "", "ground_truth": str(nap_s)})
    head = f"POST /score HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-timeout-s: {DEADLINE_S}\r\n"
    began = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        answer = await reader.read()
        writer.close()
    except OSError as error:
        return Asked(began, time.perf_counter() - began, type(error).__name__)
    outcome = answer[9:12].decode()
    if outcome == "200":
        outcome = str(json.loads(answer.partition(b"\r\n\r\n")[2])["status"])
    return Asked(began, time.perf_counter() - began, outcome)


async def load(port: int, nap_s: float, rate: float, seconds: float) -> list[Asked]:
    """Send requests at a fixed rate, whatever becomes of them."""
    tasks = []
    began = time.perf_counter()
    while (now := time.perf_counter() - began) < seconds:
        tasks += [asyncio.create_task(ask(port, nap_s)) for _ in range(round(now * rate) - len(tasks))]
        await asyncio.sleep(0.005)
    return list(await asyncio.gather(*tasks))


def p99(values: list[float]) -> float:
    """The 99th percentile, nearest rank."""
    return sorted(values)[int(0.99 * (len(values) - 1))]


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


async def watch(pid: int, seen: list[float]) -> None:
    """Note the memory every second."""
    while True:
        seen.append(memory_mb(pid))
        await asyncio.sleep(1.0)


async def measure(port: int, pid: int, nap_s: float, seconds: float) -> list[str]:
    """Run the three phases, print what was seen, and return the bars that were missed."""
    capacity = 1.0 / nap_s
    await load(port, nap_s, 0.2 * capacity, 5.0)
    unloaded = p99([asked.took_s for asked in await load(port, nap_s, 0.2 * capacity, 10.0)])
    memory: list[float] = []
    watching = asyncio.create_task(watch(pid, memory))
    asked = await load(port, nap_s, TIMES * capacity, seconds)
    watching.cancel()
    ended = max(a.at_s for a in asked)
    await asyncio.sleep(max(0.0, ended + 2.0 - time.perf_counter()))
    after = p99([asked.took_s for asked in await load(port, nap_s, 0.2 * capacity, 10.0)])
    admitted = [a.took_s for a in asked if a.outcome == "ok"]
    refused = [a.took_s for a in asked if a.outcome == "503"]
    limit = 2 * unloaded + DEADLINE_SHARE * DEADLINE_S
    settled = memory[len(memory) // 10 :]
    growth = max(settled) - settled[0]
    slowest = max(a.took_s for a in asked)
    print(f"asked {len(asked)}: {dict(Counter(a.outcome for a in asked))}")
    print(f"admitted: p99 {p99(admitted):.3f} s (unloaded {unloaded:.3f} s, limit {limit:.3f} s)")
    print(f"refused: p99 {p99(refused):.3f} s; slowest answer of all {slowest:.3f} s")
    print(f"memory: {settled[0]:.0f} MB, grew by {growth:.1f} MB; p99 2 s after the end: {after:.3f} s")
    missed = {
        "an answer was neither scores nor a 503": {a.outcome for a in asked} - {"ok", "503"},
        "an answer came after the deadline": slowest > DEADLINE_S,
        "memory grew": growth > 50,
        "admitted requests waited too long": p99(admitted) > limit,
        "it did not recover": after > 2 * unloaded,
    }
    return [bar for bar, is_missed in missed.items() if is_missed]


def main() -> None:
    """Start a server, measure, and fail when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of overload")
    parser.add_argument("--nap", type=float, default=0.1, help="seconds to score a sample")
    args = parser.parse_args()
    with nap_server(scorers=1) as (port, pid):
        missed = asyncio.run(measure(port, pid, args.nap, args.seconds))
    sys.exit("; ".join(missed) or 0)


if __name__ == "__main__":
    main()
