"""Names and bounds of a run's settings, and their conversion to settings for the engine and for sampling.

Commands create their options from these settings. Settings from files and Python arguments are checked
against the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from rewardkit.errors import ConfigError, OptionsError, did_you_mean
from rewardkit.generation.engines import ENGINES, default_engine
from rewardkit.generation.types import EngineSettings, EpisodeSettings, GenerationSettings

T = TypeVar("T")

NAMES = frozenset(
    {
        *EngineSettings.__dataclass_fields__,
        *GenerationSettings.__dataclass_fields__,
        *EpisodeSettings.__dataclass_fields__,
        "engine",
    }
    - {"name", "model", "episodes"}
)
"""Names of all settings for a run except the model."""


OTHER_SETTINGS = frozenset(
    {"messages", "model", "n", "temperature", "top_p", "top_k", "seed", "max_tokens", "stop", "logprobs"}
)
"""Names that `sampling_params` must not contain, because other settings or the prompts determine them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Range of valid values for a number."""

    low: float | None = None
    high: float | None = None
    above_low: bool = False
    """True if the value must be greater than `low`."""
    whole: bool = True

    def problem(self, value: Any) -> str | None:
        """Return the reason why a value is invalid, or None if it is valid."""
        if self.whole and (isinstance(value, bool) or not isinstance(value, int)):
            return f"{value!r} is not a whole number"
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return f"{value} is not a finite number"
        under = self.low is not None and (value <= self.low if self.above_low else value < self.low)
        if under or (self.high is not None and value > self.high):
            return f"{value} is not in the range {self}"
        return None

    def __str__(self) -> str:
        low = "" if self.low is None else f"{self.low:g}{'<' if self.above_low else '<='}"
        if self.high is None:
            return f"x{'>' if self.above_low else '>='}{self.low:g}"
        return f"{low}x<={self.high:g}"


_COUNT = Bounds(1)
_COUNT_OR_0 = Bounds(0)
BOUNDS = {
    "n": _COUNT,
    "temperature": Bounds(0, whole=False),
    "top_p": Bounds(0, 1, above_low=True, whole=False),
    "top_k": Bounds(-1),
    "max_tokens": _COUNT,
    "max_prompt_tokens": _COUNT,
    "seed": Bounds(-(2**31), 2**31 - 1),
    "tensor_parallel_size": _COUNT,
    "gpu_memory_utilization": Bounds(0, 1, whole=False),
    "max_num_seqs": _COUNT,
    "max_model_len": _COUNT,
    "concurrency": _COUNT,
    "retries": _COUNT_OR_0,
    "max_assistant_turns": _COUNT,
    "max_user_turns": _COUNT_OR_0,
    "max_turn_tokens": _COUNT,
    "max_parallel_calls": _COUNT,
    "max_tool_response_length": _COUNT,
    "tool_seconds": Bounds(0, above_low=True, whole=False),
    "episode_seconds": Bounds(0, above_low=True, whole=False),
}
"""Bounds for numeric settings. None is always allowed."""


def check_settings(values: Mapping[str, Any]) -> None:
    """Check that the numeric settings from a file are within their bounds.

    Raises:
        ConfigError: A number is out of bounds.
    """
    for name, bounds in BOUNDS.items():
        if values.get(name) is not None and (problem := bounds.problem(values[name])):
            raise ConfigError(f"setting {name} in the configuration: {problem}")


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check settings that are passed in Python, and return the settings that are not None.

    Raises:
        OptionsError: A setting is unknown, or a value is out of bounds or has the wrong type.
    """
    for name in given:
        if name not in NAMES:
            near = did_you_mean(name, NAMES) or f"; expected one of {', '.join(sorted(NAMES))}"
            raise OptionsError(f"unknown setting '{name}'{near}")
    values = {name: value for name, value in given.items() if value is not None}
    for name, bounds in BOUNDS.items():
        if name in values and (problem := bounds.problem(values[name])):
            raise OptionsError(f"setting {name}: {problem}")
    if values.get("engine") not in (None, "ray", *ENGINES):
        near = did_you_mean(str(values["engine"]), ENGINES) or f"; expected one of {', '.join(ENGINES)}"
        raise OptionsError(f"unknown engine '{values['engine']}'{near}")
    return values


def to_settings(values: Mapping[str, Any]) -> tuple[EngineSettings, GenerationSettings]:
    """Convert values by name, including `model`, to the settings for the engine and for sampling.

    Raises:
        OptionsError: A value does not have the type of its setting.
    """
    name = values.get("engine") or "ray"
    name = default_engine(values.get("url")) if name == "ray" else name
    of_engine = {key: value for key, value in values.items() if key in EngineSettings.__dataclass_fields__}
    of_run = {key: value for key, value in values.items() if key in GenerationSettings.__dataclass_fields__}
    of_episodes = {k: value for k, value in values.items() if k in EpisodeSettings.__dataclass_fields__}
    chosen = _made(EpisodeSettings, of_episodes) if of_episodes else None
    for taken in sorted(OTHER_SETTINGS.intersection(of_run.get("sampling_params") or ())):
        raise OptionsError(f"sampling_params.{taken} is determined by another setting")
    engine = _made(EngineSettings, {"name": name, **of_engine})
    return engine, _made(GenerationSettings, {**of_run, "episodes": chosen})


def _made(kind: type[T], values: dict[str, Any]) -> T:
    """Convert values by name to a settings object. Check the types of the values."""
    try:
        return msgspec.convert(values, kind, dec_hook=lambda special, value: special(value))
    except msgspec.ValidationError as error:
        why, _, place = str(error).partition(" - at `$.")
        raise OptionsError(f"setting {place.rstrip('`')}: {why[:1].lower()}{why[1:]}") from None
