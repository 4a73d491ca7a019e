"""Conversion of verl's settings for `main_eval` (an `evaluation.yaml`) to arguments for `rewardkit eval`.

`verl_keys.json` contains the meaning of each key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardkit.foreign import verl_function
from rewardkit.offline.on_ray import RaySettings
from rewardkit.rows import RowNames
from rewardkit.verl_keys import VerlKeys, read_settings

KEYS = VerlKeys.read(Path(__file__).with_name("verl_keys.json"), "evaluation")
TYPES = {
    **dict.fromkeys(("file", "prompt_key", "response_key", "data_source_key", "reward_model_key"), str),
    "reward_path": str,
    "reward_name": str,
    "num_cpus": int,
    "timeline": str,
}
"""Types of the settings, by rewardkit's names for the settings."""

REWARD_MODEL = "reward_model"
"""Column that contains verl's ground truth by default."""


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """Settings in an `evaluation.yaml`."""

    file: str | None
    names: RowNames
    reward: str | None
    """Reward as `path.py:function`, the form that `--reward` accepts."""
    cluster: RaySettings
    """Settings for `--engine ray`: the number of CPUs and the file for a timeline."""
    notes: list[str]
    """Notes about settings that have no effect, one line each."""


def read_evaluation_config(path: Path | None, words: Sequence[str] = ()) -> EvaluationConfig:
    """Return the settings in an `evaluation.yaml`, overridden by `key=value` words.

    Raises:
        InputError: The file does not exist, or is not a YAML mapping.
        ConfigError: A key does not exist in verl, or a value is not supported.
    """
    values, notes = read_settings(KEYS, TYPES, path, words)
    reward_model = values.get("reward_model_key", REWARD_MODEL)
    names = RowNames(
        data_source=values.get("data_source_key", "data_source"),
        response=values.get("response_key", "responses"),
        # With verl's default, files may have the ground truth in another column.
        ground_truth=None if reward_model == REWARD_MODEL else f"{reward_model}.ground_truth",
        prompt=values.get("prompt_key"),
    )
    function = values.get("reward_path")
    reward = verl_function(function, values.get("reward_name", "compute_score"), {}) if function else None
    cluster = RaySettings(None, values.get("num_cpus"), values.get("timeline"))
    return EvaluationConfig(values.get("file"), names, reward, cluster, notes)
