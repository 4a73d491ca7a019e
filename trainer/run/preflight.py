"""Checks data files, rewards, model folders, output folders and the checkpoint before a model is loaded.

Each check raises a ConfigError or an InputError with a clear message. `CHECKS` lists all checks. Checks of
settings are in `checks.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rewardkit.audit.audit_file import audit_first_rows
from rewardkit.audit.report import first_line
from rewardkit.checks.first_look import look_at_prompts
from rewardkit.errors import ConfigError, InputError
from rewardkit.groups import needs_group
from rewardkit.lock.checking import moved_rewards, read_lock
from rewardkit.model_folders import read_config, why_no_model
from rewardkit.registry import REGISTRY
from rewardkit.rewards.model import check_path
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.agents import as_episode_row, check_agents
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.checkpoint.find import find_checkpoint
from rewardkit.trainer.config.root import Config, RunConfig
from rewardkit.trainer.config.workers import ModelConfig
from rewardkit.trainer.data import file_list, read_rows
from rewardkit.trainer.models.vision import why_no_pictures
from rewardkit.trainer.rewards import (
    RewardSource,
    identities_here,
    model_sources,
    open_rewards,
    refuse_unused_rewards,
    why_no_parts,
)
from rewardkit.trainer.rollout.engines import check_model
from rewardkit.trainer.run.checks import (
    SETTINGS,
    SHARING,
    Check,
    run_checks,
    sharing_groups,
    sharing_workers,
)
from rewardkit.trainer.run.memory import report
from rewardkit.types import Sample

_AUDIT_S = 10.0
"""Time limit for the audits of all rewards. `rewardkit audit` takes longer and shows more."""


def _check_data(config: Config) -> list[str]:
    """Read all data, test the rewards and the episodes, and return notes on odd results.

    A reward for texts scores the first reference answer of its data source. Environments play an episode.

    Only process 0 runs this check, since one process is enough. The other processes read the data when the
    run is built.
    """
    if os.environ.get("RANK", "0") != "0":
        return []
    files = (*file_list(config.data.train_files), *file_list(config.data.val_files))
    of_text = why_no_pictures(config.actor_rollout_ref.model.path) is not None
    read = {str(path): read_rows(path, config.data.prompt_key, with_media=of_text) for path in files}
    episodes = {path: [as_episode_row(**row) for row in rows] for path, rows in read.items()}
    first: dict[str, dict[str, Any]] = {}
    by_text: dict[str, dict[str, Any]] = {}
    notes, resolved = check_agents(config, episodes)
    for row, episode in zip((row for rows in read.values() for row in rows), resolved, strict=True):
        first.setdefault(row["data_source"], row)
        if episode.agent.opens is None and REGISTRY.needs_ground_truth(row["data_source"]):
            by_text.setdefault(row["data_source"], row)
    by_model = set(model_sources(config, first))  # The reward model is tested after it is loaded.
    first = {source: row for source, row in first.items() if source not in by_model}
    sources = {path: {row.data_source for row in rows} - by_model for path, rows in episodes.items()}
    rewards = open_rewards(config, set(first))
    try:
        rewards.check(sorted(first))
        refuse_unused_rewards(config, {*first, *by_model}, by_model)
        notes += _check_group_rewards(config, rewards, sources)
        trained = set[str]().union(*(sources[str(path)] for path in file_list(config.data.train_files)))
        _check_lock(config, rewards, trained)
        notes += _evaluation_notes(rewards, trained)
        notes += _audit_notes(config, rewards, trained)
        odd = _look_at(files, config, rewards) if first else []
        return [
            *notes,
            *odd,
            *_try_rewards(
                config, rewards, {source: by_text[source] for source in first if source in by_text}
            ),
        ]
    finally:
        rewards.close()


def _check_lock(config: Config, rewards: RewardSource, data_sources: set[str]) -> None:
    """Refuse to start if a reward for the training data does not match `reward.lock`."""
    if config.reward.lock is None:
        return
    path = Path(config.reward.lock)
    here = identities_here(rewards, data_sources)
    if served := sorted(data_sources - here.keys()):
        raise ConfigError(
            f"reward.lock={path}: '{served[0]}' is scored by a server, but a lock file covers only local "
            "rewards; unset reward.lock"
        )
    moved = moved_rewards(read_lock(path), here)
    if moved:
        more = f" (and {len(moved) - 1} more)" if len(moved) > 1 else ""
        raise ConfigError(
            f"reward.lock={path}: a reward has changed since the lock file was written: {moved[0]}{more}; "
            "undo the change, write the file again with `rewardkit lock FILE` to accept it, or unset "
            "reward.lock"
        )


def _evaluation_notes(rewards: RewardSource, trained: set[str]) -> list[str]:
    """Return warnings about options that are for evaluation only.

    In training, they would teach a policy to list answers or guess.
    """
    if not isinstance(rewards, Scorer):
        return []
    options = {source: rewards.options_for(source) for source in sorted(trained)}
    return [
        f"the reward of '{source}' is for evaluation, not for training: {given.evaluation_only}"
        for source, given in options.items()
        if getattr(given, "evaluation_only", "")
    ]


def _audit_notes(config: Config, rewards: RewardSource, trained: set[str]) -> list[str]:
    """Return the worst exploit of each reward, except for rewardkit's own rewards with default options."""
    if not isinstance(rewards, Scorer):
        return []
    names = RowNames(prompt=config.data.prompt_key)
    files = file_list(config.data.train_files)
    found = audit_first_rows(files, rewards, names=names, data_sources=trained, seconds=_AUDIT_S)
    return [line for line in map(first_line, found) if line]


def _check_group_rewards(config: Config, rewards: RewardSource, sources: Mapping[str, set[str]]) -> list[str]:
    """For rewards that compare responses, check that each prompt gets more than one response.

    Args:
        sources: Data sources of each file, by the file's path.
    """
    rollout = config.actor_rollout_ref.rollout

    def by_group(files: Sequence[Path]) -> list[str]:
        among = set[str]().union(*(sources[str(path)] for path in files))
        return sorted(source for source in among if rewards.scores_by_group(source))

    for source in by_group(file_list(config.data.train_files)):
        if rollout.n == 1:
            raise ConfigError(needs_group(source, "set actor_rollout_ref.rollout.n above 1"))
        if ESTIMATORS[config.algorithm.adv_estimator].greedy:
            estimator = f"algorithm.adv_estimator={config.algorithm.adv_estimator}"
            raise ConfigError(
                needs_group(
                    source, f"{estimator} scores the greedy response to a prompt; use another estimator"
                )
            )
    if rollout.val_kwargs.n > 1:
        return []
    instead = "in validation the score has no meaning until actor_rollout_ref.rollout.val_kwargs.n is above 1"
    return [needs_group(source, instead) for source in by_group(file_list(config.data.val_files))]


def _look_at(files: Sequence[Path], config: Config, rewards: RewardSource) -> list[str]:
    """Inspect the first rows of the files and return notes on odd values."""
    scorer = rewards if isinstance(rewards, Scorer) else None
    found = look_at_prompts(files, RowNames(prompt=config.data.prompt_key), scorer)
    return [one.line() for one in found if one.check == "ground truth"]


def _try_rewards(config: Config, rewards: RewardSource, rows: dict[str, dict[str, Any]]) -> list[str]:
    """Score each data source's first reference answer (`extra_info.answer`, or else the ground truth)."""
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
                f"the reward of '{sample.data_source}' cannot score the data's first reference answer: "
                f"{score.status}, {score.detail}"
            )
        if lacking := why_no_parts(score, config.algorithm.gdpo_reward_keys or ()):
            raise ConfigError(lacking)
        if score.correct is False and sample.extra_info.get("answer"):
            odd.append(
                f"the first reference answer of '{sample.data_source}' is scored as wrong: {score.detail}"
            )
    return odd


def _check_models(config: Config) -> None:
    """Check that all models of the run exist. A model named by several settings is checked once."""
    paths = {config.actor_rollout_ref.model.path: "actor_rollout_ref.model.path"}
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        paths.setdefault(config.critic.model.path, "critic.model.path")
    if config.reward_model.enable and not config.reward_model.url:
        paths.setdefault(str(config.reward_model.model.path), "reward_model.model.path")
    if config.distillation.enabled:
        teacher = "distillation.teacher_models.teacher_model"
        paths.setdefault(
            str(config.distillation.teacher_models.teacher_model.model_path), f"{teacher}.model_path"
        )
    for path, key in paths.items():
        if reason := why_no_model(path):
            raise ConfigError(f"{key}: {reason}")
    if config.reward_model.enable and not config.reward_model.url:
        try:
            check_path(str(config.reward_model.model.path), config.reward_model.model.head)
        except InputError as error:
            raise ConfigError(f"reward_model.model.path: {error}") from None


def _check_shared_models(config: Config) -> None:
    """Refuse to share sequences if a model does not support it. Models not on this machine are skipped."""
    for name, size in sharing_groups(config).items():
        model = sharing_workers(config)[name][1]
        if size == 1 or read_config(model.path) is None:
            continue
        from rewardkit.trainer.models.attention import why_unshared
        from rewardkit.trainer.models.load import load_model_config

        described = load_model_config(model.path, model)
        if reason := why_unshared(described, remote=model.trust_remote_code):
            raise ConfigError(
                f"{name}.{SHARING}={size} does not work with {described.model_type} ({model.path}): "
                f"{reason}; set {SHARING}=1"
            )


def check_resume(config: RunConfig) -> None:
    """Raise ConfigError if the checkpoint to resume from does not exist."""
    find_checkpoint(config)


def check_adapter(section: str, model: ModelConfig) -> None:
    """Raise ConfigError if `lora_adapter_path` is set and contains no adapter."""
    path = model.lora_adapter_path
    if path is not None and not (Path(path) / "adapter_config.json").is_file():
        raise ConfigError(
            f"{section}.lora_adapter_path={path} contains no adapter: adapter_config.json is missing"
        )


def _check_outputs(config: Config) -> None:
    """Check that the output folders exist and are writable, or can be created. No files are left behind."""
    for name in ("default_local_dir", "rollout_data_dir", "validation_data_dir"):
        check_output(name, getattr(config.trainer, name))


def check_output(name: str, given: str | None) -> None:
    """Raise ConfigError unless the folder `trainer.NAME` is writable or can be created."""
    if given is None:
        return
    folder = Path(given)
    above = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    try:
        with TemporaryDirectory(prefix=".rewardkit-", dir=above):
            pass
    except OSError as error:
        what = "cannot be written to" if above == folder.absolute() else f"cannot be made in {above}"
        raise ConfigError(f"trainer.{name}={folder} {what}: {error.strerror}") from None


CHECKS: tuple[tuple[str, Check], ...] = (
    *SETTINGS,
    ("checkpoint", check_resume),
    ("models", _check_models),
    ("model of the rollout engine", check_model),
    ("models of shared sequences", _check_shared_models),
    ("adapter", lambda c: check_adapter("actor_rollout_ref.model", c.actor_rollout_ref.model)),
    ("folders of output", _check_outputs),
    ("memory", lambda c: [report(c)]),
    ("data and rewards", _check_data),
)
"""Names and functions of all checks before a model is loaded, in order."""


def check(config: Config) -> list[str]:
    """Run all checks and return their notes, such as the memory estimate and odd settings or data.

    Raises:
        ConfigError, InputError, UnknownDataSourceError: A check fails. Only the first failure is raised.
    """
    return run_checks(CHECKS, config)
