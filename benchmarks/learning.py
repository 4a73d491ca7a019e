"""Measures whether the demo task is learned because of the reward, for each algorithm and several seeds.

    python benchmarks/learning.py [--estimators gae grpo ...] [--losses gspo ...] [--seeds 0 1 2] [--steps 20]
        [--no-control] [--json FILE] [--png FILE] [KEY=VALUE ...]

Every advantage estimator runs with the vanilla loss, every named loss with GRPO's advantages; all from the
same warmed-up model of a seed. Problems are held out: no test problem shares template and numbers with a
training problem. The control is PPO with each batch's rewards shuffled among its responses: it must not
improve. The PNG needs matplotlib.
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
from rewardkit.demo.run_demo import make_start
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.run.process import train_here
from rewardkit.trainer.steps import scoring
from rewardkit.trainer.steps.scoring import place_scores
from rewardkit.types import Score

GROUPS_OF_8 = (
    "data.train_batch_size=32",
    "actor_rollout_ref.rollout.n=8",
    "actor_rollout_ref.actor.ppo_mini_batch_size=8",
    "actor_rollout_ref.actor.optim.lr=1e-4",
)
"""Settings for 256 responses per step, as with one response to each of 256 prompts."""
GAIN = 0.15
"""Minimum gain of sampled accuracy on the held-out problems."""


def place_shuffled(batch: Batch, scores: Sequence[Score], *rest: Any) -> dict[str, float]:
    """Assign the scores of a training batch as the trainer does, but to the wrong responses."""
    dealt = list(scores)
    random.Random(len(scores)).shuffle(dealt)
    return place_scores(batch, dealt, *rest)


def settings(data: Path, model: Path, out: Path, seed: int, steps: int) -> list[str]:
    """Return the settings that all runs of a seed share."""
    return [
        f"data.train_files={data / 'train.parquet'}",
        f"data.val_files={data / 'test.parquet'}",
        f"data.seed={seed}",
        f"actor_rollout_ref.model.path={model}",
        f"trainer.default_local_dir={out}",
        f"trainer.total_training_steps={steps}",
        "trainer.test_freq=5",
        "trainer.logger=[jsonl]",
    ]


def algorithm(estimator: str, loss: str) -> list[str]:
    """Return the settings of an estimator and a loss."""
    return [
        f"algorithm.adv_estimator={estimator}",
        f"actor_rollout_ref.actor.policy_loss.loss_mode={loss}",
        *(GROUPS_OF_8 if ESTIMATORS[estimator].groups else ()),
    ]


def run(given: Sequence[str], out: Path, *, shuffled: bool = False) -> dict[str, Any]:
    """Train once and return the figures: curves are lists of (step, value)."""
    cpu, wall = time.process_time(), time.perf_counter()
    with ExitStack() as stack:
        if shuffled:
            stack.enter_context(patch.object(scoring, "place_scores", place_shuffled))
        train_here(load_config("tiny-cpu", given))
    log = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    curves = {
        name: [(int(e["training/global_step"]), e[key]) for e in log for key in e if key.startswith(prefix)]
        for name, prefix in (("accuracy", "val-core/"), ("reward", "critic/score/mean"))
    }
    return {
        "before": curves["accuracy"][0][1],
        "after": curves["accuracy"][-1][1],
        "curves": curves,
        "wall_s": round(time.perf_counter() - wall, 1),
        "cpu_s": round(time.process_time() - cpu, 1),
    }


def passed(result: dict[str, Any]) -> bool:
    """Return whether a run reached its bar: to learn, or, for the control, not to."""
    gain = result["after"] - result["before"]
    return bool(gain <= 0.05 if result["control"] else gain >= GAIN)


def runs_of_a_seed(seed: int, args: argparse.Namespace, control: bool) -> list[dict[str, Any]]:
    """Warm up a model and train it with each algorithm."""
    plans = [(name, name, "vanilla", False) for name in args.estimators]
    plans += [(f"grpo + {name}", "grpo", name, False) for name in args.losses]
    plans += [("control", "gae", "vanilla", True)] if control else []
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data, model = folder / "data", folder / "model"
        arithmetic.prepare(data, n_train=N_TRAIN, n_test=N_TEST, level="tiny", seed=seed)
        config = load_config("tiny-cpu", settings(data, model, folder / "start", seed, args.steps))
        make_start(config, model, seed, Console(quiet=True))
        for number, (name, estimator, loss, shuffled) in enumerate(plans):
            out = folder / str(number)
            given = settings(data, model, out, seed, args.steps) + algorithm(estimator, loss)
            result = run([*given, *args.overrides], out, shuffled=shuffled)
            results.append({"run": name, "seed": seed, "control": shuffled, **result})
            report(results[-1])
    return results


def report(result: dict[str, Any]) -> None:
    """Print one line of the table."""
    curve = " ".join(f"{accuracy:.2f}" for _, accuracy in result["curves"]["accuracy"])
    accuracy = f"{result['before']:.3f} -> {result['after']:.3f}"
    line = f"{result['run']:<30}{result['seed']:>4}{accuracy:>17}{result['wall_s']:>9}{result['cpu_s']:>8}"
    print(f"{line}  {curve}{'' if passed(result) else '  FAILED'}", file=sys.stderr, flush=True)


def plot(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Plot sampled accuracy by step: one panel for each algorithm, one line for each seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(result["run"] for result in results))
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(3.2 * columns, 2.65 * rows), sharex=True, sharey=True, squeeze=False
    )
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for axis, name in zip(axes.flat, names, strict=False):
        for result in (one for one in results if one["run"] == name):
            curve = zip(*result["curves"]["accuracy"], strict=True)
            axis.plot(*curve, marker=".", label=f"seed {result['seed']}")
        axis.set_title(name, fontsize=9)
        axis.set_ylim(0, 1)
        axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=7)
    figure.supxlabel("training step (256 responses each)", fontsize=9)
    figure.supylabel("sampled accuracy, held-out problems", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main() -> int:
    """Run all and print the table; return 1 if a run missed its bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--estimators", nargs="*", default=list(ESTIMATORS), choices=list(ESTIMATORS))
    parser.add_argument("--losses", nargs="*", default=[], choices=list(POLICY_LOSSES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-control", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--png", type=Path, metavar="FILE")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    args = parser.parse_intermixed_args()
    print(f"{'run':<30}{'seed':>4}{'accuracy':>17}{'wall s':>9}{'cpu s':>8}  curve", file=sys.stderr)
    results: list[dict[str, Any]] = []
    for seed in args.seeds:
        results += runs_of_a_seed(seed, args, control=seed == args.seeds[0] and not args.no_control)
        if args.json:
            args.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if args.png:
        plot(results, args.png)
    return 0 if all(passed(r) for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
