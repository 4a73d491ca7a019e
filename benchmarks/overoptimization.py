"""Trains a policy on a trained reward model, and shows when its true accuracy no longer rises.

    python benchmarks/overoptimization.py [--seeds 0 1 2] [--kl 0.003 0.1] [--steps 24] [--out FOLDER]

The task is arithmetic in words, and each step is a command that a user types. The first model of `rewardkit
demo` answers the training problems, `rewardkit rm` learns from pairs of a right and a wrong answer, and
`rewardkit train` trains the first model on this reward model. The rule scores only the validation of every
second step, so it is the truth. If leaving the reference costs little (`--kl`), the policy finds answers that
the reward model overrates.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

REWARDKIT = (sys.executable, "-m", "rewardkit")
TRUTH = "val-core/rewardkit/arithmetic/acc/mean@1"
ANSWERS = 8
"""Number of sampled answers to each training problem."""


def typed(*words: object) -> None:
    """Run a command of rewardkit, and fail if it fails."""
    done = subprocess.run([*REWARDKIT, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def write_pairs(scored: Path, folder: Path, seed: int) -> None:
    """Write pairs of a right and a wrong answer; every tenth problem is held out."""
    rows = pq.read_table(scored, columns=["prompt", "responses", "score"]).to_pylist()
    draw = random.Random(seed)
    files: dict[str, list[str]] = {"train": [], "test": []}
    for i, row in enumerate(rows):
        right = [text for text, score in zip(row["responses"], row["score"], strict=True) if score == 1.0]
        # An empty answer cannot be part of a pair.
        wrong = [
            text for text, score in zip(row["responses"], row["score"], strict=True) if score < 1.0 and text
        ]
        if right and wrong:
            pair = {"prompt": row["prompt"], "chosen": draw.choice(right), "rejected": draw.choice(wrong)}
            files["train" if i % 10 else "test"].append(json.dumps(pair) + "\n")
    for name, lines in files.items():
        (folder / f"{name}.jsonl").write_text("".join(lines))


def chain(folder: Path, seed: int, prices: list[float], steps: int) -> list[dict[str, Any]]:
    """Run the chain of one seed; return one result for each price of leaving the reference."""
    demo, sampled, reward = folder / "demo", folder / "sampled.parquet", folder / "reward"
    typed("demo", "--out", demo, "--seed", seed, "trainer.total_training_steps=1")
    start, train = demo / "model", demo / "data/train.parquet"
    typed("generate", train, "--model", start, "--engine", "hf", "--dtype", "float32", "-n", ANSWERS,
          "--score", "--max-tokens", 16, "--seed", seed, "--out", sampled)  # fmt: skip
    write_pairs(sampled, folder, seed)
    typed("rm", "--config", "tiny-cpu", f"data.train_files={folder}/train.jsonl",
          f"data.val_files={folder}/test.jsonl", f"model.path={start}",
          f"trainer.default_local_dir={folder}/rm")  # fmt: skip
    typed("export", folder / "rm", reward)
    made = json.loads((reward / "reward_model.json").read_text())
    table = pq.read_table(train)
    unknown = pa.array(["arithmetic/by_model"] * table.num_rows)  # a data source that has no rule
    pq.write_table(table.set_column(0, "data_source", unknown), folder / "prompts.parquet")
    results = []
    for price in prices:
        run = folder / f"ppo-{price}"
        typed("train", "--config", "tiny-cpu", f"data.train_files={folder}/prompts.parquet",
              f"data.val_files={demo}/data/test.parquet", f"actor_rollout_ref.model.path={start}",
              "reward_model.enable=true", f"reward_model.model.path={reward}", "reward_model.scores=rest",
              f"algorithm.kl_ctrl.kl_coef={price}", f"data.seed={seed}", "trainer.test_freq=2",
              f"trainer.total_training_steps={steps}", f"trainer.default_local_dir={run}")  # fmt: skip
        results.append({"seed": seed, "kl_coef": price, "rm": made, **read(run)})
    return results


def read(run: Path) -> dict[str, Any]:
    """Return the curves of the score and of the truth, and the first alarm with its step."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    truth = {int(line["training/global_step"]): round(line[TRUTH], 3) for line in lines if TRUTH in line}
    score = {
        int(line["training/global_step"]): round(line["overoptimization/score"], 2)
        for line in lines
        if "overoptimization/score" in line
    }
    alarm = [
        {"told_at": int(line["training/global_step"]), "since": int(line["overoptimization/since"])}
        for line in lines
        if "overoptimization/since" in line
    ]
    return {"truth": truth, "score": score, "alarm": alarm[0] if alarm else None}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--kl", type=float, nargs="+", default=[0.003, 0.1])
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--out", type=Path, default=Path("overoptimization"))
    asked = parser.parse_args()
    for seed in asked.seeds:
        folder = asked.out / f"seed{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        for result in chain(folder, seed, asked.kl, asked.steps):
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
