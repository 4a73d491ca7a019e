"""A tiny model and the settings of a short run on CUDA devices. Nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

from rewardkit.demo.model import make_model, make_tokenizer, save
from tests.trainer.conftest import QUESTIONS, write_parquet


def save_model(path: Path) -> Path:
    """Write a model of random weights and its tokenizer."""
    tokenizer = make_tokenizer([*QUESTIONS, "1+2=3\n#### 3"], vocab_size=320)
    save(make_model(tokenizer, seed=0), tokenizer, path)
    return path


def settings(engine: str, model: Path, out: Path, *more: str) -> list[str]:
    """Return what changes the recipe `tiny-cpu` to four steps in bfloat16, with float32 master weights."""
    return [
        f"data.train_files={write_parquet(out.parent)}",
        "data.train_batch_size=8",
        "data.max_response_length=8",
        f"actor_rollout_ref.model.path={model}",
        f"actor_rollout_ref.rollout.name={engine}",
        "actor_rollout_ref.rollout.gpu_memory_utilization=0.2",
        "actor_rollout_ref.rollout.dtype=bfloat16",
        "actor_rollout_ref.actor.fsdp_config.dtype=bfloat16",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.actor.entropy_coeff=0.1",
        "trainer.device=cuda",
        "trainer.total_training_steps=4",
        "trainer.critic_warmup=0",
        "trainer.test_freq=-1",
        "trainer.val_before_train=false",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *more,
    ]
