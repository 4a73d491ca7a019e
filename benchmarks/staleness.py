"""Measures whether the demo task is learned from responses of older weights, without servers.

    PYTHONPATH=. python benchmarks/staleness.py [--runs sync default none ...] [--rates 4e-4 2e-4]
        [--seeds 0 1 2] [--staleness 4] [--steps 24] [--json FILE] [KEY=VALUE ...]

The engine `hf` generates responses at once, as soon as they may begin, so that nearly all are as old as the
setting allows: `trainer.pipeline_depth` steps, or the staleness with the run `strict`. Servers would continue
some of these responses with newer weights. GRPO, 16 prompts with 8 responses and one update per step. The
reported score is the mean of the last four steps, and the accuracy is on held-out problems.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from rich.console import Console

from benchmarks.learning import settings
from rewardkit.commands.demo import N_TEST, N_TRAIN
from rewardkit.datasets_prep import arithmetic
from rewardkit.demo.run_demo import make_start
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import open_world
from rewardkit.trainer.feed import Feed
from rewardkit.trainer.loop import train
from rewardkit.trainer.rollout.hf import HfRollout
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.steps import generation

CORRECTION = "algorithm.rollout_correction."
RUNS: dict[str, list[str]] = {
    "sync": ["trainer.mode=sync"],
    "default": [],
    "none": [f"{CORRECTION}bypass_mode=false"],
    "truncated weights": [f"{CORRECTION}rollout_is=token"],
    "ppo clip": [f"{CORRECTION}bypass_mode=true"],
    "strict": ["trainer.order=strict"],
}
SMALL = [
    "data.train_batch_size=16",
    "actor_rollout_ref.rollout.n=8",
    "actor_rollout_ref.rollout.name=hf",
    "actor_rollout_ref.actor.ppo_mini_batch_size=16",
    "algorithm.adv_estimator=grpo",
    "algorithm.use_kl_in_reward=false",
    "trainer.mode=async",
    "trainer.val_before_train=false",
    "trainer.test_freq=-1",
    "trainer.alarm=off",
    "actor_rollout_ref.rollout.parity_error=1e30",
    "actor_rollout_ref.rollout.parity_warn=1e30",
]


@contextmanager
def at_once() -> Iterator[None]:
    """Let the engine `hf` generate groups when they begin, and note which weights it used."""
    sync, group_batch = HfRollout.sync_weights, generation._group_batch
    versions: list[int] = []

    def synced(self: HfRollout, named_tensors: Any, version: int = 0) -> None:
        versions.append(version)
        sync(self, named_tensors, version)

    def aged(*given: Any) -> Any:
        batch = group_batch(*given)
        batch["weight_versions"] = torch.full_like(batch["responses"], versions[-1])
        return batch

    def start(self: Feed[Any], groups: Sequence[Any], draw: Any, journal: Any) -> None:
        for group in groups:
            group.drawn.add_done_callback(partial(self._judge, group))
        draw(groups, journal)

    with ExitStack() as stack:
        stack.enter_context(patch.object(HfRollout, "sync_weights", synced))
        stack.enter_context(patch.object(generation, "_group_batch", aged))
        stack.enter_context(patch.object(generation, "begin_probe", lambda run: None))
        stack.enter_context(patch.object(Feed, "_start", start))
        yield


def figures(out: Path) -> dict[str, float]:
    """Return the figures of a finished run."""
    log = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    scores = [step["critic/score/mean"] for step in log]
    held_out = next(value for key, value in log[-1].items() if key.startswith("val-core/"))
    return {
        "score": sum(scores[-4:]) / 4,
        "accuracy": held_out,
        "age": log[-1].get("staleness/mean", 0.0),
        "clipped": max(step["actor/pg_clipfrac"] for step in log),
    }


def runs_of_a_seed(seed: int, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Warm up a model and train it in each way, at each learning rate."""
    with tempfile.TemporaryDirectory() as temporary, open_world("cpu") as world:
        folder = Path(temporary)
        data, model = folder / "data", folder / "model"
        arithmetic.prepare(data, n_train=N_TRAIN, n_test=N_TEST, level="tiny", seed=seed)
        shared = settings(data, model, folder / "start", seed, given.steps)
        make_start(load_config("tiny-cpu", shared), model, seed, Console(quiet=True))
        for rate in given.rates:
            for name in given.runs:
                out = folder / f"{name} {rate}"
                words = [*settings(data, model, out, seed, given.steps), *SMALL]
                words += [f"trainer.max_staleness={given.staleness}", *RUNS[name], *given.settings]
                words.append(f"actor_rollout_ref.actor.optim.lr={rate}")
                with at_once(), open_run(load_config("tiny-cpu", words), world) as run:
                    train(run)
                yield {"run": name, "lr": rate, "seed": seed, **figures(out)}


def main() -> None:
    """Measure, and print each run and the means over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", nargs="+", default=["sync", "default"], choices=list(RUNS))
    parser.add_argument("--rates", type=float, nargs="+", default=[4e-4, 2e-4])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--staleness", type=int, default=4)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--json", type=Path)
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    given = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    found = []
    for seed in given.seeds:
        for one in runs_of_a_seed(seed, given):
            found.append(one)
            print(json.dumps(one), file=sys.stderr, flush=True)
            if given.json:
                given.json.write_text(json.dumps(found, indent=1))
    for rate in given.rates:
        for name in given.runs:
            alike = [one for one in found if one["run"] == name and one["lr"] == rate]
            means = {key: sum(one[key] for one in alike) / len(alike) for key in figures_of(alike[0])}
            print(f"{name:<20}{rate:>9.2g}  " + "  ".join(f"{k} {v:.3f}" for k, v in means.items()))


def figures_of(one: dict[str, Any]) -> list[str]:
    """Return the names of the figures of a run."""
    return [key for key in one if key not in ("run", "lr", "seed")]


if __name__ == "__main__":
    main()
