"""Two source trees in turns of milliseconds: has a change made scoring slower?

    python benchmarks/beside.py --before PATH_OF_ANOTHER_CHECKOUT [--rounds 60]

A process for each tree does the same work in turn, many times, in an order that is drawn. A machine with
other work on it slows both sides of a pair alike, so the median of the pairs' ratios says more than any rate.
Caches of the maths rewards are emptied before each turn, and SymPy's processes do not count. Scores are
compared, too, and what differs is counted.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
Work = tuple[int, Callable[[], list[Any]]]
"""How many samples or pairs, and the scores of all of them."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="the other checkout of rewardkit")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve()
    if arguments.before is None:
        parser.error("--before is needed")
    sides = [open_side(ROOT), open_side(arguments.before)]
    try:
        print(f"{'work':28} {'microseconds each, now':>22} {'before':>8} {'now / before':>13}")
        for name in WORKLOADS:
            compare_sides(sides, name, arguments.rounds)
    finally:
        for side in sides:
            side.terminate()
            side.wait()


def compare_sides(sides: list[subprocess.Popen[str]], name: str, rounds: int) -> None:
    """Print how long both take for one kind of work."""
    scores = [ask(side, name)["scores"] for side in sides]
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for place in random.sample(range(2), 2):
            times[place].append(ask(sides[place], name)["seconds"])
    now, before = (median(side) * 1e6 for side in times)
    ratio = median(a / b for a, b in zip(*times, strict=True))
    other = sum(a != b for a, b in zip(*scores, strict=True))
    note = f"   {other} of {len(scores[0])} scored otherwise" if other else ""
    print(f"{name:28} {now:22.2f} {before:8.2f} {ratio:13.3f}{note}", flush=True)


def open_side(tree: Path) -> subprocess.Popen[str]:
    """Start the process of one tree and wait until it has imported what it needs."""
    side = subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree.resolve()), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    ask(side, "")
    return side


def ask(side: subprocess.Popen[str], name: str) -> dict[str, Any]:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write(name + "\n")
    side.stdin.flush()
    answer: dict[str, Any] = json.loads(side.stdout.readline())
    return answer


def serve() -> None:
    """Do the work that each line of standard input names, and print the CPU seconds of one sample of it."""
    works = {name: make() for name, make in WORKLOADS.items()}
    gc.disable()
    for line in sys.stdin:
        if not line.strip():
            print("{}", flush=True)
            continue
        size, work = works[line.strip()]
        empty_caches()
        started = time.process_time()
        scores = work()
        seconds = time.process_time() - started
        print(json.dumps({"seconds": seconds / size, "scores": scores}), flush=True)
        gc.collect()


def empty_caches() -> None:
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper):
            module = getattr(found, "__module__", None) or ""
            if module.startswith("rewardkit.rewards.math"):
                found.cache_clear()


def integers() -> Work:
    """Right and wrong integers in a box."""
    draw = random.Random(7)
    truths = [draw.randrange(1, 10**6) for _ in range(1_000)]
    return maths([(f"Thus the answer is $\\boxed{{{n + (n % 3 == 0)}}}$.", str(n)) for n in truths])


def numerics() -> Work:
    """Decimals, fractions and grouped thousands against one another."""
    draw = random.Random(11)
    pairs = []
    for _ in range(250):
        k = draw.randrange(1_000, 10**6)
        pairs += [(f"{k}.5", f"\\frac{{{2 * k + 1}}}{{2}}"), (f"{k}", f"{k:,}")]
        pairs += [(f"\\frac{{{k}}}{{7}}", f"{k}/7"), (f"{k}", f"{k + 1}.0")]
    return maths([(f"So we get $\\boxed{{{answer}}}$.", truth) for truth, answer in pairs])


def expressions() -> Work:
    """Algebra, sets, intervals, lists and relations in two spellings, some of them wrong."""
    forms = [
        ("(x+{n})(x-{n})", "x^2-{m}"),
        ("\\sin^2 x+{n}", "{n}+1-\\cos^2 x"),
        ("[{n},\\infty)", "x \\ge {n}"),
        ("x={n} \\text{{ or }} x=-{n}", "\\pm {n}"),
        ("\\{{1,{n},{m}\\}}", "\\{{{m},1,{n}\\}}"),
        ("({n},\\frac{{{m}}}{{2}})", "({n},\\frac{{{m}}}{{3}})"),
        ("{n}\\sqrt{{3}}", "\\sqrt{{{k}}}"),
        ("\\begin{{pmatrix}}{n}\\\\{m}\\end{{pmatrix}}", "({n},{m})"),
    ]
    pairs = [
        tuple(side.format(n=n, m=n * n, k=3 * n * n) for side in form) for n in range(2, 27) for form in forms
    ]
    return maths([(f"Hence $\\boxed{{{answer}}}$.", truth) for truth, answer in pairs])


def maths(pairs: list[tuple[str, str]]) -> Work:
    import rewardkit.rewards.math as reward
    from rewardkit import Sample

    made = getattr(reward, "MathOptions", None) or vars(reward)["Options"]  # its older name
    options = made()
    samples = [Sample("math", response, truth) for response, truth in pairs]
    return len(samples), lambda: [reward.score(sample, options).score for sample in samples]


def short() -> Work:
    """Short GSM8K responses through a Scorer, as every entrance has them."""
    return scorer([(f"Step {i}: so it is {i}\n#### {i + (i % 3 == 0)}", str(i)) for i in range(20_000)])


def solutions() -> Work:
    """Solutions of our own in GSM8K's style: 60 % right, 30 % wrong, 10 % without a marker."""
    from rewardkit.datasets_prep.arithmetic import problems

    texts = []
    for place, (problem, _) in enumerate(islice(problems("medium", "train", 0), 10_000)):
        text = problem.solution.partition("####")[0] if place % 10 == 0 else problem.solution
        text += "1" if place % 10 > 6 else ""
        texts.append((text, problem.answer))
    return scorer(texts)


def scorer(texts: list[tuple[str, str]]) -> Work:
    from rewardkit import Sample, Scorer

    samples = [Sample("gsm8k", response, truth) for response, truth in texts]
    made = Scorer(workers=1)
    return len(samples), lambda: [score.score for score in made.score_batch(samples)]


WORKLOADS: dict[str, Callable[[], Work]] = {
    "math, integers": integers,
    "math, numbers": numerics,
    "math, expressions": expressions,
    "Scorer, gsm8k, short": short,
    "Scorer, gsm8k, solutions": solutions,
}


if __name__ == "__main__":
    main()
