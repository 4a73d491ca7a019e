"""Everything that can be found wrong before a model is loaded: one clear ConfigError or InputError each."""

from __future__ import annotations

import os
from pathlib import Path

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.trainer.config import ActorConfig, Config, CriticConfig
from rewardkit.trainer.data import file_list, read_rows
from rewardkit.trainer.resume import find_checkpoint
from rewardkit.trainer.rewards import open_rewards

CHOICES = {
    "data.truncation": ("error", "left", "right"),
    "actor_rollout_ref.rollout.name": ("hf",),
    "actor_rollout_ref.rollout.dtype": ("float32", "bfloat16", "float16"),
    "actor_rollout_ref.actor.fsdp_config.dtype": ("float32", "bfloat16", "float16"),
    "critic.fsdp_config.dtype": ("float32", "bfloat16", "float16"),
    "algorithm.adv_estimator": ("gae",),
    "algorithm.kl_penalty": ("kl", "abs", "mse", "low_var_kl"),
    "algorithm.kl_ctrl.type": ("fixed", "adaptive"),
    "reward.on_error": ("mask", "raise"),
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
    _check_ranges(config)
    _check_batch_sizes(config)
    _check_validation(config)
    _check_checkpoints(config)
    _check_data(config)
    _check_model(config.actor_rollout_ref.model.path)
    _check_model(config.critic.model.path)
    _check_output(Path(config.trainer.default_local_dir))


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
    for name in config.trainer.logger:
        if name not in ("console", "jsonl"):
            raise ConfigError(f"trainer.logger can hold console and jsonl, found '{name}'")


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
        "actor_rollout_ref.rollout.val_kwargs.temperature",
        "actor_rollout_ref.rollout.top_p",
        "actor_rollout_ref.rollout.val_kwargs.top_p",
        "actor_rollout_ref.actor.ppo_mini_batch_size",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
        "actor_rollout_ref.actor.ppo_epochs",
        "critic.ppo_mini_batch_size",
        "critic.ppo_micro_batch_size_per_gpu",
        "critic.ppo_epochs",
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


def _check_validation(config: Config) -> None:
    if (config.trainer.val_before_train or config.trainer.test_freq > 0) and not config.data.val_files:
        raise ConfigError(
            "data.val_files is not set; set it, or trainer.val_before_train=false and trainer.test_freq=-1"
        )


def _check_data(config: Config) -> None:
    sources: set[str] = set()
    for path in (*file_list(config.data.train_files), *file_list(config.data.val_files)):
        sources.update(row["data_source"] for row in read_rows(path, config.data.prompt_key))
    if config.custom_reward_function.path and config.reward.url:
        raise ConfigError("custom_reward_function.path and reward.url exclude each other; set one of them")
    if config.reward.options and config.reward.url:
        raise ConfigError("reward.options are for local rewards; with reward.url, set them at the server")
    _check_rewards(config, sources)


def _check_rewards(config: Config, sources: set[str]) -> None:
    rewards = open_rewards(config, sources)
    try:
        rewards.check(sorted(sources))
    finally:
        rewards.close()


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
