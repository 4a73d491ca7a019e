"""Checks settings before any file is read. The checks include the allowed values and the rules in `rules.py`.

Checks of files are in `preflight.py`. Each rollout engine has its own checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.correction import read_bounds, read_rejections
from rewardkit.trainer.config.allowed import check_values
from rewardkit.trainer.config.root import Config, RunConfig, logger_names, world_size
from rewardkit.trainer.config.workers import (
    RESUMED,
    ActorConfig,
    CriticConfig,
    FsdpConfig,
    ModelConfig,
    RefConfig,
    group_size,
)
from rewardkit.trainer.logging.logger import logger_choices, missing
from rewardkit.trainer.models.lora import check_lora
from rewardkit.trainer.models.quantised import check_quantization
from rewardkit.trainer.rollout.engines import check_rollout
from rewardkit.trainer.run.rules import REFUSED, SAID, check_rules
from rewardkit.trainer.workers.optimizers import check_optimizer


def _check_bounds(config: Config) -> None:
    """Check that the bounds of the rollout correction can be parsed as numbers."""
    asked = config.algorithm.rollout_correction
    key = "algorithm.rollout_correction"
    try:
        read_bounds(asked.rollout_is_threshold)
    except ValueError as error:
        raise ConfigError(f"{key}.rollout_is_threshold: {error}") from None
    try:
        read_rejections(asked.rollout_rs or "", asked.rollout_rs_threshold)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None


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
    """Raise ConfigError if groups of `fsdp_size` do not divide the processes evenly."""
    size = fsdp.fsdp_size
    if 0 < size < processes and processes % size:
        raise ConfigError(f"{section}.fsdp_size={size} must divide the {processes} processes, or be -1")


def _check_batch_sizes(config: Config) -> list[str]:
    """Check that all processes get equal numbers of prompts per step and of responses per mini-batch."""
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
            groups = f"{processes // shares[name]}: {said}, of which {shares[name]} share each row"
            raise ConfigError(
                f"{name}.ppo_mini_batch_size={mini} times rollout.n={n} must be divisible by "
                f"{groups if shares[name] > 1 else said}"
            )
    return [
        (
            f"{name}.ppo_mini_batch_size={mini} is not divisible by {said}: a mini-batch covers more "
            f"prompts, but contains only some of the {n} responses to each"
        )
        for name, mini in workers.items()
        if mini % processes
    ]


def _check_token_limits(config: Config) -> None:
    """Check that each token limit for a forward pass allows at least one sequence.

    If several processes share a sequence, the sum of their limits must allow it.
    """
    rollout = config.actor_rollout_ref.rollout
    row = rollout.prompt_length + rollout.response_length
    for name, (tokens, sharing) in _token_limits(config).items():
        if tokens * sharing < row:
            together = f" times the {sharing} processes that share a row" if sharing > 1 else ""
            raise ConfigError(
                f"{name}_max_token_len_per_gpu={tokens}{together} is too small for one sequence of {row} "
                "tokens (prompt_length + response_length of actor_rollout_ref.rollout)"
            )


def _token_limits(config: Config) -> dict[str, tuple[int, int]]:
    """Return the token limits in use, with the number of processes that share a row.

    The keys are the names of the settings without the suffix `_max_token_len_per_gpu`.
    """
    policy = config.actor_rollout_ref
    rollout = policy.rollout
    critic = config.critic
    shares = sharing_groups(config)
    split = shares["actor_rollout_ref.actor"]
    limits: dict[str, tuple[int, int]] = {}
    if policy.actor.use_dynamic_bsz:
        limits["actor_rollout_ref.actor.ppo"] = (policy.actor.ppo_max_token_len_per_gpu, split)
    if rollout.log_prob_use_dynamic_bsz:
        limits["actor_rollout_ref.rollout.log_prob"] = (rollout.log_prob_max_token_len_per_gpu, split)
    if policy.ref.log_prob_use_dynamic_bsz:
        split = shares["actor_rollout_ref.ref"]
        limits["actor_rollout_ref.ref.log_prob"] = (policy.ref.log_prob_max_token_len_per_gpu, split)
    if critic.use_dynamic_bsz and ESTIMATORS[config.algorithm.adv_estimator].critic:
        split = shares["critic"]
        limits["critic.ppo"] = (critic.ppo_max_token_len_per_gpu, split)
        limits["critic.forward"] = (critic.forward_max_token_len_per_gpu, split)
    return limits


SHARING = "ulysses_sequence_parallel_size"


def sharing_workers(config: Config) -> dict[str, tuple[int, ModelConfig]]:
    """Return the configured number of processes that share a row, and the model, of each worker in use."""
    policy = config.actor_rollout_ref
    found = {
        "actor_rollout_ref.actor": (policy.actor.ulysses_sequence_parallel_size, policy.model),
        "actor_rollout_ref.ref": (policy.ref.ulysses_sequence_parallel_size, policy.model),
    }
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        found["critic"] = (config.critic.ulysses_sequence_parallel_size, config.critic.model)
    return found


def sharing_groups(config: Config) -> Mapping[str, int]:
    """Return the actual number of processes that share a row, by worker (see `workers/parallel.py`)."""
    processes = world_size(config)
    return {name: group_size(size, processes) for name, (size, _) in sharing_workers(config).items()}


def _check_sharing(config: Config) -> list[str]:
    """Refuse to share sequences that are not packed, and return notes on settings that are replaced."""
    notes = []
    processes = world_size(config)
    for name, size in sharing_groups(config).items():
        wanted, model = sharing_workers(config)[name]
        key = f"{name}.{SHARING}={wanted}"
        if size != wanted:
            notes.append(
                f"{key}: {size} of {processes} process{'es' if processes > 1 else ''} share a row instead; "
                "the results are the same"
            )
        if size > 1 and not model.use_remove_padding:
            raise ConfigError(f"{key} needs packed rows; set use_remove_padding=true for this model")
        if size > 1 and (attention := model.override_config.get("attn_implementation")):
            notes.append(
                f"{key}: torch's own attention is used instead of {attention}; the results are the same"
            )
    return notes


def check_loggers(config: RunConfig) -> list[str]:
    """Refuse unknown loggers, and return a note for each logger whose package is not installed."""
    notes = []
    for name in logger_names(config):
        if name not in (known := logger_choices()):
            hint = did_you_mean(name, known)
            raise ConfigError(f"trainer.logger must be one of {', '.join(known)}; found '{name}'{hint}")
        if missing(name):
            notes.append(
                f"trainer.logger={name}: {name} is not installed (pip install 'rewardkit[trackers]'); "
                "metrics go to metrics.jsonl instead"
            )
    return notes


def _note_contents(config: Config) -> list[str]:
    contents = config.actor_rollout_ref.actor.checkpoint.save_contents
    return note_contents("actor_rollout_ref.actor.checkpoint.save_contents", contents)


def note_contents(key: str, asked: Sequence[str]) -> list[str]:
    """Return a note if `save_contents` omits parts that a resume needs. These parts are saved anyway."""
    left_out = [part for part in RESUMED if part not in asked]
    if not left_out:
        return []
    return [f"{key} leaves out {', '.join(left_out)}, which a resume needs; rewardkit saves them anyway"]


def _check_optimizers(config: Config) -> None:
    check_optimizer("actor_rollout_ref.actor.optim", config.actor_rollout_ref.actor.optim)
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        check_optimizer("critic.optim", config.critic.optim)


def _check_adapters(config: Config) -> None:
    policy = config.actor_rollout_ref
    learning: dict[str, tuple[ModelConfig, str, FsdpConfig]] = {
        "actor_rollout_ref.model": (policy.model, "actor_rollout_ref.actor", policy.actor.fsdp_config)
    }
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        learning["critic.model"] = (config.critic.model, "critic", config.critic.fsdp_config)
    for key, (model, worker, fsdp) in learning.items():
        check_lora(key, model)
        check_quantization(key, model, f"{worker}.fsdp_config", fsdp, world_size(config))


def check_device(config: RunConfig) -> None:
    """Refuse `trainer.device=cuda` on a machine without a usable GPU."""
    if config.trainer.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "trainer.device=cuda, but torch finds no GPU on this machine; set trainer.device=cpu, or check "
            "the output of `python -c 'import torch; print(torch.version.cuda, torch.cuda.is_available())'`"
        )


Check = Callable[[Any], Iterable[str] | None]
"""Function that checks a config. It returns notes on settings that are replaced or ignored, or raises a
RewardkitError."""

SETTINGS: tuple[tuple[str, Check], ...] = (
    ("values", check_values),
    ("device", check_device),
    ("bounds of the rollout correction", _check_bounds),
    ("mutually exclusive settings", lambda c: check_rules(c, REFUSED)),
    ("sharding", _check_sharding),
    (
        "settings that are replaced or ignored",
        lambda c: [said.format(c=c) for holds, said in SAID if holds(c)],
    ),
    ("batch sizes", _check_batch_sizes),
    ("token limits", _check_token_limits),
    ("rollout engine", lambda c: check_rollout(c, world_size(c))),
    ("shared sequences", _check_sharing),
    ("optimizers", _check_optimizers),
    ("arguments of adapters", _check_adapters),
    ("loggers", check_loggers),
    ("contents of checkpoints", _note_contents),
)
"""Names and functions of the checks of settings, in order. `preflight.CHECKS` adds more checks."""


def run_checks(checks: Iterable[tuple[str, Check]], config: RunConfig) -> list[str]:
    """Run checks in order and return their notes. The first check that fails raises its error."""
    return [line for _, check in checks for line in check(config) or ()]
