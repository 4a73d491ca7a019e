"""verl's settings of `main_eval` (an `evaluation.yaml`) as arguments of `rewardkit eval`.

What becomes of each key is data, in `verl_keys.json`.
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
"""The settings by our names."""

REWARD_MODEL = "reward_model"
"""Column in which verl has the ground truth by default."""


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """The settings of an `evaluation.yaml`."""

    file: str | None
    names: RowNames
    reward: str | None
    """`path.py:function`, as `--reward` takes it."""
    cluster: RaySettings
    """Its CPUs and timeline, with `--engine ray`."""
    notes: list[str]
    """A line on what has no effect."""


def read_evaluation_config(path: Path | None, words: Sequence[str] = ()) -> EvaluationConfig:
    """Return what an `evaluation.yaml` says, changed by `key=value` words.

    Raises:
        InputError: there is no such file, or it is no YAML mapping.
        ConfigError: verl does not have a key, or a value does not happen here.
    """
    values, notes = read_settings(KEYS, TYPES, path, words)
    reward_model = values.get("reward_model_key", REWARD_MODEL)
    names = RowNames(
        data_source=values.get("data_source_key", "data_source"),
        response=values.get("response_key", "responses"),
        # By default also of files that have a ground truth elsewhere.
        ground_truth=None if reward_model == REWARD_MODEL else f"{reward_model}.ground_truth",
        prompt=values.get("prompt_key"),
    )
    function = values.get("reward_path")
    reward = verl_function(function, values.get("reward_name", "compute_score"), {}) if function else None
    cluster = RaySettings(None, values.get("num_cpus"), values.get("timeline"))
    return EvaluationConfig(values.get("file"), names, reward, cluster, notes)
