"""What single settings may be: those with a few named values, and those that must be above 0."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.correction import LEVELS
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.algorithms.reductions import AGGREGATIONS
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import DTYPE_NAMES
from rewardkit.trainer.rollout.engines import ENGINES

CHOICES = {
    "data.truncation": ("error", "left", "right", "middle"),
    "actor_rollout_ref.rollout.name": tuple(ENGINES),
    "actor_rollout_ref.rollout.load_format": ("dummy", "auto"),
    "actor_rollout_ref.rollout.dtype": ("float32", "bfloat16", "float16"),
    "actor_rollout_ref.rollout.multi_turn.tool_response_truncate_side": ("left", "middle", "right"),
    "actor_rollout_ref.actor.loss_agg_mode": AGGREGATIONS,
    "actor_rollout_ref.actor.kl_loss_type": tuple(PENALTIES),
    "actor_rollout_ref.actor.policy_loss.loss_mode": tuple(POLICY_LOSSES),
    "critic.loss_agg_mode": AGGREGATIONS,
    "algorithm.adv_estimator": tuple(ESTIMATORS),
    "algorithm.kl_penalty": tuple(PENALTIES),
    "algorithm.filter_groups.metric": ("reward", "acc"),
    "algorithm.rollout_correction.rollout_is": ("None", *LEVELS),
    "algorithm.rollout_correction.loss_type": ("ppo_clip", "reinforce"),
    **{
        f"{section}.{key}": choices
        for section in ("actor_rollout_ref.actor", "actor_rollout_ref.ref", "critic")
        for key, choices in {
            "fsdp_config.dtype": tuple(DTYPE_NAMES),
            "fsdp_config.model_dtype": tuple(DTYPE_NAMES),
            "fsdp_config.mixed_precision.param_dtype": ("None", *DTYPE_NAMES),
            "fsdp_config.mixed_precision.reduce_dtype": tuple(DTYPE_NAMES),
            "strategy": ("fsdp2", "fsdp"),
        }.items()
    },
    **{
        f"{section}.optim.{key}": choices
        for section in ("actor_rollout_ref.actor", "critic")
        for key, choices in {
            "lr_scheduler_type": ("constant", "cosine"),
            "warmup_style": ("None", "constant", "cosine"),
        }.items()
    },
    "algorithm.pf_ppo.reweight_method": ("pow", "max_min", "max_random"),
    "algorithm.kl_ctrl.type": ("fixed", "adaptive"),
    "algorithm.turn_advantages": ("summed", "per_turn"),
    "reward.mode": ("trajectory", "turn", "mixed"),
    "reward.on_error": ("mask", "raise", "value"),
    "reward_model.scores": ("all", "rest"),
    "reward_model.backend": ("transformers", "vllm"),
    "trainer.data_dir_format": ("jsonl", "parquet"),
    "trainer.device": ("auto", "cpu", "cuda"),
    "trainer.resume_mode": ("auto", "disable", "resume_path"),
    "trainer.launcher": ("torchrun", "ray"),
}

POSITIVE = (
    "data.train_batch_size",
    "data.max_prompt_length",
    "data.max_response_length",
    "actor_rollout_ref.rollout.n",
    "actor_rollout_ref.rollout.prompt_length",
    "actor_rollout_ref.rollout.response_length",
    "actor_rollout_ref.rollout.micro_batch_size",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
    "actor_rollout_ref.rollout.val_kwargs.n",
    "actor_rollout_ref.rollout.max_num_seqs",
    "actor_rollout_ref.rollout.multi_turn.max_parallel_calls",
    "actor_rollout_ref.rollout.multi_turn.max_turn_tokens",
    "actor_rollout_ref.rollout.multi_turn.max_tool_response_length",
    "actor_rollout_ref.rollout.multi_turn.tool_timeout_s",
    "actor_rollout_ref.rollout.multi_turn.episode_timeout_s",
    "actor_rollout_ref.rollout.max_num_batched_tokens",
    "actor_rollout_ref.rollout.gpu_memory_utilization",
    "actor_rollout_ref.rollout.tensor_model_parallel_size",
    "actor_rollout_ref.actor.ppo_mini_batch_size",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
    "actor_rollout_ref.actor.ppo_epochs",
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size",
    "actor_rollout_ref.ref.ulysses_sequence_parallel_size",
    "critic.ulysses_sequence_parallel_size",
    "actor_rollout_ref.actor.loss_scale_factor",
    "actor_rollout_ref.actor.policy_loss.clip_cov_ratio",
    "actor_rollout_ref.actor.policy_loss.kl_cov_ratio",
    "critic.ppo_mini_batch_size",
    "critic.ppo_micro_batch_size_per_gpu",
    "critic.ppo_epochs",
    "critic.cliprange_value",
    "critic.grad_clip",
    "actor_rollout_ref.actor.grad_clip",
    "actor_rollout_ref.actor.clip_ratio_high",
    "reward.timeout_s",
    "reward.num_workers",
    "trainer.total_epochs",
    "trainer.total_training_steps",
    "trainer.n_gpus_per_node",
    "trainer.nnodes",
    "trainer.max_ckpt_to_keep",
    "trainer.max_actor_ckpt_to_keep",
    "trainer.max_critic_ckpt_to_keep",
)


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers that a setting can have."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is in it; no interval without an end holds infinity, and none NaN."""
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high or self.high == math.inf else value <= self.high
        return above and below

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"above {self.low:g}" if self.open_low else f"{self.low:g} or more"
        if not (self.open_low or self.open_high):
            return f"from {self.low:.10g} to {self.high:.10g}"
        low = f"above {self.low:g}" if self.open_low else f"at least {self.low:g}"
        return f"{low} and {'below' if self.open_high else 'at most'} {self.high:g}"


SHARE = Interval(0, 1)
NOT_NEGATIVE = Interval(0)
ABOVE_0 = Interval(0, open_low=True)
SEEDS = Interval(-(2**31), 2**31 - 1)
COUNT_OR_ALL = Interval(-1)
"""-1 stands for all, or for none."""

RANGES = {
    "data.seed": SEEDS,
    "data.train_max_samples": COUNT_OR_ALL,
    "data.val_max_samples": COUNT_OR_ALL,
    "actor_rollout_ref.rollout.seed": SEEDS,
    "actor_rollout_ref.rollout.temperature": ABOVE_0,
    **{
        f"actor_rollout_ref.rollout.{section}{key}": interval
        for section in ("", "val_kwargs.")
        for key, interval in {"top_p": Interval(0, 1, open_low=True), "top_k": COUNT_OR_ALL}.items()
    },
    "actor_rollout_ref.rollout.val_kwargs.temperature": NOT_NEGATIVE,
    "actor_rollout_ref.rollout.multi_turn.max_assistant_turns": NOT_NEGATIVE,
    "actor_rollout_ref.rollout.multi_turn.max_user_turns": NOT_NEGATIVE,
    "actor_rollout_ref.rollout.multi_turn.tool_retries": NOT_NEGATIVE,
    **{
        f"{section}.optim.{key}": interval
        for section in ("actor_rollout_ref.actor", "critic")
        for key, interval in {
            "lr": NOT_NEGATIVE,
            "weight_decay": NOT_NEGATIVE,
            "lr_warmup_steps": COUNT_OR_ALL,
            "lr_warmup_steps_ratio": SHARE,
            "min_lr_ratio": SHARE,
            "num_cycles": ABOVE_0,
        }.items()
    },
    **{f"{section}.lora_rank": NOT_NEGATIVE for section in ("actor_rollout_ref.model", "critic.model")},
    **{f"{section}.lora_alpha": ABOVE_0 for section in ("actor_rollout_ref.model", "critic.model")},
    **{f"actor_rollout_ref.actor.{key}": NOT_NEGATIVE for key in ("clip_ratio_low", "kl_loss_coef")},
    "actor_rollout_ref.actor.clip_ratio_c": Interval(1, open_low=True),
    "actor_rollout_ref.actor.tau_pos": ABOVE_0,
    "actor_rollout_ref.actor.tau_neg": ABOVE_0,
    "actor_rollout_ref.actor.policy_loss.ppo_kl_coef": NOT_NEGATIVE,
    "algorithm.gamma": SHARE,
    "algorithm.lam": SHARE,
    "algorithm.kl_ctrl.kl_coef": NOT_NEGATIVE,
    "algorithm.kl_ctrl.horizon": ABOVE_0,
    "algorithm.kl_ctrl.target_kl": ABOVE_0,
    "algorithm.filter_groups.max_num_gen_batches": NOT_NEGATIVE,
    "algorithm.pf_ppo.weight_pow": NOT_NEGATIVE,
    "reward_model.max_length": NOT_NEGATIVE,
    "reward_model.batch_tokens": ABOVE_0,
    "trainer.critic_warmup": NOT_NEGATIVE,
    "trainer.max_restarts": NOT_NEGATIVE,
    "trainer.log_val_generations": NOT_NEGATIVE,
}
"""Settings whose numbers have bounds; of those in `POSITIVE` it is enough that they are above 0."""


INSTEAD = {
    "actor_rollout_ref.rollout.name": "the engines here are {known}: set actor_rollout_ref.rollout.name=vllm",
    "trainer.device": "it can be {known}: set trainer.device=cuda, or leave it out",
}
"""What to say of a value that verl has and we have not, where the list alone would not say what to do."""


def check_choices(config: Config) -> None:
    """Raise ConfigError for a setting that has none of its values; the message lists them."""
    for key, choices in CHOICES.items():
        value = str(_get(config, key))
        if value not in choices and key in INSTEAD:
            raise ConfigError(f"{key}={value}: {INSTEAD[key].format(known=' and '.join(choices))}")
        if value not in choices:
            hint = did_you_mean(value, choices)
            raise ConfigError(f"{key} must be one of {', '.join(choices)}, found '{value}'{hint}")


def check_positive(config: Config) -> None:
    """Raise ConfigError for a number that must be above 0 and is not; None is no number."""
    for key in POSITIVE:
        value = _get(config, key)
        if value is not None and not value > 0:  # type: ignore[operator]
            raise ConfigError(f"{key} must be above 0, found {value}")


def check_ranges(config: Config) -> None:
    """Raise ConfigError for a number out of its bounds, and for one that is none, wherever it stands."""
    for key, interval in RANGES.items():
        value = _get(config, key)
        if value is not None and not interval.holds(float(str(value))):
            raise ConfigError(f"{key} must be {interval}, found {value}")
    for section in ("actor_rollout_ref.actor", "critic"):
        betas = _get(config, f"{section}.optim.betas")
        if not all(0 <= beta < 1 for beta in betas):  # type: ignore[attr-defined]
            raise ConfigError(f"{section}.optim.betas must be at least 0 and below 1, found {betas}")
    for key, value in _numbers(config):
        if math.isnan(value):
            raise ConfigError(f"{key} must be a number, found {value}")


def _numbers(section: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from _numbers(value, f"{prefix}{f.name}.")
        elif isinstance(value, float):
            yield prefix + f.name, value


def _get(config: Config, key: str) -> object:
    value: object = config
    for part in key.split("."):
        value = getattr(value, part)
    return value
