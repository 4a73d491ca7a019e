"""A trainer's burst that fills most of its client's patience, and another client's samples beside it.

    python benchmarks/server_burst.py [--samples 1400] [--nap 0.2] [--scorers 2]

OpenRLHF's client has all samples of a step in flight at once, each in a request of its own over its own
connection, and waits 180 s. Bars: every sample is scored; meanwhile a second client's sample of the same
reward, asked for every two seconds, is answered within a second in the median, and within five always.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from statistics import median

from nap_server import nap_server

CLIENT_WAITS_S = 180.0
OTHER_EVERY_S = 2.0
OTHER_MEDIAN_S = 1.0
OTHER_WAITS_S = 5.0


async def ask(port: int, nap_s: float, client: str) -> tuple[str, float]:
    """Send one sample as OpenRLHF does; return what came of it and the seconds that it took."""
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


async def measure(port: int, samples: int, nap_s: float) -> list[str]:
    """Run both clients, print what was seen, and return the bars that were missed."""
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


def main() -> None:
    """Start a server, measure, and fail when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_400, help="in flight at once")
    parser.add_argument("--nap", type=float, default=0.2, help="seconds to score a sample")
    parser.add_argument("--scorers", type=int, default=2, help="scoring processes")
    args = parser.parse_args()
    with nap_server(args.scorers) as (port, _):
        missed = asyncio.run(measure(port, args.samples, args.nap))
    sys.exit("; ".join(missed) or 0)


if __name__ == "__main__":
    main()
