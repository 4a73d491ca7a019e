"""What the settings of the algorithm ask of each other: groups, parts, turns, corrections, punishments."""

from __future__ import annotations

from rewardkit.errors import ConfigError
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.correction import read_bounds, read_rejections
from rewardkit.trainer.config.root import Config


def check_algorithm(config: Config) -> list[str]:
    """Check them, and return lines that are worth saying.

    Raises:
        ConfigError: the first thing that does not go together.
    """
    notes = _check_groups(config)
    _check_parts(config)
    _check_turns(config)
    _check_correction(config)
    _check_overlong(config)
    return notes


def _check_groups(config: Config) -> list[str]:
    """What compares the responses to one prompt needs more than one."""
    if config.actor_rollout_ref.rollout.n > 1:
        return []
    if config.algorithm.filter_groups.enable:
        raise ConfigError(
            "algorithm.filter_groups compares the responses to one prompt; set "
            "actor_rollout_ref.rollout.n above 1"
        )
    estimator = config.algorithm.adv_estimator
    if not ESTIMATORS[estimator].groups:
        return []
    return [
        f"algorithm.adv_estimator={estimator} compares the responses to one prompt, and "
        "actor_rollout_ref.rollout.n is 1: the score of each is its advantage, as in verl; set n above 1"
    ]


def _check_parts(config: Config) -> None:
    """What compares parts of scores needs their names, and leaves out what only the score itself has."""
    algorithm = config.algorithm
    keys = algorithm.gdpo_reward_keys
    if not ESTIMATORS[algorithm.adv_estimator].parts:
        if keys:
            raise ConfigError("algorithm.gdpo_reward_keys are for algorithm.adv_estimator=gdpo")
        return
    name = f"algorithm.adv_estimator={algorithm.adv_estimator}"
    if not keys:
        raise ConfigError(
            f"{name} compares parts of the scores: name them in algorithm.gdpo_reward_keys=[a,b]; "
            "`rewardkit explain` shows the parts of a score"
        )
    weights = algorithm.gdpo_reward_weights
    if weights is not None and len(weights) != len(keys):
        raise ConfigError(
            f"algorithm.gdpo_reward_weights has {len(weights)} weights for the {len(keys)} names of "
            "algorithm.gdpo_reward_keys"
        )
    without = {
        "algorithm.use_kl_in_reward=true": algorithm.use_kl_in_reward,
        "reward_model.overlong_buffer.enable=true": config.reward_model.overlong_buffer.enable,
        f"reward.mode={config.reward.mode}": config.reward.mode != "trajectory",
    }
    if given := next((setting for setting, on in without.items() if on), None):
        raise ConfigError(f"{name} compares parts of the scores alone, so that {given} would have no effect")


def _check_turns(config: Config) -> None:
    """What compares turns must be able to, and there must be rewards of turns."""
    if config.algorithm.turn_advantages == "summed":
        return
    able = [name for name, estimator in ESTIMATORS.items() if estimator.by_turns]
    if config.algorithm.adv_estimator not in able:
        raise ConfigError(
            f"algorithm.turn_advantages=per_turn: {config.algorithm.adv_estimator} does not compare turns; "
            f"{', '.join(able)} do (gae and reinforce_plus_plus use rewards of turns as they are)"
        )
    if config.reward.mode == "trajectory":
        raise ConfigError(
            "algorithm.turn_advantages=per_turn compares rewards of turns; set reward.mode=turn or mixed"
        )


def _check_correction(config: Config) -> None:
    """What reads the engine's log-probabilities needs them, of the whole distribution; bounds are numbers."""
    asked = config.algorithm.rollout_correction
    key = "algorithm.rollout_correction"
    needs = asked.bypass_mode or asked.rollout_is or asked.rollout_rs
    if needs and not config.actor_rollout_ref.rollout.calculate_log_probs:
        raise ConfigError(
            f"{key} reads the rollout engine's log-probabilities; set "
            "actor_rollout_ref.rollout.calculate_log_probs=true"
        )
    try:
        read_bounds(asked.rollout_is_threshold)
    except ValueError as error:
        raise ConfigError(f"{key}.rollout_is_threshold: {error}") from None
    try:
        read_rejections(asked.rollout_rs or "", asked.rollout_rs_threshold)
    except ValueError as error:
        raise ConfigError(f"{key}.rollout_rs and rollout_rs_threshold: {error}") from None


def _check_overlong(config: Config) -> None:
    buffer = config.reward_model.overlong_buffer
    limit = config.data.max_response_length
    if buffer.enable and not 0 < buffer.len <= limit:
        raise ConfigError(
            f"reward_model.overlong_buffer.len must be from 1 to data.max_response_length={limit}, "
            f"found {buffer.len}"
        )
