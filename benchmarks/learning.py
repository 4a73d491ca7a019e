"""Does it learn, and is it the reward's doing? The demo for several seeds, and once with shuffled rewards.

    python benchmarks/learning.py [--seeds 0 1 2] [--no-control] [--json] [KEY=VALUE ...]

Problems are held out: no test problem shares template and numbers with a training problem. The control is
the same run with each batch's rewards dealt out at random among its responses: it must not improve.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console

from rewardkit.commands.demo import N_TEST, N_TRAIN
from rewardkit.datasets_prep import arithmetic
from rewardkit.scorer import Scorer
from rewardkit.trainer import setup
from rewardkit.trainer.demo.run import run_demo
from rewardkit.types import Sample, Score


class ShuffledScorer(Scorer):
    """A Scorer whose scores go to the wrong responses, except those of validation."""

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score, then shuffle if this is a training batch."""
        scores = super().score_batch(samples)
        if samples and samples[0].extra_info.get("split") == "train":
            random.Random(samples[0].response).shuffle(scores)
        return scores


def run(seed: int, overrides: Sequence[str], *, shuffled: bool = False) -> dict[str, Any]:
    """Run the demo once and return its figures."""
    cpu = time.process_time()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if shuffled:
            stack.enter_context(patch.object(setup, "open_rewards", lambda *_: ShuffledScorer(workers=1)))
        data = Path(folder) / "data"
        arithmetic.prepare(data, n_train=N_TRAIN, n_test=N_TEST, level="tiny", seed=seed)
        outcome = run_demo(
            data,
            Path(folder),
            seed=seed,
            overrides=[*overrides, "trainer.logger=[jsonl]"],
            console=Console(quiet=True),
        )
    return {
        "seed": seed,
        "control": shuffled,
        "sampled_before": outcome.sampled_before,
        "sampled_after": outcome.sampled_after,
        "greedy_before": outcome.greedy_before,
        "greedy_after": outcome.greedy_after,
        "curve": outcome.curve,
        "wall_s": round(outcome.seconds, 1),
        "cpu_s": round(time.process_time() - cpu, 1),
    }


def passed(result: dict[str, Any]) -> bool:
    """Say whether a run did what it must: learn, or, for the control, not."""
    if result["control"]:
        return bool(result["sampled_after"] <= result["sampled_before"] + 0.05)
    greedy_gain = result["greedy_after"] - result["greedy_before"]
    return bool(result["sampled_after"] > 0.75 and greedy_gain >= 0.1)


def main() -> int:
    """Run them all and print the table; exit code 1 if one did not do what it must."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--no-control", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("overrides", nargs="*")
    args = parser.parse_args()
    results = []
    print(f"{'run':<10}{'sampled':>16}{'greedy':>16}{'wall s':>9}{'cpu s':>8}  curve", file=sys.stderr)
    plans = [(seed, False) for seed in args.seeds]
    plans += [] if args.no_control else [(args.seeds[0], True)]
    for seed, shuffled in plans:
        result = run(seed, args.overrides, shuffled=shuffled)
        results.append(result)
        name = "control" if shuffled else f"seed {seed}"
        sampled = f"{result['sampled_before']:.3f} -> {result['sampled_after']:.3f}"
        greedy = f"{result['greedy_before']:.3f} -> {result['greedy_after']:.3f}"
        curve = " ".join(f"{accuracy:.2f}" for _, accuracy in result["curve"])
        line = f"{name:<10}{sampled:>16}{greedy:>16}{result['wall_s']:>9}{result['cpu_s']:>8}  {curve}"
        print(line if passed(result) else f"{line}  FAILED", file=sys.stderr, flush=True)
    if args.json:
        print(json.dumps(results))
    return 0 if all(passed(r) for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
