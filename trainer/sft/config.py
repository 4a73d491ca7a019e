"""Settings for SFT, with the key names in verl's `sft_trainer_engine.yaml`.

`verl/sft.json` contains older names, and `checks.py` contains checks across settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import MISSING

from rewardkit.trainer.config.allowed import (
    BELOW_1,
    COUNT_OR_ALL,
    NOT_NEGATIVE,
    POSITIVE,
    SEEDS,
    SHARE,
    allowed,
)
from rewardkit.trainer.config.root import StageConfig
from rewardkit.trainer.config.schema import Schema
from rewardkit.trainer.config.workers import (
    SCHEDULES,
    ActorConfig,
    CheckpointConfig,
    FsdpConfig,
    ModelConfig,
    OptimConfig,
)
from rewardkit.trainer.verl.translation import VerlNames


@dataclass
class RowsConfig:
    """Settings for the rows of all stages that train on given responses."""

    train_files: Any = MISSING
    """File, or list of files, with the training data, in any format that `rewardkit score` reads."""
    val_files: Any = None
    """File, or list of files, with the validation data. Used to compute the validation loss."""
    train_max_samples: int = allowed(-1, COUNT_OR_ALL)
    """Use only the first N training rows. -1 uses all rows."""
    val_max_samples: int = allowed(-1, COUNT_OR_ALL)
    """Use only the first N validation rows. -1 uses all rows."""
    chat_template: str | None = None
    """Jinja template, or file with a template, to use instead of the tokenizer's chat template. The template
    is saved in checkpoints."""
    max_length: int = allowed(1024, POSITIVE)
    """Maximum number of tokens for a prompt and its response together."""
    train_batch_size: int = allowed(256, POSITIVE)
    """Number of rows per optimizer step, over all processes."""
    micro_batch_size_per_gpu: int | None = allowed(4, POSITIVE)
    """Number of responses per forward and backward pass, without `use_dynamic_bsz`. Does not change the
    result."""
    use_dynamic_bsz: bool = True
    """Limit the size of each forward and backward pass to `max_token_len_per_gpu` tokens, instead of a number
    of responses."""
    max_token_len_per_gpu: int = allowed(8192, POSITIVE)
    """Maximum number of tokens per forward and backward pass, with `use_dynamic_bsz`."""
    shuffle: bool = True
    """Shuffle the rows in each epoch, using `seed`."""
    seed: int = allowed(1, SEEDS)
    """Random seed for the order of rows. Runs with the same seed give the same results."""


@dataclass
class SftDataConfig(RowsConfig):
    messages_key: str = "messages"
    """Column with conversations. The model is trained on the assistant turns."""
    prompt_key: str | None = None
    """Column with prompts (strings or lists of messages), or a field in a column, such as
    `extra_info.question`. Null detects the column (docs/sft.md)."""
    response_key: str | None = None
    """Column with responses. The model is trained on the responses."""
    prompt_dict_keys: list[str] | None = None
    """Fields to read from the prompt column, such as `[question]`."""
    response_dict_keys: list[str] | None = None
    """Fields to read from the response column."""
    tools_key: str = "tools"
    """Column with tools for the chat template, as a list of schemas or as JSON."""
    apply_chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments for the chat template, such as `enable_thinking`."""
    truncation: str = allowed("error", ("error", "left", "right"))
    """Treatment of rows that are longer than `max_length`. `error` stops the run. `right` and `left` cut off
    that side. Rows that lose all tokens to train on are skipped."""


@dataclass
class SftOptimConfig(OptimConfig):
    lr: float = allowed(1e-5, NOT_NEGATIVE)
    betas: tuple[float, float] = allowed((0.9, 0.95), BELOW_1)
    lr_warmup_steps_ratio: float = allowed(0.1, SHARE)
    lr_scheduler_type: str = allowed("cosine", SCHEDULES)
    clip_grad: float = allowed(1.0, POSITIVE)
    """Maximum norm of the gradients."""


@dataclass
class SftEngineConfig(FsdpConfig):
    strategy: str = allowed("fsdp2", ("fsdp2", "fsdp"))
    """Sharding strategy. Only `fsdp2` is supported. `fsdp` is accepted as another name for it."""
    ulysses_sequence_parallel_size: int = allowed(1, POSITIVE)
    """Number of processes that share each sequence. Use it for long sequences."""


@dataclass
class GivenConfig:
    """Settings of all stages that train on given responses."""

    data: RowsConfig = field(default_factory=RowsConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: SftOptimConfig = field(default_factory=SftOptimConfig)
    engine: SftEngineConfig = field(default_factory=SftEngineConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    trainer: StageConfig = field(default_factory=StageConfig)


@dataclass
class SftConfig(GivenConfig):
    data: SftDataConfig = field(default_factory=SftDataConfig)
    trainer: StageConfig = field(default_factory=lambda: StageConfig(total_epochs=4, experiment_name="sft"))


SETTINGS = Schema(SftConfig, Path(__file__).parent, VerlNames.read("sft", "sft_trainer", "sft"))


def actor_config(config: GivenConfig, loss_agg_mode: str = "token-mean") -> ActorConfig:
    """Return the settings for the model to train, in the form that PPO uses."""
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
        loss_agg_mode=loss_agg_mode,
        loss_scale_factor=1,
        grad_clip=config.optim.clip_grad,
        optim=config.optim,
        fsdp_config=config.engine,
        checkpoint=config.checkpoint,
    )
