"""Converts settings for verl's `main_generation` to rewardkit's settings.

verl's settings are read from a `generation.yaml`, or from the composed configuration in versions after 0.7.0.
`verl_keys.json` maps verl's keys to rewardkit's settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

from rewardkit.errors import ConfigError
from rewardkit.generation.engines import default_engine
from rewardkit.generation.types import EngineSettings, EpisodeSettings, GenerationSettings
from rewardkit.verl_keys import VerlKeys, read_settings

KEYS = VerlKeys.read(Path(__file__).with_name("verl_keys.json"), "generation", "training")
TYPES: dict[str, Any] = {
    **get_type_hints(EngineSettings),
    **get_type_hints(EpisodeSettings),
    **get_type_hints(GenerationSettings),
    **dict.fromkeys(("file", "out", "prompt_key", "engine", "function_tools", "timeline"), str),
    **dict.fromkeys(("num_cpus", "data_tokens", "data_prompt_tokens"), int),
    **dict.fromkeys(("do_sample", "multi_turn"), bool),
}
"""Types of the settings, by their names in rewardkit."""
OF_EPISODES = (*get_type_hints(EpisodeSettings), "function_tools")


def read_generation_config(path: Path | None, words: Sequence[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """Read verl's settings from a file and from `key=value` words.

    Return the settings by their names in rewardkit, and notes about settings that have no effect.

    Raises:
        InputError: The file does not exist, or is not a YAML mapping.
        ConfigError: A key does not exist in verl, or a value is not supported.
    """
    values, notes = read_settings(KEYS, TYPES, path, words)
    return _checked(values, notes), notes


def _checked(values: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Apply settings that only modify other settings, and return the resulting settings."""
    for name in ("tokens", "prompt_tokens"):
        if followed := values.pop(f"data_{name}", None):  # default for the rollout.* setting
            values.setdefault(f"max_{name}", followed)
    for name in ("max_assistant_turns", "max_user_turns"):
        if values.get(name) == 0:
            del values[name]  # 0 means no limit in verl
    tools = [values.pop(name) for name in ("tools", "function_tools") if values.get(name)]
    if tools:
        values["tools"] = ",".join(tools)
    if values.pop("multi_turn", None) is False:
        values = {name: value for name, value in values.items() if name not in OF_EPISODES}
    if values.get("engine") not in (None, "vllm", "hf"):
        raise ConfigError(
            f"rollout.name={values['engine']}: rewardkit supports the engines vllm and hf; set "
            "rollout.name=vllm"
        )
    if values.get("engine") == "vllm" and default_engine(None) != "vllm":
        notes.append("rollout.name=vllm has no effect: vLLM is not installed; see --engine")
        del values["engine"]
    if values.pop("do_sample", None) is False:
        values["temperature"] = 0.0
    if values.get("temperature") == 0 and values.get("n", 1) > 1:
        raise ConfigError(f"temperature 0 gives the same response {values['n']} times; set data.n_samples=1")
    return values
