"""What settings may be, and what they ask of each other: tables of rules, and the checks that take more.

No file is read here: what must be on the machine is in `preflight.py`. What a rollout engine takes is with
the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.trainer.alarms import RULES
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.correction import LEVELS, read_bounds, read_rejections
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.algorithms.reductions import AGGREGATIONS
from rewardkit.trainer.config.root import (
    Config,
    RunConfig,
    TrainerConfig,
    logger_names,
    loss_mode,
    steps_ahead,
    world_size,
)
from rewardkit.trainer.config.verl import leaves
from rewardkit.trainer.config.workers import (
    DTYPE_NAMES,
    ActorConfig,
    CriticConfig,
    FsdpConfig,
    ModelConfig,
    RefConfig,
    group_size,
    has_adapter,
)
from rewardkit.trainer.logging.logger import LOGGERS, missing
from rewardkit.trainer.rollout.engines import ENGINES, check_rollout


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers that a setting can have; NaN is in none."""

    low: float
    high: float = math.inf
    open_low: bool = False
    endless: bool = False
    """Whether infinity is in it."""

    def holds(self, value: float) -> bool:
        """Whether a number is in it."""
        above = value > self.low if self.open_low else value >= self.low
        return above and value <= self.high and (value < math.inf or self.endless)

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"above {self.low:g}" if self.open_low else f"{self.low:g} or more"
        if self.open_low:
            return f"above {self.low:g} and at most {self.high:g}"
        return f"from {self.low:.10g} to {self.high:.10g}"


SHARE = Interval(0, 1)
NOT_NEGATIVE = Interval(0)
ABOVE_0 = Interval(0, open_low=True)
POSITIVE = Interval(0, open_low=True, endless=True)
SEEDS = Interval(-(2**31), 2**31 - 1)
COUNT_OR_ALL = Interval(-1)
"""-1 stands for all, or for none."""

Values = tuple[str, ...] | Interval

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
        "response_timeout_s": POSITIVE,
        "servers_wait_s": NOT_NEGATIVE,
        "update_weights_bucket_megabytes": POSITIVE,
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
        "mode": ("trajectory", "turn", "mixed"),
        "on_error": ("mask", "raise", "value"),
        "timeout_s": POSITIVE,
        "num_workers": POSITIVE,
    },
    "reward_model": {
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
"""Section -> setting -> its names, or its bounds where it is a number; a number may also be null."""

Rule = tuple[Callable[[Any], object], str]
"""When it speaks, and what it says; `{c.data.seed}` stands for a setting."""


def needing_packages(models: Callable[[Any], Sequence[ModelConfig]]) -> tuple[Rule, ...]:
    """Return the rules of what the options of a config's models need."""
    return (
        (
            lambda c: any(map(has_adapter, models(c))) and find_spec("peft") is None,
            "lora_rank is set, but peft is not installed: pip install peft",
        ),
        (
            lambda c: any(model.use_liger for model in models(c)) and find_spec("liger_kernel") is None,
            "use_liger is set, but liger-kernel is not installed: pip install liger-kernel",
        ),
    )


INSTEAD = {
    "actor_rollout_ref.rollout.name": "the engines here are {known}: set actor_rollout_ref.rollout.name=vllm",
    "trainer.mode": "it can be {known}; verl's colocate_async is none of them: generation that does not wait "
    "has servers of its own here",
    "distillation.distillation_loss.loss_mode": "distillation is of the drawn token here: {known}; "
    "set loss_mode=k1 and use_policy_gradient=true for the reverse KL",
    "trainer.device": "it can be {known}: set trainer.device=cuda, or leave it out",
}
"""What to say of a value that verl has and we have not, where the list alone would not say what to do."""

BY_TURNS = [name for name, estimator in ESTIMATORS.items() if estimator.by_turns]


REFUSED: tuple[Rule, ...] = (
    *needing_packages(lambda c: (c.actor_rollout_ref.model, c.critic.model)),
    (
        lambda c: c.actor_rollout_ref.rollout.prompt_length < c.data.max_prompt_length,
        "actor_rollout_ref.rollout.prompt_length={c.actor_rollout_ref.rollout.prompt_length} is below "
        "data.max_prompt_length={c.data.max_prompt_length}; leave it unset to follow it",
    ),
    (
        lambda c: loss_mode(c) == "dro" and not c.actor_rollout_ref.actor.policy_loss.dro_beta,
        "policy_loss.loss_mode=dro needs actor_rollout_ref.actor.policy_loss.dro_beta, such as 0.5: how "
        "strongly the squared log-ratio holds the policy back",
    ),
    (
        lambda c: c.algorithm.filter_groups.enable and c.actor_rollout_ref.rollout.n == 1,
        "algorithm.filter_groups compares the responses to one prompt; set "
        "actor_rollout_ref.rollout.n above 1",
    ),
    (
        lambda c: c.algorithm.gdpo_reward_keys and not ESTIMATORS[c.algorithm.adv_estimator].parts,
        "algorithm.gdpo_reward_keys are for algorithm.adv_estimator=gdpo",
    ),
    (
        lambda c: ESTIMATORS[c.algorithm.adv_estimator].parts and not c.algorithm.gdpo_reward_keys,
        "algorithm.adv_estimator={c.algorithm.adv_estimator} compares parts of the scores: name them in "
        "algorithm.gdpo_reward_keys=[a,b]; `rewardkit explain` shows the parts of a score",
    ),
    (
        lambda c: (
            ESTIMATORS[c.algorithm.adv_estimator].parts
            and c.algorithm.gdpo_reward_weights is not None
            and len(c.algorithm.gdpo_reward_weights) != len(c.algorithm.gdpo_reward_keys or [])
        ),
        "algorithm.gdpo_reward_weights={c.algorithm.gdpo_reward_weights} must be as many as "
        "algorithm.gdpo_reward_keys={c.algorithm.gdpo_reward_keys}",
    ),
    (
        lambda c: (
            ESTIMATORS[c.algorithm.adv_estimator].parts
            and (
                c.algorithm.use_kl_in_reward
                or c.reward_model.overlong_buffer.enable
                or c.reward.mode != "trajectory"
            )
        ),
        "algorithm.adv_estimator={c.algorithm.adv_estimator} compares parts of the scores alone, so that "
        "algorithm.use_kl_in_reward, reward_model.overlong_buffer and reward.mode={c.reward.mode} would have "
        "no effect; leave them out",
    ),
    (
        lambda c: c.algorithm.turn_advantages == "per_turn" and c.algorithm.adv_estimator not in BY_TURNS,
        "algorithm.turn_advantages=per_turn: {c.algorithm.adv_estimator} does not compare turns; "
        f"{', '.join(BY_TURNS)} do (gae and reinforce_plus_plus use rewards of turns as they are)",
    ),
    (
        lambda c: c.algorithm.turn_advantages == "per_turn" and c.reward.mode == "trajectory",
        "algorithm.turn_advantages=per_turn compares rewards of turns; set reward.mode=turn or mixed",
    ),
    (
        lambda c: c.algorithm.rollout_correction.on and not c.actor_rollout_ref.rollout.calculate_log_probs,
        "algorithm.rollout_correction reads the rollout engine's log-probabilities; set "
        "actor_rollout_ref.rollout.calculate_log_probs=true",
    ),
    (
        lambda c: (
            c.reward_model.overlong_buffer.enable
            and not 0 < c.reward_model.overlong_buffer.len <= c.data.max_response_length
        ),
        "reward_model.overlong_buffer.len must be from 1 to "
        "data.max_response_length={c.data.max_response_length}, found {c.reward_model.overlong_buffer.len}",
    ),
    (
        lambda c: (
            (c.trainer.val_before_train or c.trainer.val_only or c.trainer.test_freq > 0)
            and not c.data.val_files
        ),
        "data.val_files is not set; set it, or trainer.val_before_train=false and trainer.test_freq=-1",
    ),
    (
        lambda c: c.trainer.mode != "sync" and c.actor_rollout_ref.rollout.name != "vllm_server",
        "trainer.mode={c.trainer.mode} draws while the policy learns, on servers of their own: set "
        "actor_rollout_ref.rollout.name=vllm_server (docs/rollouts.md)",
    ),
    (
        lambda c: c.distillation.enabled and not c.distillation.teacher_models.teacher_model.model_path,
        "distillation.enabled=true needs distillation.teacher_models.teacher_model.model_path",
    ),
    (
        lambda c: (
            c.distillation.enabled
            and not c.distillation.distillation_loss.use_policy_gradient
            and PENALTIES[c.distillation.distillation_loss.loss_mode] is PENALTIES["k1"]
        ),
        "distillation.distillation_loss.loss_mode={c.distillation.distillation_loss.loss_mode} as a loss has "
        "a gradient of 0 on average; set distillation.distillation_loss.use_policy_gradient=true",
    ),
    (
        lambda c: c.custom_reward_function.path and c.reward.url,
        "custom_reward_function.path and reward.url exclude each other; set one of them",
    ),
    (
        lambda c: c.reward.options and c.reward.url,
        "reward.options are for local rewards; with reward.url, set them at the server",
    ),
    (
        lambda c: c.reward_model.enable and not (c.reward_model.model.path or c.reward_model.url),
        "reward_model.enable=true needs reward_model.model.path, a sequence classifier, or reward_model.url",
    ),
    (
        lambda c: c.reward_model.enable and c.reward.url,
        "reward_model.enable and reward.url exclude each other; set one of them",
    ),
    (
        lambda c: c.reward_model.enable and c.custom_reward_function.path,
        "custom_reward_function.path and reward_model.enable exclude each other: each scores everything",
    ),
)

REFUSED_EVERYWHERE: tuple[Rule, ...] = (
    (
        lambda c: not _is_list_of_steps(c.trainer.profile_steps or []),
        "trainer.profile_steps must be a list of steps, such as [3,4]; found {c.trainer.profile_steps!r}",
    ),
    (
        lambda c: c.trainer.default_hdfs_dir is not None,
        "trainer.default_hdfs_dir is not supported; mount it and set trainer.default_local_dir",
    ),
    (
        lambda c: c.trainer.del_local_ckpt_after_load,
        "trainer.del_local_ckpt_after_load=true: a run killed after that could not be resumed; "
        "set trainer.max_ckpt_to_keep=1 to save space",
    ),
)
"""The same in every stage."""

SAID: tuple[Rule, ...] = (
    (
        lambda c: c.algorithm.use_kl_in_reward and c.actor_rollout_ref.actor.use_kl_loss,
        "algorithm.use_kl_in_reward and actor_rollout_ref.actor.use_kl_loss are both set: the KL from the "
        "reference counts twice, in the rewards and in the loss",
    ),
    (
        lambda c: ESTIMATORS[c.algorithm.adv_estimator].groups and c.actor_rollout_ref.rollout.n == 1,
        "algorithm.adv_estimator={c.algorithm.adv_estimator} compares the responses to one prompt, and "
        "actor_rollout_ref.rollout.n is 1: the score of each is its advantage, as in verl; set n above 1",
    ),
    (
        lambda c: steps_ahead(c.trainer) > 0 and not c.algorithm.rollout_correction.on,
        "trainer.mode={c.trainer.mode} learns from tokens of older weights, as if the policy had drawn them: "
        "algorithm.rollout_correction.rollout_is=token weighs each by what it is under the policy now",
    ),
    (
        lambda c: c.trainer.mode != "async" and c.trainer.max_staleness != TrainerConfig.max_staleness,
        "trainer.max_staleness={c.trainer.max_staleness} is without effect: it is for trainer.mode=async, "
        "not {c.trainer.mode}",
    ),
    (
        lambda c: c.reward_model.model.path and not c.reward_model.enable,
        "reward_model.model.path={c.reward_model.model.path} is without effect until "
        "reward_model.enable=true",
    ),
    (
        lambda c: c.distillation.teacher_models.teacher_model.model_path and not c.distillation.enabled,
        "distillation.teacher_models.teacher_model.model_path is without effect until "
        "distillation.enabled=true",
    ),
    (
        lambda c: any(worker.strategy == "fsdp" for worker in _workers(c).values()),
        "strategy=fsdp: sharding is done by FSDP2, with the same result; FSDP1 is not in here",
    ),
)
"""What is taken, but not as given."""


def check_values(config: RunConfig, table: Mapping[str, Mapping[str, Values]]) -> None:
    """Refuse a setting that has none of its names or is out of its bounds, and NaN wherever it stands.

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


def check_rules(config: RunConfig, rules: Sequence[Rule]) -> None:
    """Raise ConfigError for the first of the rules that speaks."""
    for broken, message in rules:
        if broken(config):
            raise ConfigError(message.format(c=config))


def _check_value(key: str, value: Any, values: Values) -> None:
    if isinstance(values, Interval):
        if value is not None and not values.holds(float(value)):
            raise ConfigError(f"{key} must be {values}, found {value}")
        return
    if str(value) in values:
        return
    if key in INSTEAD:
        raise ConfigError(f"{key}={value}: {INSTEAD[key].format(known=' and '.join(values))}")
    hint = did_you_mean(str(value), values)
    raise ConfigError(f"{key} must be one of {', '.join(values)}, found '{value}'{hint}")


def _get(config: RunConfig, key: str) -> Any:
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def _is_list_of_steps(given: Any) -> bool:
    return isinstance(given, list) and all(type(step) is int and step > 0 for step in given)


def _check_bounds(config: Config) -> None:
    """The bounds of the rollout correction are texts of numbers."""
    asked = config.algorithm.rollout_correction
    key = "algorithm.rollout_correction"
    try:
        read_bounds(asked.rollout_is_threshold)
    except ValueError as error:
        raise ConfigError(f"{key}.rollout_is_threshold: {error}") from None
    try:
        read_rejections(asked.rollout_rs or "", asked.rollout_rs_threshold)
    except ValueError as error:
        raise ConfigError(f"{key}.rollout_rs and rollout_rs_threshold: {error}") from None


def _workers(config: Config) -> dict[str, ActorConfig | RefConfig | CriticConfig]:
    policy = config.actor_rollout_ref
    return {
        "actor_rollout_ref.actor": policy.actor,
        "actor_rollout_ref.ref": policy.ref,
        "critic": config.critic,
    }


def _check_sharding(config: Config) -> None:
    for name, worker in _workers(config).items():
        check_sharding(f"{name}.fsdp_config", worker.fsdp_config, world_size(config))


def check_sharding(section: str, fsdp: FsdpConfig, processes: int) -> None:
    """Raise ConfigError where groups of `fsdp_size` do not come out even."""
    size = fsdp.fsdp_size
    if 0 < size < processes and processes % size:
        raise ConfigError(f"{section}.fsdp_size={size} must divide the {processes} processes, or be -1")


def _check_batch_sizes(config: Config) -> list[str]:
    """Each process must get equally many prompts in a step, and equally many responses in a mini-batch."""
    processes = world_size(config)
    batch = config.data.train_batch_size
    n = config.actor_rollout_ref.rollout.n
    said = f"the {processes} processes (trainer.nnodes x trainer.n_gpus_per_node)"
    if batch % processes:
        raise ConfigError(f"data.train_batch_size={batch} must be divisible by {said}")
    shares = sharing_groups(config)
    workers = {"actor_rollout_ref.actor": config.actor_rollout_ref.actor.ppo_mini_batch_size}
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        workers["critic"] = config.critic.ppo_mini_batch_size
    for name, mini in workers.items():
        if batch % mini:
            raise ConfigError(
                f"data.train_batch_size={batch} must be divisible by {name}.ppo_mini_batch_size={mini}"
            )
        if mini * n % (processes // shares[name]):
            together = (
                f" that have rows of their own, {processes // shares[name]}" if shares[name] > 1 else ""
            )
            raise ConfigError(
                f"{name}.ppo_mini_batch_size={mini} times rollout.n={n} must be divisible by {said}{together}"
            )
    return [
        f"{name}.ppo_mini_batch_size={mini} is not divisible by {said}: a mini-batch holds some of the "
        f"{n} responses to more prompts, as many in all"
        for name, mini in workers.items()
        if mini % processes
    ]


def _check_token_limits(config: Config) -> None:
    """Each forward that is filled up by tokens must hold one sequence; processes that share it, together."""
    rollout = config.actor_rollout_ref.rollout
    row = rollout.prompt_length + rollout.response_length
    for name, tokens in _token_limits(config).items():
        if tokens < row:
            raise ConfigError(
                f"{name}_max_token_len_per_gpu={tokens} does not hold one sequence: prompt_length + "
                f"response_length of actor_rollout_ref.rollout are {row}"
            )


def _token_limits(config: Config) -> dict[str, int]:
    """The limits that are in use, by the setting's name without its end."""
    policy = config.actor_rollout_ref
    rollout = policy.rollout
    critic = config.critic
    shares = sharing_groups(config)
    split = shares["actor_rollout_ref.actor"]
    limits = {}
    if policy.actor.use_dynamic_bsz:
        limits["actor_rollout_ref.actor.ppo"] = policy.actor.ppo_max_token_len_per_gpu * split
    if rollout.log_prob_use_dynamic_bsz:
        limits["actor_rollout_ref.rollout.log_prob"] = rollout.log_prob_max_token_len_per_gpu * split
    if policy.ref.log_prob_use_dynamic_bsz:
        split = shares["actor_rollout_ref.ref"]
        limits["actor_rollout_ref.ref.log_prob"] = policy.ref.log_prob_max_token_len_per_gpu * split
    if critic.use_dynamic_bsz and ESTIMATORS[config.algorithm.adv_estimator].critic:
        split = shares["critic"]
        limits["critic.ppo"] = critic.ppo_max_token_len_per_gpu * split
        limits["critic.forward"] = critic.forward_max_token_len_per_gpu * split
    return limits


SHARING = "ulysses_sequence_parallel_size"


def sharing_workers(config: Config) -> dict[str, tuple[int, ModelConfig]]:
    """Return how many processes shall share a row, and the model, by worker; a critic where one is used."""
    policy = config.actor_rollout_ref
    found = {
        "actor_rollout_ref.actor": (policy.actor.ulysses_sequence_parallel_size, policy.model),
        "actor_rollout_ref.ref": (policy.ref.ulysses_sequence_parallel_size, policy.model),
    }
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        found["critic"] = (config.critic.ulysses_sequence_parallel_size, config.critic.model)
    return found


def sharing_groups(config: Config) -> Mapping[str, int]:
    """Return how many processes do share a row, by worker (`workers/parallel.py`)."""
    processes = world_size(config)
    return {name: group_size(size, processes) for name, (size, _) in sharing_workers(config).items()}


def _check_sharing(config: Config) -> list[str]:
    """Sequences that are not packed cannot be shared."""
    notes = []
    processes = world_size(config)
    for name, size in sharing_groups(config).items():
        wanted, model = sharing_workers(config)[name]
        key = f"{name}.{SHARING}={wanted}"
        if size != wanted:
            notes.append(
                f"{key}: of {processes} process{'es' if processes > 1 else ''}, "
                f"{size} share a row, with the same result"
            )
        if size > 1 and not model.use_remove_padding:
            raise ConfigError(f"{key} shares packed rows: set use_remove_padding=true")
        if size > 1 and (attention := model.override_config.get("attn_implementation")):
            notes.append(f"{key}: attention is torch's own, not {attention}, with the same result")
    return notes


def check_loggers(config: RunConfig) -> list[str]:
    """Refuse a logger that nobody knows; one that is not installed is left out, and said."""
    notes = []
    for name in logger_names(config):
        if name not in LOGGERS:
            hint = did_you_mean(name, LOGGERS)
            raise ConfigError(f"trainer.logger can hold {', '.join(LOGGERS)}; found '{name}'{hint}")
        if missing(name):
            notes.append(
                f"trainer.logger={name}: {name} is not installed (pip install 'rewardkit[trackers]'); "
                "metrics go to metrics.jsonl instead"
            )
    return notes


ALWAYS_SAVED = {"model", "optimizer", "extra"}


def _check_contents(config: Config) -> list[str]:
    contents = config.actor_rollout_ref.actor.checkpoint.save_contents
    return check_contents("actor_rollout_ref.actor.checkpoint.save_contents", contents)


def check_contents(key: str, asked: Sequence[str]) -> list[str]:
    """A checkpoint always holds what a resume needs, whatever else it is asked to hold."""
    contents = set(asked)
    if unknown := sorted(contents - ALWAYS_SAVED - {"hf_model"}):
        raise ConfigError(f"{key} can hold model, optimizer, extra and hf_model; found: {', '.join(unknown)}")
    if left_out := sorted(ALWAYS_SAVED - contents):
        return [f"{key} leaves out {', '.join(left_out)}: a resume needs them, they are saved all the same"]
    return []


Check = Callable[[Any], Iterable[str] | None]
"""Returns lines about what is taken, but not as given; raises a RewardkitError at what cannot be."""

SETTINGS: tuple[tuple[str, Check], ...] = (
    ("values", lambda c: check_values(c, VALUES)),
    ("bounds of the rollout correction", _check_bounds),
    ("what does not go together", lambda c: check_rules(c, (*REFUSED, *REFUSED_EVERYWHERE))),
    ("sharding", _check_sharding),
    ("what is not taken as given", lambda c: [said.format(c=c) for holds, said in SAID if holds(c)]),
    ("batch sizes", _check_batch_sizes),
    ("token limits", _check_token_limits),
    ("rollout engine", lambda c: check_rollout(c, world_size(c))),
    ("shared sequences", _check_sharing),
    ("loggers", check_loggers),
    ("contents of checkpoints", _check_contents),
)
"""What settings ask of each other and of what is installed; the rest is in `preflight.CHECKS`."""


def run_checks(checks: Iterable[tuple[str, Check]], config: RunConfig) -> list[str]:
    """Make checks in order and return their lines; raises the first thing found wrong."""
    return [line for _, check in checks for line in check(config) or ()]
