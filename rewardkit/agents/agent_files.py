"""Reader of agent files, which are YAML files that register users' own loops and set options of loops.

As in verl, an agent file is a list of entries with `name` and `_target_`. An entry without `_target_` refers
to an existing loop by name.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from rewardkit.agents.registry import AGENTS, Agent, load_agent
from rewardkit.errors import ConfigError, InputError, OptionsError, reason_of


def register_agents(path: str | None, option: str) -> tuple[str, ...]:
    """Register the agents in a file and return their names. Return an empty tuple if `path` is None.

    Args:
        path: Path of the agent file.
        option: Name of the option that contained the path, for error messages.

    Raises:
        InputError: The file cannot be read or is not a list of entries, or an entry names an unknown loop.
        ConfigError: A target is not a loop, or the settings of a loop are invalid.
    """
    if path is None:
        return ()
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"cannot read {option}={path}: {reason_of(error)}") from None
    named = isinstance(entries, list) and all(
        isinstance(entry, dict) and "name" in entry for entry in entries
    )
    if not named:
        raise InputError(
            f"{path} must be a YAML list of mappings: each needs `name`, and your own agents also need "
            "`_target_`"
        )
    for entry in entries:
        settings = {str(key): value for key, value in entry.items() if key not in ("name", "_target_")}
        name = str(entry["name"])
        try:
            found = _target(name, str(entry["_target_"])) if "_target_" in entry else AGENTS.resolve(name)
            AGENTS.register(replace(found, name=name, given=_given(name, found, settings)))
        except (InputError, ConfigError, OptionsError) as error:
            raise type(error)(f"{path}: {error}") from None
    return tuple(str(entry["name"]) for entry in entries)


def _given(name: str, found: Agent, settings: Mapping[str, Any]) -> Any:
    """Create the settings object for a loop from the loop's entry in the file."""
    if found.settings is None:
        if settings:
            raise ConfigError(
                f"agent '{name}' takes no settings; remove {', '.join(settings)} from the entry"
            )
        return None
    try:
        inspect.signature(found.settings).bind(**settings)
    except TypeError as error:
        takes = ", ".join(inspect.signature(found.settings).parameters)
        raise ConfigError(f"agent '{name}': invalid settings: {error}; the agent takes {takes}") from None
    try:
        return found.settings(**settings)
    except ConfigError as error:
        raise ConfigError(f"agent '{name}': {error}") from None


def _target(name: str, target: str) -> Agent:
    """Import the loop at `path.py:name` or `package.module.name`, and return it."""
    if target.partition(":")[0].endswith(".py"):
        return load_agent(target)
    module, _, attribute = target.replace(":", ".").rpartition(".")
    try:
        loop = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"agent '{name}': cannot import {target}: {error}; `_target_` must be FILE.py:function or "
            "package.module.function"
        ) from None
    found = getattr(loop, "__rewardkit_agent__", None)
    if isinstance(found, Agent):
        return found
    if isinstance(loop, type):
        raise ConfigError(
            f"agent '{name}': {target} is a class; `_target_` must name a coroutine function that takes an "
            "Episode (docs/own_agent.md)"
        )
    return Agent(target, loop)
