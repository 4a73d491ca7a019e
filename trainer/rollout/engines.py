"""The rollout engines that `actor_rollout_ref.rollout.name` can ask for, and the checks that all share.

An engine of your own: a file beside this one, and a row here (docs/extending.md).
"""

from __future__ import annotations

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.rollout import (
    hf,
    vllm,
)
from rewardkit.trainer.rollout.base import Engine

KEY = "actor_rollout_ref.rollout"

ENGINES: dict[str, Engine] = {
    "hf": Engine(hf.check, hf.memory, hf.open_engine),
    "vllm": Engine(vllm.check, vllm.memory, vllm.open_engine),
}


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
            f"{longest}; leave it unset to follow them"
        )
    validation = rollout.val_kwargs
    if validation.do_sample and not validation.temperature > 0:
        raise ConfigError(
            f"{KEY}.val_kwargs.temperature must be above 0 to sample, found {validation.temperature}; "
            "val_kwargs.do_sample=false is greedy"
        )
    return ENGINES[rollout.name].check(config, processes)
