"""A long mixed load on the sandbox's pool: memory, descriptors and processes have to stay as they were.

    python benchmarks/sandbox_soak.py [--runs 20000] [--kill]

Good, looping, crashing and flooding programs. `--kill` also sends SIGKILL to a random process of the pool
every 0.2 s: then memory is not compared, and every run must still get exactly one outcome.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import threading
import time
from pathlib import Path

from rewardkit.sandbox import Job, Limits, Outcome, Pool
from tests.sandbox.corpus import descendants

LIMITS = Limits(cpu_s=0.05, wall_s=20, output_bytes=1 << 16)
PROGRAMS = (
    *(b"print(int(input()) + 1)",) * 16,
    b"while True: pass",
    b"import os\nos.abort()",
    b"while True: print('x' * 1000)",
    b"open('left', 'w').write('x')\nx = bytearray(1 << 33)",
)


def state() -> tuple[int, int, int]:
    """Resident KiB of this process and those below it, its descriptors, how many processes there are."""
    below = descendants(os.getpid())
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in {*below, os.getpid()})
    return pages * 4, len(os.listdir("/proc/self/fd")), len(below)


def kill_at_random(stop: threading.Event) -> None:
    """Kill one of the pool's processes every now and then."""
    chance = random.Random(0)
    while not stop.wait(0.2):
        if below := sorted(descendants(os.getpid())):
            try:
                os.kill(chance.choice(below), signal.SIGKILL)
            except ProcessLookupError:
                continue


def run_all(pool: Pool, numbers: range) -> list[Outcome]:
    tickets = [pool.submit(Job(PROGRAMS[n % len(PROGRAMS)], b"%d" % n, LIMITS)) for n in numbers]
    return [ticket.result() for ticket in tickets]


def main() -> None:
    """Run the load and print what changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--kill", action="store_true")
    arguments = parser.parse_args()
    counted: collections.Counter[str] = collections.Counter()
    stop = threading.Event()
    with Pool(2) as pool:
        run_all(pool, range(1000))
        before = state()
        print(f"before: {before[0]} KiB resident, {before[1]} descriptors, {before[2]} processes")
        if arguments.kill:
            threading.Thread(target=kill_at_random, args=(stop,), daemon=True).start()
        start = time.monotonic()
        for first in range(0, arguments.runs, 1000):
            numbers = range(first, min(first + 1000, arguments.runs))
            counted.update(str(outcome.status) for outcome in run_all(pool, numbers))
        took = time.monotonic() - start
        stop.set()
        time.sleep(0.5)
        after = state()
        print(f"after:  {after[0]} KiB resident, {after[1]} descriptors, {after[2]} processes")
        print(f"{sum(counted.values())} outcomes in {took:.0f} s: {dict(counted)}")
    below = len(descendants(os.getpid()))
    print(f"closed: {below} processes, {len(os.listdir('/proc/self/fd'))} descriptors left")


if __name__ == "__main__":
    main()
