"""Latency of cheap programs behind many programs that sleep, or spin, until their time limit.

    python benchmarks/sleepers.py [--many 64] [--cheap 16] [--server]

Each sample is submitted alone, the expensive ones first. Without `--server`, one Scorer scores all samples.
With it, `rewardkit serve` does, and each sample is one request, as verl sends them. A right program that
needs most of its CPU time limit is submitted after the expensive ones. It must pass.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from rewardkit.client import Client
from rewardkit.errors import RewardkitError
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

LIMIT_S = 1.0
TRUTH = f'{{"inputs": ["1\\n"], "outputs": ["2\\n"], "limits": {{"cpu_s": {LIMIT_S}}}}}'
CHEAP = "print(int(input()) + 1)"
RIGHT = f"import time\nwhile time.process_time() < {0.7 * LIMIT_S}: pass\n{CHEAP}"
EXPENSIVE = {"sleepers": "import time\ntime.sleep(1000)", "spinners": "while True: pass"}

Score = Callable[[Sample], str]
"""Function that scores one sample and returns its status, with `, right` if the program passed."""


def sample(program: str) -> Sample:
    return Sample("apps", f"```python\n{program}\n```", TRUTH)


def measure(score: Score, program: str, many: int, cheap: int) -> str:
    """Return one line of figures."""
    found: dict[str, list[tuple[float, str]]] = {"expensive": [], "right": [], "cheap": []}

    def one(kind: str, source: str) -> None:
        start = time.perf_counter()
        said = score(sample(source))
        found[kind].append((time.perf_counter() - start, said))

    with ThreadPoolExecutor(cheap) as threads:  # starts all workers
        for warmed in [threads.submit(score, sample(f"{CHEAP} # before {i}")) for i in range(cheap)]:
            warmed.result()
    begin = time.perf_counter()
    with ThreadPoolExecutor(many + cheap + 1) as threads:
        for i in range(many):
            threads.submit(one, "expensive", f"{program} # {i}")
        threads.submit(one, "right", RIGHT)
        time.sleep(0.1)
        for i in range(cheap):
            threads.submit(one, "cheap", f"{CHEAP} # {i}")
    seconds = [taken for taken, _ in found["cheap"]]
    wrong = [said for _, said in found["cheap"] if said != "ok, right"]
    odd = sorted({said for _, said in found["expensive"]} - {"ok"})
    right_s, right = found["right"][0]
    return (
        f"cheap: median {statistics.median(seconds):.2f} s, most {max(seconds):.2f} s, "
        f"{len(wrong)} not right {wrong[:1] or ''}; right: {right} after {right_s:.1f} s; "
        f"all: {time.perf_counter() - begin:.1f} s {odd or ''}"
    )


@contextlib.contextmanager
def in_scorer() -> Iterator[Score]:
    with Scorer() as scorer:

        def score(one: Sample) -> str:
            found = scorer.score(one)
            return found.status + (", right" if found.correct else "")

        yield score


@contextlib.contextmanager
def on_server() -> Iterator[Score]:
    command = [sys.executable, "-m", "rewardkit", "serve", "--port", "0"]
    own = threading.local()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        url = next(found[0] for line in server.stdout if (found := re.findall(r"http://\S+:\d+", line)))
        threading.Thread(target=server.stdout.read, daemon=True).start()

        def score(one: Sample) -> str:
            client = own.__dict__.setdefault("client", Client(url))
            try:
                found = client.score(one)
            except RewardkitError as error:
                return str(error)[:90]
            return found.status + (", right" if found.correct else "")

        yield score
        server.terminate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--many", type=int, default=64, help="number of expensive programs")
    parser.add_argument("--cheap", type=int, default=16, help="number of cheap programs")
    parser.add_argument("--server", action="store_true", help="send each sample to a server")
    given = parser.parse_args()
    for name, program in EXPENSIVE.items():
        with on_server() if given.server else in_scorer() as scored:
            print(f"{name}: {measure(scored, program, given.many, given.cheap)}", flush=True)
