"""The allowed values of each setting: names, the bounds of a number, or addresses.

Rules between settings are in `rules.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import MISSPELT, ConfigError, did_you_mean
from rewardkit.http_addresses import address_of
from rewardkit.trainer.alarms import RULES
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.correction import LEVELS
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.algorithms.reductions import AGGREGATIONS
from rewardkit.trainer.config.root import RunConfig
from rewardkit.trainer.config.verl import leaves
from rewardkit.trainer.config.workers import DTYPE_NAMES
from rewardkit.trainer.rollout.engines import ENGINES


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers that a setting can have; NaN is in none."""

    low: float
    high: float = math.inf
    open_low: bool = False
    endless: bool = False
    """True if infinity is in it."""

    def holds(self, value: float) -> bool:
        """Return True if a number is in it."""
        above = value > self.low if self.open_low else value >= self.low
        return above and value <= self.high and (value < math.inf or self.endless)

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"above {self.low:g}" if self.open_low else f"{self.low:g} or more"
        if self.open_low:
            return f"above {self.low:g} and at most {self.high:g}"
        return f"from {self.low:.10g} to {self.high:.10g}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of HTTP servers: one, or a list."""


ADDRESSES = Addresses()
SHARE = Interval(0, 1)
NOT_NEGATIVE = Interval(0)
ABOVE_0 = Interval(0, open_low=True)
POSITIVE = Interval(0, open_low=True, endless=True)
SEEDS = Interval(-(2**31), 2**31 - 1)
COUNT_OR_ALL = Interval(-1)
"""-1 stands for all, or for none."""

Values = tuple[str, ...] | Interval | Addresses

DRAWING: dict[str, Values] = {"top_p": Interval(0, 1, open_low=True), "top_k": COUNT_OR_ALL}
WORKER: dict[str, Values] = {
    "fsdp_config.dtype": tuple(DTYPE_NAMES),
    "fsdp_config.model_dtype": tuple(DTYPE_NAMES),
    "fsdp_config.mixed_precision.param_dtype": ("None", *DTYPE_NAMES),
    "fsdp_config.mixed_precision.reduce_dtype": tuple(DTYPE_NAMES),
    "strategy": ("fsdp2", "fsdp"),
    "ulysses_sequence_parallel_size": POSITIVE,
}
LEARNER: dict[str, Values] = {
    **WORKER,
    "optim.lr_scheduler_type": ("constant", "cosine"),
    "optim.warmup_style": ("None", "constant", "cosine"),
    "optim.lr": NOT_NEGATIVE,
    "optim.weight_decay": NOT_NEGATIVE,
    "optim.lr_warmup_steps": COUNT_OR_ALL,
    "optim.lr_warmup_steps_ratio": SHARE,
    "optim.min_lr_ratio": SHARE,
    "optim.num_cycles": ABOVE_0,
    "loss_agg_mode": AGGREGATIONS,
    "ppo_mini_batch_size": POSITIVE,
    "ppo_micro_batch_size_per_gpu": POSITIVE,
    "ppo_epochs": POSITIVE,
    "grad_clip": POSITIVE,
}
TRAINER: dict[str, Values] = {
    "device": ("auto", "cpu", "cuda"),
    "launcher": ("torchrun", "ray"),
    "resume_mode": ("auto", "disable", "resume_path"),
    "total_epochs": POSITIVE,
    "total_training_steps": POSITIVE,
    "n_gpus_per_node": POSITIVE,
    "nnodes": POSITIVE,
    "max_ckpt_to_keep": POSITIVE,
    "max_actor_ckpt_to_keep": POSITIVE,
    "max_critic_ckpt_to_keep": POSITIVE,
    "max_restarts": NOT_NEGATIVE,
}
MODEL: dict[str, Values] = {"lora_rank": NOT_NEGATIVE, "lora_alpha": ABOVE_0}

VALUES: dict[str, dict[str, Values]] = {
    "data": {
        "truncation": ("error", "left", "right", "middle"),
        "seed": SEEDS,
        "train_max_samples": COUNT_OR_ALL,
        "val_max_samples": COUNT_OR_ALL,
        "train_batch_size": POSITIVE,
        "max_prompt_length": POSITIVE,
        "max_response_length": POSITIVE,
    },
    "actor_rollout_ref.model": MODEL,
    "actor_rollout_ref.actor": {
        **LEARNER,
        "kl_loss_type": tuple(PENALTIES),
        "kl_loss_coef": NOT_NEGATIVE,
        "clip_ratio_high": POSITIVE,
        "clip_ratio_low": NOT_NEGATIVE,
        "clip_ratio_c": Interval(1, open_low=True),
        "tau_pos": ABOVE_0,
        "tau_neg": ABOVE_0,
        "loss_scale_factor": POSITIVE,
        "policy_loss.loss_mode": tuple(POLICY_LOSSES),
        "policy_loss.ppo_kl_coef": NOT_NEGATIVE,
        "policy_loss.dro_beta": ABOVE_0,
        **{
            f"policy_loss.vespo_{name}": NOT_NEGATIVE
            for name in ("k_pos", "k_neg", "lambda_pos", "lambda_neg")
        },
        "policy_loss.clip_cov_ratio": POSITIVE,
        "policy_loss.kl_cov_ratio": POSITIVE,
    },
    "actor_rollout_ref.ref": {**WORKER, "log_prob_micro_batch_size_per_gpu": POSITIVE},
    "actor_rollout_ref.rollout": {
        "name": tuple(ENGINES),
        "load_format": ("dummy", "auto"),
        "dtype": ("float32", "bfloat16", "float16"),
        "seed": SEEDS,
        "temperature": ABOVE_0,
        **DRAWING,
        **{f"val_kwargs.{key}": values for key, values in DRAWING.items()},
        "val_kwargs.temperature": NOT_NEGATIVE,
        "val_kwargs.n": POSITIVE,
        "n": POSITIVE,
        "prompt_length": POSITIVE,
        "response_length": POSITIVE,
        "micro_batch_size": POSITIVE,
        "log_prob_micro_batch_size_per_gpu": POSITIVE,
        "max_num_seqs": POSITIVE,
        "max_num_batched_tokens": POSITIVE,
        "gpu_memory_utilization": POSITIVE,
        "tensor_model_parallel_size": POSITIVE,
        "servers": POSITIVE,
        "urls": ADDRESSES,
        "response_timeout_s": POSITIVE,
        "servers_wait_s": NOT_NEGATIVE,
        "update_weights_bucket_megabytes": POSITIVE,
        "lora_sync": ("merge", "adapter"),
        "max_loras": POSITIVE,
        "multi_turn.tool_response_truncate_side": ("left", "middle", "right"),
        "multi_turn.max_parallel_calls": POSITIVE,
        "multi_turn.max_turn_tokens": POSITIVE,
        "multi_turn.max_tool_response_length": POSITIVE,
        "multi_turn.tool_timeout_s": POSITIVE,
        "multi_turn.episode_timeout_s": POSITIVE,
        "multi_turn.max_assistant_turns": NOT_NEGATIVE,
        "multi_turn.max_user_turns": NOT_NEGATIVE,
        "multi_turn.tool_retries": NOT_NEGATIVE,
    },
    "critic": {**LEARNER, "cliprange_value": POSITIVE},
    "critic.model": MODEL,
    "algorithm": {
        "adv_estimator": tuple(ESTIMATORS),
        "gamma": SHARE,
        "lam": SHARE,
        "kl_penalty": tuple(PENALTIES),
        "kl_ctrl.type": ("fixed", "adaptive"),
        "kl_ctrl.kl_coef": NOT_NEGATIVE,
        "kl_ctrl.horizon": ABOVE_0,
        "kl_ctrl.target_kl": ABOVE_0,
        "filter_groups.metric": ("reward", "acc"),
        "filter_groups.max_num_gen_batches": NOT_NEGATIVE,
        "rollout_correction.rollout_is": ("None", *LEVELS),
        "rollout_correction.loss_type": ("ppo_clip", "reinforce"),
        "pf_ppo.reweight_method": ("pow", "max_min", "max_random"),
        "pf_ppo.weight_pow": NOT_NEGATIVE,
        "turn_advantages": ("summed", "per_turn"),
    },
    "distillation": {
        "distillation_loss.loss_mode": tuple(PENALTIES),
        "distillation_loss.distillation_loss_coef": NOT_NEGATIVE,
        "distillation_loss.loss_max_clamp": POSITIVE,
    },
    "reward": {
        "url": ADDRESSES,
        "mode": ("trajectory", "turn", "mixed"),
        "on_error": ("mask", "raise", "value"),
        "timeout_s": POSITIVE,
        "num_workers": POSITIVE,
    },
    "reward_model": {
        "url": ADDRESSES,
        "scores": ("all", "rest"),
        "backend": ("transformers", "vllm"),
        "dtype": ("auto", "float32", "bfloat16", "float16"),
        "max_length": NOT_NEGATIVE,
        "batch_tokens": ABOVE_0,
    },
    "trainer": {
        **TRAINER,
        "data_dir_format": ("jsonl", "parquet"),
        "alarm": ("warn", "stop", "off", "False"),  # YAML reads `off` as false
        **{f"alarms.{rule.name}": NOT_NEGATIVE if rule.below else SHARE for rule in RULES},
        "critic_warmup": NOT_NEGATIVE,
        "mode": ("sync", "one_step_off", "async"),
        "max_staleness": NOT_NEGATIVE,
        "log_val_generations": NOT_NEGATIVE,
    },
}
"""Section -> setting -> its names, its bounds where it is a number, or that it has addresses; a number or an
address may also be null."""

INSTEAD = {
    "actor_rollout_ref.rollout.name": "rewardkit has the engines {known}; set "
    "actor_rollout_ref.rollout.name=vllm",
    "trainer.mode": (
        "expected {known}; instead of verl's colocate_async, use async, which generates on its own servers"
    ),
    "distillation.distillation_loss.loss_mode": (
        "rewardkit distils only on the sampled tokens, with {known}; for the reverse KL set loss_mode=k1 and "
        "use_policy_gradient=true"
    ),
    "trainer.device": "expected {known}; set trainer.device=cuda, or leave trainer.device out",
}
"""Advice for a value that is no misspelling, such as those of verl that we have not, where the list alone
would not help."""


def check_values(config: RunConfig, table: Mapping[str, Mapping[str, Values]]) -> None:
    """Refuse a setting that has none of its names, is out of its bounds or no address, and NaN anywhere.

    Args:
        table: as `VALUES`.

    Raises:
        ConfigError: the first such setting.
    """
    for section, settings in table.items():
        for name, values in settings.items():
            key = f"{section}.{name}"
            _check_value(key, _get(config, key), values)
    for key, value in leaves(config):
        if key.endswith("optim.betas") and not all(0 <= beta < 1 for beta in value):
            raise ConfigError(f"{key} must be at least 0 and below 1, found {value}")
        if isinstance(value, float) and math.isnan(value):
            raise ConfigError(f"{key} must be a number, found {value}")


def _check_value(key: str, value: Any, values: Values) -> None:
    if isinstance(values, Interval):
        if value is not None and not values.holds(float(value)):
            raise ConfigError(f"{key} must be {values}, found {value}")
        return
    if isinstance(values, Addresses):
        _check_addresses(key, value)
        return
    if str(value) in values:
        return
    misspelt = did_you_mean(str(value), values, alike=MISSPELT)
    if key in INSTEAD and not misspelt:
        raise ConfigError(f"{key}={value}: {INSTEAD[key].format(known=_listed(values))}")
    hint = misspelt or did_you_mean(str(value), values)
    raise ConfigError(f"{key} must be one of {', '.join(values)}, found '{value}'{hint}")


def _check_addresses(key: str, value: Any) -> None:
    for url in value if isinstance(value, list) else [value] if value is not None else []:
        try:
            address = address_of(str(url))
        except ValueError as error:
            raise ConfigError(f"{key}: {error}") from None
        if key.endswith(".urls") and address.given != str(address):
            raise ConfigError(f"{key}: {address} must have no name, password or query; give http://HOST:PORT")


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _get(config: RunConfig, key: str) -> Any:
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value
