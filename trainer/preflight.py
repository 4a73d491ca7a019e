"""Everything that can be found wrong before a model is loaded: one clear ConfigError or InputError each."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rewardkit.errors import ConfigError, MissingDependencyError, did_you_mean
from rewardkit.trainer.algorithms.advantages import ESTIMATORS, NEEDS_GROUPS
from rewardkit.trainer.algorithms.correction import LEVELS
from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.policy_losses import POLICY_LOSSES
from rewardkit.trainer.algorithms.reductions import AGGREGATIONS
from rewardkit.trainer.config import Config, logger_names
from rewardkit.trainer.config_workers import DTYPE_NAMES, ActorConfig, CriticConfig
from rewardkit.trainer.data import file_list, read_rows
from rewardkit.trainer.logger import LOGGERS, missing
from rewardkit.trainer.memory import report
from rewardkit.trainer.resume import find_checkpoint
from rewardkit.trainer.rewards import RewardSource, open_rewards
from rewardkit.trainer.rollout.options import check_rollout
from rewardkit.types import Sample

CHOICES = {
    "data.truncation": ("error", "left", "right", "middle"),
    "actor_rollout_ref.rollout.name": ("hf", "vllm"),
    "actor_rollout_ref.rollout.load_format": ("dummy", "auto"),
    "actor_rollout_ref.rollout.dtype": ("float32", "bfloat16", "float16"),
    "actor_rollout_ref.actor.loss_agg_mode": AGGREGATIONS,
    "actor_rollout_ref.actor.kl_loss_type": tuple(PENALTIES),
    "actor_rollout_ref.actor.policy_loss.loss_mode": tuple(POLICY_LOSSES),
    "critic.loss_agg_mode": AGGREGATIONS,
    "algorithm.adv_estimator": tuple(ESTIMATORS),
    "algorithm.kl_penalty": tuple(PENALTIES),
    "algorithm.filter_groups.metric": ("reward", "acc"),
    "algorithm.rollout_correction.rollout_is": ("None", *LEVELS),
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
    "algorithm.kl_ctrl.type": ("fixed", "adaptive"),
    "reward.on_error": ("mask", "raise", "value"),
    "trainer.data_dir_format": ("jsonl", "parquet"),
    "trainer.device": ("auto", "cpu", "cuda"),
    "trainer.resume_mode": ("auto", "disable", "resume_path"),
    "trainer.launcher": ("torchrun", "ray"),
}


def check(config: Config) -> None:
    """Check settings against each other, the data files, the data sources and the output folder.

    Raises:
        ConfigError, InputError, UnknownDataSourceError: the first thing found wrong.
    """
    _check_choices(config)
    _check_loggers(config)
    _check_ranges(config)
    _check_batch_sizes(config)
    _check_groups(config)
    _check_overlong(config)
    _check_workers(config)
    check_rollout(config, world_size(config))
    _check_validation(config)
    _check_checkpoints(config)
    _check_model(config.actor_rollout_ref.model.path)
    _check_model(config.critic.model.path)
    _check_output(Path(config.trainer.default_local_dir))
    notes = [report(config), *_check_data(config)]
    if "RANK" not in os.environ:  # else whoever started this process has said it
        print("\n".join(notes), file=sys.stderr)


def _get(config: Config, key: str) -> object:
    value: object = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def _check_choices(config: Config) -> None:
    for key, choices in CHOICES.items():
        value = str(_get(config, key))
        if value not in choices:
            hint = did_you_mean(value, choices)
            raise ConfigError(f"{key} must be one of {', '.join(choices)}, found '{value}'{hint}")


def _check_loggers(config: Config) -> None:
    for name in logger_names(config):
        if name not in LOGGERS:
            hint = did_you_mean(name, LOGGERS)
            raise ConfigError(f"trainer.logger can hold {', '.join(LOGGERS)}; found '{name}'{hint}")
        if missing(name):
            raise MissingDependencyError(f"trainer.logger={name} needs {name}: pip install {name}")


def _check_ranges(config: Config) -> None:
    positive = (
        "data.train_batch_size",
        "data.max_prompt_length",
        "data.max_response_length",
        "actor_rollout_ref.rollout.n",
        "actor_rollout_ref.rollout.temperature",
        "actor_rollout_ref.rollout.prompt_length",
        "actor_rollout_ref.rollout.response_length",
        "actor_rollout_ref.rollout.micro_batch_size",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
        "actor_rollout_ref.rollout.val_kwargs.n",
        "actor_rollout_ref.rollout.max_num_seqs",
        "actor_rollout_ref.rollout.max_num_batched_tokens",
        "actor_rollout_ref.rollout.gpu_memory_utilization",
        "actor_rollout_ref.rollout.tensor_model_parallel_size",
        "actor_rollout_ref.rollout.top_p",
        "actor_rollout_ref.rollout.val_kwargs.top_p",
        "actor_rollout_ref.actor.ppo_mini_batch_size",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
        "actor_rollout_ref.actor.ppo_epochs",
        "actor_rollout_ref.actor.loss_scale_factor",
        "actor_rollout_ref.actor.policy_loss.clip_cov_ratio",
        "actor_rollout_ref.actor.policy_loss.kl_cov_ratio",
        "algorithm.rollout_correction.rollout_is_threshold",
        "critic.ppo_mini_batch_size",
        "critic.ppo_micro_batch_size_per_gpu",
        "critic.ppo_epochs",
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
    for key in positive:
        value = _get(config, key)
        if value is not None and not value > 0:  # type: ignore[operator]
            raise ConfigError(f"{key} must be above 0, found {value}")
    if config.actor_rollout_ref.rollout.prompt_length < config.data.max_prompt_length:
        raise ConfigError(
            f"actor_rollout_ref.rollout.prompt_length={config.actor_rollout_ref.rollout.prompt_length} is "
            f"below data.max_prompt_length={config.data.max_prompt_length}; leave it unset to follow it"
        )


def world_size(config: Config) -> int:
    """Return the number of processes the config asks for."""
    return config.trainer.nnodes * config.trainer.n_gpus_per_node


def _check_batch_sizes(config: Config) -> None:
    processes, batch = world_size(config), config.data.train_batch_size
    if batch % processes:
        raise ConfigError(
            f"data.train_batch_size={batch} must be divisible by the {processes} processes "
            "(trainer.nnodes x trainer.n_gpus_per_node)"
        )
    workers: dict[str, ActorConfig | CriticConfig] = {
        "actor_rollout_ref.actor": config.actor_rollout_ref.actor,
        "critic": config.critic,
    }
    for name, worker in workers.items():
        mini = worker.ppo_mini_batch_size
        if batch % mini:
            raise ConfigError(
                f"data.train_batch_size={batch} must be divisible by {name}.ppo_mini_batch_size={mini}"
            )
        if mini % processes:
            raise ConfigError(
                f"{name}.ppo_mini_batch_size={mini} must be divisible by the {processes} processes "
                "(trainer.nnodes x trainer.n_gpus_per_node)"
            )


def _check_groups(config: Config) -> None:
    """What compares the responses to one prompt needs more than one."""
    estimator, filters = config.algorithm.adv_estimator, config.algorithm.filter_groups.enable
    if config.actor_rollout_ref.rollout.n == 1 and (filters or estimator in NEEDS_GROUPS):
        what = "filter_groups" if filters else f"adv_estimator={estimator}"
        raise ConfigError(
            f"algorithm.{what} compares the responses to one prompt; set actor_rollout_ref.rollout.n above 1"
        )


def _check_overlong(config: Config) -> None:
    buffer, limit = config.reward_model.overlong_buffer, config.data.max_response_length
    if buffer.enable and not 0 < buffer.len <= limit:
        raise ConfigError(
            f"reward_model.overlong_buffer.len must be from 1 to data.max_response_length={limit}, "
            f"found {buffer.len}"
        )


def _check_workers(config: Config) -> None:
    """What the models at work cannot do, and packages that they would need."""
    policy, critic, rollout = config.actor_rollout_ref, config.critic, config.actor_rollout_ref.rollout
    row = rollout.prompt_length + rollout.response_length
    processes = world_size(config)
    for name, dynamic, tokens in (
        ("actor_rollout_ref.actor.ppo", policy.actor.use_dynamic_bsz, policy.actor.ppo_max_token_len_per_gpu),
        ("critic.ppo", critic.use_dynamic_bsz, critic.ppo_max_token_len_per_gpu),
        ("critic.forward", critic.use_dynamic_bsz, critic.forward_max_token_len_per_gpu),
        (
            "actor_rollout_ref.rollout.log_prob",
            rollout.log_prob_use_dynamic_bsz,
            rollout.log_prob_max_token_len_per_gpu,
        ),
        (
            "actor_rollout_ref.ref.log_prob",
            policy.ref.log_prob_use_dynamic_bsz,
            policy.ref.log_prob_max_token_len_per_gpu,
        ),
    ):
        if dynamic and tokens < row:
            raise ConfigError(
                f"{name}_max_token_len_per_gpu={tokens} does not hold one sequence: prompt_length + "
                f"response_length of actor_rollout_ref.rollout are {row}"
            )
    for name, worker in (
        ("actor_rollout_ref.actor", policy.actor),
        ("actor_rollout_ref.ref", policy.ref),
        ("critic", critic),
    ):
        if worker.ulysses_sequence_parallel_size != 1:
            raise ConfigError(
                f"{name}.ulysses_sequence_parallel_size={worker.ulysses_sequence_parallel_size}: sequences "
                "are not split over processes here; set 1, and for long ones lower the tokens per forward"
            )
        groups = worker.fsdp_config.fsdp_size
        if groups > 0 and processes % groups:
            raise ConfigError(
                f"{name}.fsdp_config.fsdp_size={groups} must divide the {processes} processes, or be -1"
            )
    for name, model in (("actor_rollout_ref.model", policy.model), ("critic.model", critic.model)):
        for needed, package, asked in (
            ("peft", "peft", model.lora_rank > 0),
            ("liger_kernel", "liger-kernel", model.use_liger),
        ):
            if asked and find_spec(needed) is None:
                key = "lora_rank" if needed == "peft" else "use_liger"
                raise ConfigError(
                    f"{name}.{key} is set, but {package} is not installed: pip install {package}"
                )


def _check_validation(config: Config) -> None:
    trainer = config.trainer
    validates = trainer.val_before_train or trainer.val_only or trainer.test_freq > 0
    if validates and not config.data.val_files:
        raise ConfigError(
            "data.val_files is not set; set it, or trainer.val_before_train=false and trainer.test_freq=-1"
        )
    steps = trainer.profile_steps or []
    if not isinstance(steps, list) or not all(isinstance(step, int) for step in steps):
        raise ConfigError(f"trainer.profile_steps must be a list of steps, such as [3,4]; found {steps!r}")


def _check_data(config: Config) -> list[str]:
    """Read all the data, and judge the first reference answer of each data source; return what is odd."""
    first: dict[str, dict[str, Any]] = {}
    for path in (*file_list(config.data.train_files), *file_list(config.data.val_files)):
        for row in read_rows(path, config.data.prompt_key):
            first.setdefault(row["data_source"], row)
    if config.custom_reward_function.path and config.reward.url:
        raise ConfigError("custom_reward_function.path and reward.url exclude each other; set one of them")
    if config.reward.options and config.reward.url:
        raise ConfigError("reward.options are for local rewards; with reward.url, set them at the server")
    rewards = open_rewards(config, set(first))
    try:
        rewards.check(sorted(first))
        # One process is enough to find what is wrong with the rewards.
        return _try_rewards(config, rewards, first) if os.environ.get("RANK", "0") == "0" else []
    finally:
        rewards.close()


def _try_rewards(config: Config, rewards: RewardSource, rows: dict[str, dict[str, Any]]) -> list[str]:
    """Judge one reference answer (`extra_info.answer`, or the ground truth) for each data source."""
    samples = [
        Sample(
            source,
            str(row["extra_info"].get("answer") or row["ground_truth"]),
            row["ground_truth"],
            row["prompt"],
            row["extra_info"],
        )
        for source, row in rows.items()
    ]
    odd = []
    for sample, score in zip(samples, rewards.submit(samples).wait(config.reward.timeout_s), strict=True):
        if not score.ok:
            raise ConfigError(
                f"the reward of '{sample.data_source}' cannot judge the data's first reference answer: "
                f"{score.status}, {score.detail}"
            )
        if score.correct is False and sample.extra_info.get("answer"):
            odd.append(
                f"the first reference answer of '{sample.data_source}' is judged wrong: {score.detail}"
            )
    return odd


def _check_model(path: str) -> None:
    """A path on this machine must be a model's folder; other names are the hub's to know."""
    folder = Path(path).expanduser()
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise ConfigError(f"{path} is not a model folder: it has no config.json")
    if not folder.is_dir() and path.startswith(("/", ".", "~")):
        raise ConfigError(f"no such model folder: {path}")


def _check_output(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"trainer.default_local_dir={folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"trainer.default_local_dir={folder} cannot be written to")


def _check_checkpoints(config: Config) -> None:
    if config.trainer.default_hdfs_dir is not None:
        raise ConfigError(
            "trainer.default_hdfs_dir is not supported; mount it and set trainer.default_local_dir"
        )
    if config.trainer.del_local_ckpt_after_load:
        raise ConfigError(
            "trainer.del_local_ckpt_after_load=true: a run killed after that could not be resumed; "
            "set trainer.max_ckpt_to_keep=1 to save space"
        )
    if config.trainer.max_restarts < 0:
        raise ConfigError(f"trainer.max_restarts must be 0 or more, found {config.trainer.max_restarts}")
    contents, needed = (
        set(config.actor_rollout_ref.actor.checkpoint.save_contents),
        {"model", "optimizer", "extra"},
    )
    if not needed <= contents <= needed | {"hf_model"}:
        raise ConfigError(
            "actor_rollout_ref.actor.checkpoint.save_contents must hold model, optimizer and extra, which a "
            f"resume needs, and can hold hf_model; found: {', '.join(sorted(contents)) or 'nothing'}"
        )
    find_checkpoint(config)
