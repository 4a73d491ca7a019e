"""On-policy distillation on the demo's task: a larger teacher, made with SFT, teaches the demo's model.

    python benchmarks/distillation.py [--steps 15] [--teacher-steps 240]

Prints the student's sampled accuracy on held-out problems at each validation, and its KL to the teacher.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from rich.console import Console
from transformers import LlamaConfig, LlamaForCausalLM

from rewardkit.datasets_prep import arithmetic
from rewardkit.demo.model import save
from rewardkit.demo.run_demo import final_weights, make_start
from rewardkit.trainer.config.load import load_config, load_settings
from rewardkit.trainer.models.load import load_tokenizer
from rewardkit.trainer.run.process import train_here
from rewardkit.trainer.sft.config import SETTINGS

DISTANCE = "distillation.distillation_loss"


def make_teacher(data: Path, student: Path, folder: Path, steps: int) -> Path:
    """Return a larger model that has learned all answers in the rewarded format."""
    tokenizer = load_tokenizer(str(student))
    config = LlamaConfig.from_pretrained(student)
    larger = {"hidden_size": 192, "intermediate_size": 576, "num_hidden_layers": 3, "num_attention_heads": 6}
    config.update(larger | {"num_key_value_heads": 3})
    save(LlamaForCausalLM(config), tokenizer, folder / "random")
    words = [
        f"data.train_files={data / 'train.parquet'}",
        f"data.val_files={data / 'test.parquet'}",
        f"model.path={folder / 'random'}",
        f"trainer.total_training_steps={steps}",
        f"trainer.default_local_dir={folder / 'run'}",
        "trainer.logger=[jsonl]",
    ]
    train_here(load_settings(SETTINGS, "tiny-cpu", words), "sft")
    return final_weights(folder / "run")


def main() -> None:
    """Make both models, distil, and print the curve."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--teacher-steps", type=int, default=240)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data, student = folder / "data", folder / "student"
        arithmetic.prepare(data, n_train=4000, n_test=256, level="tiny", seed=0)
        files = [
            f"data.train_files={data / 'train.parquet'}",
            f"data.val_files={data / 'test.parquet'}",
            f"actor_rollout_ref.model.path={student}",
        ]
        make_start(load_config("tiny-cpu", files), student, 0, Console(quiet=True))
        teacher = make_teacher(data, student, folder / "teacher", args.teacher_steps)
        words = [
            *files,
            "algorithm.adv_estimator=grpo",
            "algorithm.use_kl_in_reward=false",
            "trainer.critic_warmup=0",
            "trainer.test_freq=5",
            "trainer.logger=[jsonl]",
            f"trainer.total_training_steps={args.steps}",
            f"trainer.default_local_dir={folder / 'run'}",
            "distillation.enabled=true",
            f"distillation.teacher_models.teacher_model.model_path={teacher}",
            f"{DISTANCE}.loss_mode=k1",
            f"{DISTANCE}.use_policy_gradient=true",
            f"{DISTANCE}.use_task_rewards=false",
        ]
        train_here(load_config("tiny-cpu", words))
        for line in (folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            accuracy = [value for key, value in row.items() if key.startswith("val-core/")]
            if accuracy:
                distance = row.get("distillation/kl", float("nan"))
                print(
                    f"step {row['training/global_step']:.0f}  accuracy {accuracy[0]:.3f}  KL {distance:.3f}"
                )


if __name__ == "__main__":
    main()
