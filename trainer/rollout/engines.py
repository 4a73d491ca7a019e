"""The rollout engines that `actor_rollout_ref.rollout.name` can ask for, and the checks that all share.

An engine of your own: a file beside this one, and a row here (docs/extending_trainer.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.extensions import Table
from rewardkit.model_folders import read_config
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.models.shape import read_positions
from rewardkit.trainer.rollout import (
    hf,
    served,
    vllm,
)
from rewardkit.trainer.rollout.base import Engine

KEY = "actor_rollout_ref.rollout"

ENGINES: Table[Engine] = Table(
    "rollout_engines",
    Engine,
    {
        "hf": Engine(hf.check, lambda *_: None, hf.memory, hf.open_engine),
        "vllm": Engine(vllm.check, vllm.why_not, vllm.memory, vllm.open_engine),
        "vllm_server": Engine(served.check, vllm.why_not, served.memory, served.open_engine),
    },
)


def fall_back(config: Config) -> list[str]:
    """Switch to transformers if the engine was not asked for by name and cannot generate with the model.

    Returns:
        a line that says so, if it came to that.
    """
    policy = config.actor_rollout_ref
    reason = _why_not(config)
    if reason is None:
        return []
    said = f"{KEY}.name=hf, because {policy.rollout.name} cannot generate with this model: {reason}"
    policy.rollout.name = "hf"
    return [said]


def _why_not(config: Config) -> str | None:
    return ENGINES[config.actor_rollout_ref.rollout.name].why_not(_described(config), config)


def _described(config: Config) -> Mapping[str, Any]:
    """The policy's config.json, with what the run changes in it; empty for one that is not here yet."""
    model = config.actor_rollout_ref.model
    return {**(read_config(model.path) or {}), **model.override_config}


def check_rollout(config: Config, processes: int) -> list[str]:
    """Check the rollout settings against the engine, the device and the number of processes.

    Returns:
        lines about settings that have no effect with this engine.

    Raises:
        ConfigError, MissingDependencyError: the first thing found wrong.
    """
    rollout = config.actor_rollout_ref.rollout
    longest = rollout.prompt_length + rollout.response_length
    if rollout.max_model_len is not None and rollout.max_model_len < longest:
        raise ConfigError(
            f"{KEY}.max_model_len={rollout.max_model_len} is below prompt_length + response_length = "
            f"{longest}; leave max_model_len unset to use this sum"
        )
    validation = rollout.val_kwargs
    if validation.do_sample and not validation.temperature > 0:
        raise ConfigError(
            f"{KEY}.val_kwargs.temperature must be above 0 to sample, found {validation.temperature}; "
            "set val_kwargs.do_sample=false for greedy decoding"
        )
    return [*ENGINES[rollout.name].check(config, processes), *served.without_effect(config)]


def check_model(config: Config) -> None:
    """Check that the engine can generate with the policy, and that it has a position for every token.

    Raises:
        ConfigError: it cannot, as far as its config.json says; nothing is known of a model of the hub that is
            not on this machine yet.
    """
    rollout = config.actor_rollout_ref.rollout
    if reason := _why_not(config):
        raise ConfigError(f"{KEY}.name={rollout.name}: {reason}; set {KEY}.name=hf")
    longest = rollout.prompt_length + rollout.response_length
    positions = read_positions(_described(config))
    if positions is not None and longest > positions:
        raise ConfigError(
            f"data.max_prompt_length + data.max_response_length is {longest} tokens, but the model has only "
            f"{positions} positions (max_position_embeddings in its config.json); lower one of the two "
            "settings"
        )
