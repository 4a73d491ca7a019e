"""One process against two: the same losses? Trains a tiny model twice, by torchrun, and compares every step.

    python -m tests.trainer.fsdp_parity [--steps 5] [--processes 2] [--json] [KEY=VALUE ...]

float32 on CPU (gloo), the whole `rewardkit train` path: generation, rewards, FSDP2 updates.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from rewardkit.datasets_prep import arithmetic
from rewardkit.demo.model import make_model, make_tokenizer, save

COMPARED = (
    "actor/pg_loss",
    "critic/vf_loss",
    "actor/grad_norm",
    "critic/grad_norm",
    "actor/entropy",
    "actor/trained_rows/approx_kl",
    "actor/reward_kl_penalty",
    "critic/score/mean",
    "critic/advantages/max",
    "response_length/mean",
)
TOLERANCE = 1e-4


def prepare(folder: Path) -> None:
    """Write data and an untrained model to `folder`."""
    arithmetic.prepare(folder / "data", n_train=64, n_test=8, level="tiny", seed=0)
    rows = pq.read_table(folder / "data" / "train.parquet", columns=["extra_info"])["extra_info"].to_pylist()
    tokenizer = make_tokenizer(f"{row['question']}\n{row['answer']}" for row in rows)
    save(make_model(tokenizer, seed=0), tokenizer, folder / "model")


def settings(folder: Path, processes: int, steps: int) -> list[str]:
    """Return the settings of a run with that many processes; it logs to `folder/run<processes>`."""
    return [
        f"data.train_files={folder}/data/train.parquet",
        "data.train_batch_size=16",
        # A response is rewarded for containing a digit: an untrained model never answers in format.
        f"custom_reward_function.path={Path(__file__).resolve().parents[2]}/benchmarks/digits.py",
        "custom_reward_function.name=digits",
        f"actor_rollout_ref.model.path={folder}/model",
        "actor_rollout_ref.actor.ppo_mini_batch_size=8",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=3",
        "actor_rollout_ref.rollout.n=2",
        "algorithm.gamma=0.99",
        "algorithm.lam=0.95",
        "algorithm.kl_ctrl.type=adaptive",
        f"trainer.n_gpus_per_node={processes}",
        f"trainer.total_training_steps={steps}",
        "trainer.critic_warmup=0",
        "trainer.test_freq=-1",
        "trainer.val_before_train=false",
        f"trainer.default_local_dir={folder}/run{processes}",
        "trainer.logger=[jsonl]",
    ]


def start(folder: Path, processes: int, steps: int, overrides: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a run with that many processes."""
    command = [sys.executable, "-m", "rewardkit.trainer.run.main", "--config", "tiny-cpu"]
    command += [*settings(folder, processes, steps), *overrides]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=sys.stderr)


def finish(run: subprocess.Popen[bytes], folder: Path, processes: int) -> list[dict[str, float]]:
    """Wait for a run and return each step's metrics."""
    if run.wait(timeout=600):
        raise SystemExit(f"the run with {processes} processes failed with exit code {run.returncode}")
    lines = (folder / f"run{processes}" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def differences(one: list[dict[str, float]], many: list[dict[str, float]]) -> list[dict[str, float]]:
    """Return for each step and metric |a - b| / max(|a|, |b|, 1e-3); without a critic, none of its own."""
    return [
        {n: abs(a[n] - b[n]) / max(abs(a[n]), abs(b[n]), 1e-3) for n in COMPARED if n in a or n in b}
        for a, b in zip(one, many, strict=True)
    ]


def main() -> int:
    """Run both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare(folder)
        counts = (1, args.processes)
        runs = [start(folder, n, args.steps, args.overrides) for n in counts]
        one, many = (finish(run, folder, n) for run, n in zip(runs, counts, strict=True))
    found = differences(one, many)
    worst = max(max(step.values()) for step in found)
    if args.json:
        print(json.dumps({"worst": worst, "steps": found, "one": one, "many": many}))
    else:
        print(f"{'metric':<26}" + "".join(f"{f'step {i + 1}':>12}" for i in range(args.steps)))
        for name in found[0]:
            print(f"{name:<26}" + "".join(f"{step[name]:>12.1e}" for step in found))
        print(f"worst relative difference, 1 process against {args.processes}: {worst:.1e}")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
