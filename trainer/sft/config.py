"""Every setting of SFT, with the key names of verl's `sft_trainer_engine.yaml`.

Older names are in `verl_keys.json`; checks across settings are in `checks.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import MISSING

from rewardkit.trainer.config.root import StageConfig
from rewardkit.trainer.config.verl import Schema
from rewardkit.trainer.config.workers import (
    ActorConfig,
    CheckpointConfig,
    FsdpConfig,
    ModelConfig,
    OptimConfig,
)


@dataclass
class SftDataConfig:
    train_files: Any = MISSING
    """A file or a list of files, in any format that `rewardkit score` reads."""
    val_files: Any = None
    """The same, for the validation loss."""
    train_max_samples: int = -1
    """Use only this many of the first rows; -1: all."""
    val_max_samples: int = -1
    """The same, for validation."""
    messages_key: str = "messages"
    """Column of conversations. Their assistant turns are trained on."""
    prompt_key: str | None = None
    """Column of prompts (texts or lists of messages), or a field of a column: `extra_info.question`.
    Null: the columns are recognised (docs/sft.md)."""
    response_key: str | None = None
    """Column of responses. They are trained on."""
    prompt_dict_keys: list[str] | None = None
    """Fields in the column of prompts, for example `[question]`."""
    response_dict_keys: list[str] | None = None
    """Fields in the column of responses."""
    tools_key: str = "tools"
    """Column of tools for the chat template: a list of schemas, or its JSON."""
    chat_template: str | None = None
    """Jinja template (text or file) that replaces the tokenizer's. Checkpoints keep it."""
    apply_chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the chat template, for example `enable_thinking`."""
    max_length: int = 1024
    """Maximum tokens of prompt and response."""
    truncation: str = "error"
    """Treatment of longer rows: `error`, or the side that is cut off: `right` or `left`. Rows that lose
    all trained tokens are skipped."""
    train_batch_size: int = 256
    """Rows per optimizer step, over all processes."""
    micro_batch_size_per_gpu: int | None = 4
    """Rows per forward and backward, without `use_dynamic_bsz`. Does not change the result."""
    use_dynamic_bsz: bool = True
    """Fill each forward and backward up to `max_token_len_per_gpu` tokens instead."""
    max_token_len_per_gpu: int = 8192
    """Tokens per forward and backward."""
    shuffle: bool = True
    """Shuffle the rows in each epoch, by `seed`."""
    seed: int = 1
    """Seed of the order. The same seed gives the same run."""


@dataclass
class SftOptimConfig(OptimConfig):
    lr: float = 1e-5
    betas: tuple[float, float] = (0.9, 0.95)
    lr_warmup_steps_ratio: float = 0.1
    lr_scheduler_type: str = "cosine"
    clip_grad: float = 1.0
    """Maximum norm of the gradients."""


@dataclass
class SftEngineConfig(FsdpConfig):
    strategy: str = "fsdp2"
    """`fsdp2`; `fsdp` means the same."""
    ulysses_sequence_parallel_size: int = 1
    """Number of processes that share each sequence, for long sequences."""


@dataclass
class SftConfig:
    data: SftDataConfig = field(default_factory=SftDataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: SftOptimConfig = field(default_factory=SftOptimConfig)
    engine: SftEngineConfig = field(default_factory=SftEngineConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    trainer: StageConfig = field(default_factory=lambda: StageConfig(total_epochs=4, experiment_name="sft"))


_HERE = Path(__file__).parent
SETTINGS = Schema.read(SftConfig, "sft_trainer", _HERE, _HERE / "verl_keys.json", "sft")


def actor_config(config: SftConfig) -> ActorConfig:
    """Return the settings of the model that learns, as PPO has them."""
    data = config.data
    return ActorConfig(
        strategy=config.engine.strategy,
        ppo_mini_batch_size=data.train_batch_size,
        ppo_micro_batch_size_per_gpu=data.micro_batch_size_per_gpu,
        use_dynamic_bsz=data.use_dynamic_bsz,
        ppo_max_token_len_per_gpu=data.max_token_len_per_gpu,
        ulysses_sequence_parallel_size=config.engine.ulysses_sequence_parallel_size,
        clip_ratio_low=0.0,
        clip_ratio_high=0.0,
        loss_scale_factor=1,
        grad_clip=config.optim.clip_grad,
        optim=config.optim,
        fsdp_config=config.engine,
        checkpoint=config.checkpoint,
    )
