"""Hostile inputs in five settings: main thread, thread, event loop, forked and spawned process.

    python benchmarks/math_pathological.py

Prints the slowest inputs, and whether the verdicts are the same in every setting; then the slowest of inputs
of up to 10 kB in which everything is nested in everything, without SymPy.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import resource
import threading
import time
from collections.abc import Callable

import math_common  # noqa: F401  (finds the project)
from math_inputs import CONSTRUCTORS, nested, pathological

from rewardkit.rewards.math import MathOptions, compare
from rewardkit.rewards.math.reading.prepared import clear_caches
from rewardkit.rewards.math.sympy import client

Result = tuple[str, str, float]


def judge_all() -> list[Result]:
    """Score every input: outcome, tier and wall seconds."""
    clear_caches()
    client.warm()
    compare("\\sqrt{2}", "1.4142")
    time.sleep(3)  # a server warms its workers up before it takes requests
    results = []
    for _, gold, answer in pathological():
        start = time.perf_counter()
        verdict = compare(gold, answer)
        results.append((verdict.outcome, verdict.tier, time.perf_counter() - start))
    client.close()
    return results


def in_thread() -> list[Result]:
    found: list[list[Result]] = []
    thread = threading.Thread(target=lambda: found.append(judge_all()))
    thread.start()
    thread.join()
    return found[0]


def in_event_loop() -> list[Result]:
    async def run() -> list[Result]:
        return await asyncio.get_running_loop().run_in_executor(None, judge_all)

    return asyncio.run(run())


def _send(queue: multiprocessing.Queue[list[Result]]) -> None:
    queue.put(judge_all())


def in_process(method: str) -> list[Result]:
    chosen = multiprocessing.get_context(method)
    queue: multiprocessing.Queue[list[Result]] = chosen.Queue()
    process = chosen.Process(target=_send, args=(queue,))
    process.start()
    found = queue.get(timeout=300)
    process.join()
    return found


def fuzz(count: int) -> list[tuple[float, str, list[str], int]]:
    """CPU seconds, outcome, constructors and characters of nested inputs, slowest first."""
    draw = random.Random(3)
    jobs = [([constructor], depth) for constructor in CONSTRUCTORS for depth in (3, 12, 60)]
    jobs += [
        (draw.sample(CONSTRUCTORS, draw.choice((2, 3))), draw.choice((4, 8, 14, 30))) for _ in range(count)
    ]
    found = []
    for constructors, depth in jobs:
        gold, answer = nested(constructors, depth, "x"), nested(constructors, depth, "y+1")
        clear_caches()
        start = time.process_time()
        outcome = compare(gold, answer, MathOptions(symbolic=False)).outcome
        found.append((time.process_time() - start, outcome, constructors, len(answer)))
    return sorted(found, reverse=True)


def main() -> None:
    settings: dict[str, Callable[[], list[Result]]] = {
        "main thread": judge_all,
        "thread": in_thread,
        "event loop": in_event_loop,
        "forked": lambda: in_process("fork"),
        "spawned": lambda: in_process("spawn"),
    }
    names = [name for name, _, _ in pathological()]
    found = {setting: run() for setting, run in settings.items()}
    reference = [outcome for outcome, _, _ in found["main thread"]]
    for setting, results in found.items():
        inline = max(s for _, tier, s in results if tier != "symbolic")
        worker = max((s for _, tier, s in results if tier == "symbolic"), default=0.0)
        differ = [
            n for n, (outcome, _, _), other in zip(names, results, reference, strict=True) if outcome != other
        ]
        print(
            f"{setting:12} {len(results)} inputs; slowest inline {inline * 1e3:6.1f} ms, "
            f"with the worker {worker:5.2f} s; verdicts that differ: {differ or 'none'}"
        )
    slowest = sorted(zip(names, found["main thread"], strict=True), key=lambda r: -r[1][2])[:15]
    for name, (outcome, tier, spent) in slowest:
        print(f"  {name:32} {outcome:10} {tier:9} {spent * 1e3:8.1f} ms")
    nestings = fuzz(2_000)
    slow = sum(spent > 0.1 for spent, *_ in nestings)
    print(f"{len(nestings)} nested inputs; over 100 ms: {slow}; slowest:")
    for spent, outcome, constructors, size in nestings[:8]:
        print(f"  {spent * 1e3:6.1f} ms {outcome:10} {size:6} characters of {constructors}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
