"""Measures whether episodes learn: a calculator that must be used, with PPO and GRPO and several seeds.

    python benchmarks/agents_learning.py [--seeds 0 1 2] [--steps 30] [--runs ppo grpo control] [--json FILE]
        [KEY=VALUE ...]

All runs of a seed start from the same warmed-up model of 0.4M parameters (`agents_tiny.py`), and are measured
by sampling (T=1) on problems that are in no training row. `control` is GRPO with each batch's scores shuffled
at random, which must not improve.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from agents_tiny import make_start, prepare
from learning import place_shuffled

from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.run.process import train_here
from rewardkit.trainer.steps import scoring

ROLLOUT = "actor_rollout_ref.rollout"
PPO = ["algorithm.adv_estimator=gae", "data.train_batch_size=256"]
GRPO = [
    "algorithm.adv_estimator=grpo",
    "data.train_batch_size=32",
    f"{ROLLOUT}.n=8",
    "actor_rollout_ref.actor.ppo_mini_batch_size=8",
]
RUNS = {"ppo": PPO, "grpo": GRPO, "control": GRPO}
LOW, HIGH = 0.3, 0.8
"""Highest accuracy at the start of a run, and lowest at its end."""


def settings(name: str, folder: Path, seed: int, args: argparse.Namespace) -> list[str]:
    """Return the settings of a run."""
    return [
        f"data.train_files={folder / 'data' / 'train.parquet'}",
        f"data.val_files={folder / 'data' / 'test.parquet'}",
        "data.max_prompt_length=16",
        "data.max_response_length=48",
        f"data.seed={seed}",
        f"actor_rollout_ref.model.path={folder / 'model'}",
        "actor_rollout_ref.actor.optim.lr=5e-4",
        f"{ROLLOUT}.name=hf",
        f"{ROLLOUT}.multi_turn.tool_config_path=calculator",
        f"{ROLLOUT}.multi_turn.max_assistant_turns=3",
        f"trainer.total_training_steps={args.steps}",
        "trainer.test_freq=3",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={folder / name}",
        *RUNS[name],
        *args.overrides,
    ]


def run(name: str, folder: Path, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Train once; return the curves, lists of (step, value)."""
    cpu, wall = time.process_time(), time.perf_counter()
    with ExitStack() as stack:
        if name == "control":
            stack.enter_context(patch.object(scoring, "place_scores", place_shuffled))
        train_here(load_config("tiny-cpu", settings(name, folder, seed, args)))
    log = [json.loads(line) for line in (folder / name / "metrics.jsonl").read_text().splitlines()]

    def curve(prefix: str) -> list[tuple[int, float]]:
        return [(int(e["training/global_step"]), e[k]) for e in log for k in e if k.startswith(prefix)]

    return {
        "run": name,
        "seed": seed,
        "accuracy": curve("val-core/"),
        "calls": curve("agent/tool_calls/mean"),
        "worst_kl": max(e.get("training/rollout_actor_kl", 0.0) for e in log),
        "wall_s": round(time.perf_counter() - wall, 1),
        "cpu_s": round(time.process_time() - cpu, 1),
    }


def reached(result: dict[str, Any]) -> int | None:
    """Return the first validated step that is above the bar."""
    return next((step for step, accuracy in result["accuracy"] if accuracy > HIGH), None)


def passed(result: dict[str, Any]) -> bool:
    """Return whether a run reached its bar."""
    before, after = (result["accuracy"][i][1] for i in (0, -1))
    if result["run"] == "control":
        return bool(after <= before + 0.05)
    return bool(before < LOW and after > HIGH)


def report(result: dict[str, Any]) -> None:
    """Print one line of the table."""
    curve = " ".join(f"{value:.2f}" for _, value in result["accuracy"])
    step = reached(result)
    line = f"{result['run']:<12}{result['seed']:>4}{'-' if step is None else step:>6}{result['cpu_s']:>8}"
    print(f"{line}  {curve}{'' if passed(result) else '  FAILED'}", flush=True)


def runs_of_a_seed(seed: int, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Warm up a model and train it."""
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        names = [name for name in args.runs if name != "control" or seed == args.seeds[0]]
        started = time.process_time()
        loss = make_start(prepare(folder / "data", seed), folder / "model", seed)
        print(f"warm-up: {time.process_time() - started:.0f} s, loss {loss:.3f}", flush=True)
        for name in names:
            results.append(run(name, folder, seed, args))
            report(results[-1])
    return results


def main() -> int:
    """Run all seeds; return 1 if a run missed its bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--runs", nargs="+", choices=list(RUNS), default=list(RUNS))
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    args = parser.parse_intermixed_args()
    results: list[dict[str, Any]] = []
    print(f"{'run':<12}{'seed':>4}{'> 80%':>6}{'cpu s':>8}  accuracy at every third step", flush=True)
    for seed in args.seeds:
        results += runs_of_a_seed(seed, args)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0 if all(passed(r) for r in results) else 1


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
