"""Everything that can be found wrong before a model is loaded: one clear ConfigError or InputError each.

What single settings may be is in `choices.py`, and what each rollout engine takes with the engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rewardkit.agents.rows import EpisodeRow
from rewardkit.checks.first_look import look_at_prompts
from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.groups import needs_group
from rewardkit.model_folders import why_no_model
from rewardkit.registry import REGISTRY
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.agents import as_episode_row, check_agents
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.checkpoint.find import find_checkpoint
from rewardkit.trainer.config.root import Config, logger_names
from rewardkit.trainer.config.workers import ActorConfig, CriticConfig, RefConfig, has_adapter
from rewardkit.trainer.data import file_list, read_rows
from rewardkit.trainer.logging.logger import LOGGERS, missing
from rewardkit.trainer.rewards import REWARD_MODEL, RewardSource, open_rewards, why_no_parts
from rewardkit.trainer.rollout.engines import check_rollout
from rewardkit.trainer.run.algorithm import check_algorithm
from rewardkit.trainer.run.choices import check_choices, check_positive, check_ranges
from rewardkit.trainer.run.memory import report
from rewardkit.trainer.run.sharing import check_shared_models, check_sharing, groups
from rewardkit.types import Sample


def check(config: Config) -> list[str]:
    """Check settings against each other, the data files, the data sources and the output folder.

    Returns:
        lines that are worth saying: the memory estimate, settings without effect, odd data.

    Raises:
        ConfigError, InputError, UnknownDataSourceError: the first thing found wrong.
    """
    notes = check_settings(config)
    _check_checkpoints(config)
    _check_models(config)
    check_shared_models(config)
    _check_adapter(config.actor_rollout_ref.model.lora_adapter_path)
    for name in ("default_local_dir", "rollout_data_dir", "validation_data_dir"):
        _check_output(name, getattr(config.trainer, name))
    return [*notes, report(config), *_check_data(config)]


def check_settings(config: Config) -> list[str]:
    """Check settings against each other and against what is installed; no file is read.

    Returns:
        lines about settings that are taken, but not as given.

    Raises:
        ConfigError, MissingDependencyError: the first thing found wrong.
    """
    check_choices(config)
    check_positive(config)
    check_ranges(config)
    _check_lengths(config)
    notes = [*_check_batch_sizes(config), *check_algorithm(config)]
    _check_token_limits(config)
    _check_sharding(config)
    _check_packages(config)
    _check_validation(config)
    _check_rewards(config)
    notes += check_rollout(config, world_size(config))
    notes += check_sharing(config)
    return [*notes, *_sharding_notes(config), *_logger_notes(config), *_contents_notes(config)]


def _logger_notes(config: Config) -> list[str]:
    """Refuse a logger that nobody knows; one that is not installed is left out, and said."""
    notes = []
    for name in logger_names(config):
        if name not in LOGGERS:
            hint = did_you_mean(name, LOGGERS)
            raise ConfigError(f"trainer.logger can hold {', '.join(LOGGERS)}; found '{name}'{hint}")
        if missing(name):
            notes.append(
                f"trainer.logger={name}: {name} is not installed (pip install {name}); "
                "metrics go to metrics.jsonl instead"
            )
    return notes


def _check_lengths(config: Config) -> None:
    if config.actor_rollout_ref.rollout.prompt_length < config.data.max_prompt_length:
        raise ConfigError(
            f"actor_rollout_ref.rollout.prompt_length={config.actor_rollout_ref.rollout.prompt_length} is "
            f"below data.max_prompt_length={config.data.max_prompt_length}; leave it unset to follow it"
        )


def world_size(config: Config) -> int:
    """Return the number of processes the config asks for."""
    return config.trainer.nnodes * config.trainer.n_gpus_per_node


def _check_batch_sizes(config: Config) -> list[str]:
    """Each process must get equally many prompts in a step, and equally many responses in a mini-batch."""
    processes = world_size(config)
    batch = config.data.train_batch_size
    n = config.actor_rollout_ref.rollout.n
    said = f"the {processes} processes (trainer.nnodes x trainer.n_gpus_per_node)"
    if batch % processes:
        raise ConfigError(f"data.train_batch_size={batch} must be divisible by {said}")
    shares = groups(config)
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
    shares = groups(config)
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


def _workers(config: Config) -> dict[str, ActorConfig | RefConfig | CriticConfig]:
    return {
        "actor_rollout_ref.actor": config.actor_rollout_ref.actor,
        "actor_rollout_ref.ref": config.actor_rollout_ref.ref,
        "critic": config.critic,
    }


def _check_sharding(config: Config) -> None:
    processes = world_size(config)
    for name, worker in _workers(config).items():
        groups = worker.fsdp_config.fsdp_size
        if 0 < groups < processes and processes % groups:
            raise ConfigError(
                f"{name}.fsdp_config.fsdp_size={groups} must divide the {processes} processes, or be -1"
            )


def _sharding_notes(config: Config) -> list[str]:
    workers = _workers(config)
    notes = []
    if any(worker.strategy == "fsdp" for worker in workers.values()):
        notes.append("strategy=fsdp: sharding is done by FSDP2, with the same result; FSDP1 is not in here")
    return notes


def _check_packages(config: Config) -> None:
    """Packages that the model options need."""
    models = {
        "actor_rollout_ref.model": config.actor_rollout_ref.model,
        "critic.model": config.critic.model,
    }
    for name, model in models.items():
        if has_adapter(model) and find_spec("peft") is None:
            raise ConfigError(f"{name}.lora_rank is set, but peft is not installed: pip install peft")
        if model.use_liger and find_spec("liger_kernel") is None:
            raise ConfigError(
                f"{name}.use_liger is set, but liger-kernel is not installed: pip install liger-kernel"
            )


def _check_validation(config: Config) -> None:
    trainer = config.trainer
    validates = trainer.val_before_train or trainer.val_only or trainer.test_freq > 0
    if validates and not config.data.val_files:
        raise ConfigError(
            "data.val_files is not set; set it, or trainer.val_before_train=false and trainer.test_freq=-1"
        )
    steps = trainer.profile_steps or []
    if not isinstance(steps, list) or not all(type(step) is int and step > 0 for step in steps):
        raise ConfigError(f"trainer.profile_steps must be a list of steps, such as [3,4]; found {steps!r}")


def _check_data(config: Config) -> list[str]:
    """Read all the data, and score the first reference answer of each data source; return what is odd."""
    first: dict[str, dict[str, Any]] = {}
    files = (*file_list(config.data.train_files), *file_list(config.data.val_files))
    episodes: dict[str, list[EpisodeRow]] = {}
    for path in files:
        rows = read_rows(path, config.data.prompt_key)
        for row in rows:
            first.setdefault(row["data_source"], row)
        episodes[str(path)] = [as_episode_row(**row) for row in rows]
    notes = check_agents(config, episodes)
    sources = {path: {row.data_source for row in rows} for path, rows in episodes.items()}
    rewards = open_rewards(config, set(first))
    try:
        rewards.check(sorted(first))
        notes += _check_group_rewards(config, rewards, sources)
        trained = set[str]().union(*(sources[str(path)] for path in file_list(config.data.train_files)))
        notes += _evaluation_notes(rewards, trained)
        # One process is enough to find what is wrong with the rewards; a reward model is loaded once, later.
        tried = {} if os.environ.get("RANK", "0") != "0" else first
        if config.reward_model.enable:
            tried = {s: row for s, row in tried.items() if REGISTRY.resolve(s).name != REWARD_MODEL}
        odd = _look_at(files, config, rewards) if tried else []
        return [*notes, *odd, *_try_rewards(config, rewards, tried)]
    finally:
        rewards.close()


def _evaluation_notes(rewards: RewardSource, trained: set[str]) -> list[str]:
    """Warn of options that score an evaluation well and teach a policy to list or to guess."""
    if not isinstance(rewards, Scorer):
        return []
    options = {source: rewards.options_for(source) for source in sorted(trained)}
    return [
        f"the reward of '{source}' is for evaluation, not for training: {given.evaluation_only}"
        for source, given in options.items()
        if getattr(given, "evaluation_only", "")
    ]


def _check_group_rewards(config: Config, rewards: RewardSource, sources: Mapping[str, set[str]]) -> list[str]:
    """Rewards that look at groups need more than one response to a prompt; `sources`: those of each file."""
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
                needs_group(source, f"{estimator} scores the greedy response to a prompt; take another")
            )
    if rollout.val_kwargs.n > 1:
        return []
    instead = "in validation its score says nothing until actor_rollout_ref.rollout.val_kwargs.n is above 1"
    return [needs_group(source, instead) for source in by_group(file_list(config.data.val_files))]


def _look_at(files: Sequence[Path], config: Config, rewards: RewardSource) -> list[str]:
    """Look at the first rows of the files, and return what is odd; for agents see `check_agents`."""
    scorer = rewards if isinstance(rewards, Scorer) else None
    found = look_at_prompts(files, RowNames(prompt=config.data.prompt_key), scorer)
    said = [one for one in found if one.check != "agent" or one.level == "warning"]
    return [one.line() for one in said if one.check in ("agent", "ground truth", "shaping")]


def _check_rewards(config: Config) -> None:
    """Where scores come from must be one place."""
    custom = config.custom_reward_function.path
    model = config.reward_model
    if custom and config.reward.url:
        raise ConfigError("custom_reward_function.path and reward.url exclude each other; set one of them")
    if config.reward.options and config.reward.url:
        raise ConfigError("reward.options are for local rewards; with reward.url, set them at the server")
    if not model.enable:
        return
    if not model.model.path:
        raise ConfigError("reward_model.enable=true needs reward_model.model.path: a sequence classifier")
    if config.reward.url:
        raise ConfigError("reward_model.enable and reward.url exclude each other; set one of them")
    if custom:
        raise ConfigError(
            "custom_reward_function.path and reward_model.enable exclude each other: each scores everything"
        )


def _try_rewards(config: Config, rewards: RewardSource, rows: dict[str, dict[str, Any]]) -> list[str]:
    """Score one reference answer (`extra_info.answer`, or the ground truth) for each data source."""
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
    """Each model that the run loads is there; one that two settings name is looked for once."""
    paths = {config.actor_rollout_ref.model.path: "actor_rollout_ref.model.path"}
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        paths.setdefault(config.critic.model.path, "critic.model.path")
    if config.reward_model.enable:
        paths.setdefault(str(config.reward_model.model.path), "reward_model.model.path")
    for path, key in paths.items():
        if reason := why_no_model(path):
            raise ConfigError(f"{key}: {reason}")


def _check_adapter(path: str | None) -> None:
    if path is not None and not (Path(path) / "adapter_config.json").is_file():
        raise ConfigError(
            f"no adapter in actor_rollout_ref.model.lora_adapter_path={path}: it has no adapter_config.json"
        )


def _check_output(name: str, given: str | None) -> None:
    """The folder is there and can be written to, or can be made; nothing is left behind."""
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
    find_checkpoint(config)


ALWAYS_SAVED = {"model", "optimizer", "extra"}


def _contents_notes(config: Config) -> list[str]:
    """A checkpoint always holds what a resume needs, whatever else it is asked to hold."""
    contents = set(config.actor_rollout_ref.actor.checkpoint.save_contents)
    key = "actor_rollout_ref.actor.checkpoint.save_contents"
    if unknown := sorted(contents - ALWAYS_SAVED - {"hf_model"}):
        raise ConfigError(f"{key} can hold model, optimizer, extra and hf_model; found: {', '.join(unknown)}")
    if left_out := sorted(ALWAYS_SAVED - contents):
        return [f"{key} leaves out {', '.join(left_out)}: a resume needs them, they are saved all the same"]
    return []
