"""Reads verl's `evaluation.yaml` (of `main_eval`) as arguments of `rewardkit eval`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import ConfigError, InputError, did_you_mean
from rewardkit.offline.on_ray import RaySettings
from rewardkit.rows import RowNames

KEYS = (
    "data.path",
    "data.prompt_key",
    "data.response_key",
    "data.data_source_key",
    "data.reward_model_key",
    "custom_reward_function.path",
    "custom_reward_function.name",
    "reward.custom_reward_function.path",
    "reward.custom_reward_function.name",
    "ray_kwargs.ray_init.num_cpus",
    "ray_kwargs.timeline_json_file",
)


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """The settings of an `evaluation.yaml`."""

    file: str | None
    names: RowNames
    reward: str | None
    """`path.py:function`, as `--reward` takes it."""
    cluster: RaySettings
    """Its CPUs and timeline, with `--engine ray`."""


def read_evaluation_config(path: Path) -> EvaluationConfig:
    """Return what an `evaluation.yaml` says.

    Raises:
        InputError: there is no such file, or it is no YAML mapping.
        ConfigError: a key that verl's file does not have.
    """
    given = read_flat_yaml(path)
    for key in given:
        if key not in KEYS:
            raise ConfigError(f"unknown key '{key}' in {path}{did_you_mean(key, KEYS)}")
    function = given.get("custom_reward_function.path") or given.get("reward.custom_reward_function.path")
    name = given.get("custom_reward_function.name") or given.get("reward.custom_reward_function.name")
    names = RowNames(
        data_source=given.get("data.data_source_key") or "data_source",
        response=given.get("data.response_key") or "responses",
        ground_truth=f"{given.get('data.reward_model_key') or 'reward_model'}.ground_truth",
        prompt=given.get("data.prompt_key"),
    )
    reward = f"{function}:{name or 'compute_score'}" if function else None
    return EvaluationConfig(given.get("data.path"), names, reward, cluster_of(given))


def cluster_of(given: Mapping[str, Any]) -> RaySettings:
    """Return what verl's `ray_kwargs` say."""
    cpus = given.get("ray_kwargs.ray_init.num_cpus")
    return RaySettings(None, None if cpus is None else int(cpus), given.get("ray_kwargs.timeline_json_file"))


def read_flat_yaml(path: Path) -> dict[str, Any]:
    """Return the values of a YAML file by their dotted keys.

    Raises:
        InputError: there is no such file, or it is no YAML mapping.
    """
    try:
        loaded = msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any])
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not a YAML mapping: {str(error).splitlines()[0]}") from None
    return dict(_flat(loaded))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
