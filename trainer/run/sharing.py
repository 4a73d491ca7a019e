"""What sequence parallelism asks of the other settings and of the models; see `workers/parallel.py`."""

from __future__ import annotations

from rewardkit.errors import ConfigError
from rewardkit.model_folders import read_config
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import ModelConfig, group_size

KEY = "ulysses_sequence_parallel_size"


def asked(config: Config) -> dict[str, tuple[int, ModelConfig]]:
    """Return how many processes shall share a row, and the model, by worker; a critic where one is used."""
    policy = config.actor_rollout_ref
    found = {
        "actor_rollout_ref.actor": (policy.actor.ulysses_sequence_parallel_size, policy.model),
        "actor_rollout_ref.ref": (policy.ref.ulysses_sequence_parallel_size, policy.model),
    }
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        found["critic"] = (config.critic.ulysses_sequence_parallel_size, config.critic.model)
    return found


def groups(config: Config) -> dict[str, int]:
    """Return how many processes do share a row, by worker."""
    processes = config.trainer.nnodes * config.trainer.n_gpus_per_node
    return {name: group_size(size, processes) for name, (size, _) in asked(config).items()}


def check_sharing(config: Config) -> list[str]:
    """Check what needs no file, and return lines about what is done otherwise.

    Raises:
        ConfigError: sequences that are not packed cannot be shared.
    """
    notes = []
    processes = config.trainer.nnodes * config.trainer.n_gpus_per_node
    for name, size in groups(config).items():
        wanted, model = asked(config)[name]
        if size != wanted:
            notes.append(
                f"{name}.{KEY}={wanted}: of {processes} process{'es' if processes > 1 else ''}, "
                f"{size} share a row, with the same result"
            )
        if size > 1 and not model.use_remove_padding:
            raise ConfigError(f"{name}.{KEY}={wanted} shares packed rows: set use_remove_padding=true")
        if size > 1 and (attention := model.override_config.get("attn_implementation")):
            notes.append(
                f"{name}.{KEY}={wanted}: attention is torch's own, not {attention}, with the same result"
            )
    return notes


def check_shared_models(config: Config) -> None:
    """Raise ConfigError for a model whose sequences cannot be shared, if its folder is on this machine."""
    for name, size in groups(config).items():
        model = asked(config)[name][1]
        if size == 1 or read_config(model.path) is None:
            continue
        from rewardkit.trainer.models.attention import why_unshared
        from rewardkit.trainer.models.load import load_model_config

        described = load_model_config(model.path, model)
        if reason := why_unshared(described, remote=model.trust_remote_code):
            raise ConfigError(
                f"{name}.{KEY}={size} is not for {described.model_type} ({model.path}): {reason}; set it to 1"
            )
