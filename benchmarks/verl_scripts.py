"""Checks that verl's example scripts train here, each with its own settings and a tiny model, for two steps
on a CPU.

    python benchmarks/verl_scripts.py --scripts verl_scripts.jsonl [--only NAME] [--out FOLDER]

`verl_scripts.jsonl` has a line for each script: {"script": name, "words": [key=value, ...]}. Replaced are
data, models, the number of processes (one), the engine (transformers), and the sizes of a step: batch sizes,
lengths, responses to a prompt. All else is the script's own: losses, estimators, adapters, reward models,
types, sharding, offloading. A custom reward replaces the rules, so that an untrained model's responses differ
in score. Exits with 1 if a script neither trains nor is refused before a model is loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import LlamaConfig, LlamaForSequenceClassification

from rewardkit.demo.model import make_model, make_tokenizer, save
from rewardkit.errors import RewardkitError
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import World, open_world
from rewardkit.trainer.loop import train
from rewardkit.trainer.models.lora import gather_adapter, write_adapter
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.preflight import check

DIGITS = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    score = sum(c.isdigit() for c in solution_str) / max(len(solution_str), 1)
    return {"score": score, "accuracy_reward": score, "format_reward": float(len(solution_str) % 2)}
"""


def make_files(folder: Path, world: World) -> None:
    """Write data, a policy, an adapter for it, a reward model and a reward function."""
    texts = [f"Tom has {n} apples. How many?" for n in range(16)]
    rows = [
        {"data_source": "my/digits", "prompt": [{"role": "user", "content": t}], "ground_truth": str(n)}
        for n, t in enumerate(texts)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
    (folder / "digits.py").write_text(DIGITS)
    tokenizer = make_tokenizer(texts, vocab_size=320)
    model = make_model(tokenizer, seed=0)
    save(model, tokenizer, folder / "model")
    adapted = prepare(model, ModelConfig("-", lora_rank=4), world.device, FsdpConfig())
    write_adapter(*gather_adapter(adapted), folder / "adapter")
    classifier = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_labels=1,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    classifier.save_pretrained(folder / "rm")
    tokenizer.save_pretrained(folder / "rm")


def given(words: Sequence[str], folder: Path, out: Path) -> list[str]:
    """Return the settings that replace the script's own: paths, the machine, and sizes."""
    asked = dict(word.lstrip("+").partition("=")[::2] for word in words)
    rollout = "actor_rollout_ref.rollout"
    n = min(int(asked.get(f"{rollout}.n", "1")), 3)
    settings = [
        f"data.train_files={folder}/train.parquet",
        f"data.val_files={folder}/train.parquet",
        f"actor_rollout_ref.model.path={folder}/model",
        f"critic.model.path={folder}/model",
        "data.train_batch_size=4",
        "data.max_prompt_length=40",
        "data.max_response_length=8",
        f"{rollout}.prompt_length=40",
        f"{rollout}.response_length=8",
        f"{rollout}.max_model_len=null",
        f"{rollout}.name=hf",
        f"{rollout}.n={n}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=2",
        "critic.ppo_mini_batch_size=2",
        "trainer.n_gpus_per_node=1",
        "trainer.nnodes=1",
        "trainer.device=cpu",
        "trainer.total_training_steps=2",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.save_freq=-1",
        "trainer.logger=[jsonl]",
        "reward.num_workers=1",
        f"trainer.default_local_dir={out}",
    ]
    if any("overlong_buffer" in key for key in asked):
        settings.append("reward_model.overlong_buffer.len=4")
    if "actor_rollout_ref.model.lora_adapter_path" in asked:
        settings.append(f"actor_rollout_ref.model.lora_adapter_path={folder}/adapter")
    if {"reward_model.model.path", "reward.reward_model.model_path"} & set(asked):
        return [*settings, f"reward_model.model.path={folder}/rm"]
    return [
        *settings,
        f"custom_reward_function.path={folder}/digits.py",
        "custom_reward_function.name=compute_score",
    ]


def outcome(words: Sequence[str], folder: Path, world: World) -> tuple[str, str]:
    """Return `trains`, `refused` or `fails`, and the reason."""
    with tempfile.TemporaryDirectory() as out:
        try:
            config = load_config(None, [*words, *given(words, folder, Path(out))])
            check(config)
        except RewardkitError as error:
            return "refused", str(error)
        try:
            with open_run(config, world) as run:
                train(run)
            lines = (Path(out) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
            steps = [json.loads(line) for line in lines]
            assert [step["training/global_step"] for step in steps] == [1, 2]
            assert all(step["actor/grad_norm"] is not None for step in steps)
        except Exception:
            return "fails", traceback.format_exc()
    return "trains", f"score {steps[-1]['critic/score/mean']:.3f}"


def main() -> None:
    """Run each script; print a line for each, and the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scripts", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, help="Keep models and data here.")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    lines = asked.scripts.read_text(encoding="utf-8").splitlines()
    scripts = [script for script in map(json.loads, lines) if asked.only in script["script"]]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary, open_world("cpu") as world:
        folder = asked.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        make_files(folder, world)
        for script in scripts:
            verdict, why = outcome(script["words"], folder, world)
            counts[verdict] += 1
            print(f"{verdict:8} {script['script']}: {why}", flush=True)
    print(", ".join(f"{verdict} {number}" for verdict, number in sorted(counts.items())))
    sys.exit(1 if counts["fails"] else 0)


if __name__ == "__main__":
    main()
