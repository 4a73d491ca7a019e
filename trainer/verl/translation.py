"""Translates users' settings, which may have verl's names, into rewardkit's keys and values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rewardkit.errors import MISSPELT, ConfigError, did_you_mean
from rewardkit.verl_keys import VerlKeys, flatten


@dataclass(frozen=True, eq=False)
class VerlNames:
    """verl's names for the settings of one training stage."""

    config: str
    """Name of verl's configuration for this stage."""
    keys: VerlKeys
    over_processes: list[str]
    """Globs for verl's keys whose values count over all processes. rewardkit's values count per process."""
    rounded_up: list[str]
    """verl's keys that accept fractions, while rewardkit accepts only whole numbers."""
    values: dict[str, dict[str, Any]]
    """Alternative names for values, by rewardkit's key. Each name maps to rewardkit's value."""

    @classmethod
    def read(cls, stage: str, config: str, *doors: str) -> VerlNames:
        """Read the names from `STAGE.json` in this folder. `doors` is passed to `VerlKeys.read`."""
        tables = Path(__file__).with_name(f"{stage}.json")
        more = json.loads(tables.read_text("utf-8"))
        tables_of = [more[name] for name in ("over_processes", "rounded_up", "values")]
        return cls(config, VerlKeys.read(tables, *doors), *tables_of)


@dataclass(frozen=True, slots=True)
class Translation:
    """One layer of settings, translated into rewardkit's keys."""

    values: dict[str, Any]
    """Values by dotted key."""
    notes: list[str]
    """Notes on settings that are replaced or ignored."""
    twice: list[str]
    """Notes on settings with different values under rewardkit's and verl's names, as in some verl files."""


def translate(
    given: Mapping[str, Any], where: str, processes: int, known: Mapping[str, Any], names: VerlNames
) -> Translation:
    """Translate a nested mapping of settings.

    Args:
        given: Settings under rewardkit's names or verl's.
        where: Name of the layer, for error messages.
        processes: Number of processes. Batch sizes that count over all processes are divided by this number.
        known: Defaults of rewardkit's settings, by dotted key.
        names: verl's names for the settings.

    Raises:
        ConfigError: A key is unknown (the message suggests a similar key), or a verl setting is not supported
            (the message explains the reason and suggests an alternative).
    """
    flat = dict(flatten(given, _Whole(known, names)))
    values: dict[str, Any] = {}
    renamed: dict[str, Any] = {}
    by_default: dict[str, Any] = {}
    foreign: list[str] = []
    unknown: list[str] = []
    for key, value in flat.items():
        ours = key if key in known else names.keys.ours(key)
        if ours is None or ours not in known:
            if not _is_empty_section(key, value, known, where):
                (foreign if names.keys.knows(key) else unknown).append(key)
        elif names.keys.leaves_open(key, value):
            by_default[ours] = known[ours]
        elif ours == key:
            values[key] = _value(key, value, names)
        else:
            if key in names.rounded_up and isinstance(value, float):
                value = math.ceil(value)
            shared = isinstance(value, int) and any(fnmatchcase(key, glob) for glob in names.over_processes)
            renamed.setdefault(ours, max(1, value // processes) if shared else _value(ours, value, names))
    notes = names.keys.notes(foreign, flat, where)
    twice = [
        f"{where} sets {ours} twice: {values[ours]} is used; {value}, under verl's name, is ignored"
        for ours, value in renamed.items()
        if ours in values and None not in (value, values[ours]) and value != values[ours]
    ]
    for key in unknown:
        hint = (
            _near(key, known)
            or _siblings(key, known)
            or (f"; verl {names.config} does not have this setting either")
        )
        raise ConfigError(f"unknown setting '{key}' in {where}{hint}")
    return Translation({**by_default, **renamed, **values}, notes, twice)


@dataclass(frozen=True, slots=True)
class _Whole:
    """Keys whose values stay whole: settings, and verl's names of settings that are mappings."""

    known: Mapping[str, Any]
    names: VerlNames

    def __contains__(self, key: object) -> bool:
        return key in self.known or isinstance(self.known.get(self.names.keys.ours(str(key)) or ""), Mapping)


def _value(key: str, value: Any, names: VerlNames) -> Any:
    """Return rewardkit's value for a user's value. Values other than strings are looked up as JSON."""
    name = value if isinstance(value, str) else json.dumps(value, default=str)
    return names.values.get(key, {}).get(name, value)


def _is_empty_section(key: str, value: Any, known: Mapping[str, Any], where: str) -> bool:
    """Return True if an unknown key is an empty section of rewardkit's settings.

    Raises:
        ConfigError: The key is a section, but was given a value.
    """
    inside = next((k for k in known if k.startswith(f"{key}.")), None)
    if inside is not None and value is not None and value != {}:
        raise ConfigError(f"'{key}' in {where} is a section; set one of its settings, such as {inside}")
    return inside is not None


def _near(key: str, known: Mapping[str, Any]) -> str:
    """Return a hint with similar names in the same section, or with the same name in a related section."""
    section, _, name = key.rpartition(".")
    near = [k for k in known if _alike(name, k.rpartition(".")[2]) and k.rpartition(".")[0] == section]
    near = near or [k for k in known if k.rpartition(".")[2] == name and k.split(".")[0] == key.split(".")[0]]
    return f"; did you mean {' or '.join(near[:3])}?" if near else ""


def _alike(name: str, other: str) -> bool:
    if set(name.split("_")) <= set(other.split("_")) or sorted(name) == sorted(other):
        return True
    return bool(did_you_mean(name, [other], alike=MISSPELT))


def _siblings(key: str, known: Mapping[str, Any]) -> str:
    """Return a hint that lists all settings in a key's section."""
    section = key.rpartition(".")[0] + "."
    same = [k for k in known if k.startswith(section) and "." not in k.removeprefix(section)]
    return f"; {section[:-1]} has: {', '.join(k.removeprefix(section) for k in same)}" if same else ""
