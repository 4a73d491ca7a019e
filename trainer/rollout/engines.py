"""Lists the rollout engines by their names in `actor_rollout_ref.rollout.name`, and checks their settings.

To add an engine, add a file to this folder and a row to the table in this module (docs/extending_trainer.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.extensions import Table
from rewardkit.model_folders import read_config
from rewardkit.model_shapes import read_positions
from rewardkit.trainer.config.root import Config
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
    """Switch to the engine `hf` if the configured engine cannot generate with the model.

    Returns:
        A list with one message if the engine was switched, or else an empty list.
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
    """Return the policy's config.json with the run's overrides.

    Return only the overrides if the model is not on this machine yet.
    """
    model = config.actor_rollout_ref.model
    return {**(read_config(model.path) or {}), **model.override_config}


def check_rollout(config: Config, processes: int) -> list[str]:
    """Check the rollout settings against the engine, the device and the number of processes.

    Returns:
        Messages about settings that have no effect with this engine.

    Raises:
        ConfigError, MissingDependencyError: A check failed. Only the first failure is reported.
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
    """Check that the engine can generate with the policy, and that the policy has enough positions.

    Raises:
        ConfigError: The policy's config.json fails one of the two checks. A model from the Hub that is not on
            this machine yet passes both.
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
