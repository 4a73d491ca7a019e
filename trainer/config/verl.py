"""From the keys that people give, verl's among them, to ours.

What verl has and we have not is data: `verl_keys.json` says what becomes of each key,
`rewardkit/verl_defaults` has verl's defaults by release. What we do have is in `root.py` and `workers.py`.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.root import Config
from rewardkit.verl_keys import VerlKeys, flatten

_TABLES = Path(__file__).with_name("verl_keys.json")
_MORE: dict[str, Any] = json.loads(_TABLES.read_text("utf-8"))

KEYS = VerlKeys.read(_TABLES, "training")
OVER_PROCESSES: list[str] = _MORE["over_processes"]
"""Globs over keys of verl's whose value is counted over all processes, ours in each."""
ROUNDED_UP: list[str] = _MORE["rounded_up"]
"""Keys of verl's that may be fractions, ours not."""
VALUES: dict[str, dict[str, Any]] = _MORE["values"]
"""Key of ours -> other names for its values."""

ENOUGH_ALIKE = 0.8
"""From this share of equal characters on, one name is taken for a misspelling of another."""


@dataclass(frozen=True, slots=True)
class Translation:
    """One layer of settings, in our keys."""

    values: dict[str, Any]
    """By dotted key."""
    notes: list[str]
    """What is taken, but not as given."""


def leaves(section: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted keys of all settings of a config or a section of it, with their values."""
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from leaves(value, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name, value


def translate(given: Mapping[str, Any], where: str, processes: int) -> Translation:
    """Translate a nested mapping of settings.

    Args:
        where: names the layer in errors.
        processes: of the run; a batch size that counts over all of them is divided by it.

    Raises:
        ConfigError: an unknown key (names the nearest known one), or a value of verl's that does not happen
            here (says why, and what to do).
    """
    known = dict(leaves(Config()))
    flat = dict(flatten(given, known))
    values: dict[str, Any] = {}
    renamed: dict[str, Any] = {}
    by_default: dict[str, Any] = {}
    foreign: list[str] = []
    unknown: list[str] = []
    for key, value in flat.items():
        ours = key if key in known else KEYS.ours(key)
        if ours not in known:
            if not _is_empty_section(key, value, known, where):
                (foreign if KEYS.knows(key) else unknown).append(key)
        elif KEYS.leaves_open(key, value):
            by_default[ours] = known[ours]
        elif ours == key:
            values[key] = _value(key, value)
        else:
            if key in ROUNDED_UP and isinstance(value, float):
                value = math.ceil(value)
            shared = isinstance(value, int) and any(fnmatchcase(key, glob) for glob in OVER_PROCESSES)
            renamed.setdefault(ours, max(1, value // processes) if shared else _value(ours, value))
    notes = KEYS.notes(foreign, flat, where)
    for key in unknown:
        hint = _near(key, known) or _siblings(key, known) or "; neither verl's ppo_trainer nor we have it"
        raise ConfigError(f"unknown setting '{key}' in {where}{hint}")
    return Translation({**by_default, **renamed, **values}, notes)


def _value(key: str, value: Any) -> Any:
    """Our value of a key for one that verl names otherwise; a switch by its name in JSON."""
    name = value if isinstance(value, str) else json.dumps(value, default=str)
    return VALUES.get(key, {}).get(name, value)


def _is_empty_section(key: str, value: Any, known: Mapping[str, Any], where: str) -> bool:
    """Whether a key that is no setting of ours is a section of them, without a setting.

    Raises:
        ConfigError: the section has a value.
    """
    inside = next((k for k in known if k.startswith(f"{key}.")), None)
    if inside is not None and value:
        raise ConfigError(f"'{key}' in {where} is a section; set one of its settings, as {inside}")
    return inside is not None


def _near(key: str, known: Mapping[str, Any]) -> str:
    """Settings of the same section with a like name, or of the same name in a section beside it."""
    section, _, name = key.rpartition(".")
    near = [k for k in known if _alike(name, k.rpartition(".")[2]) and k.rpartition(".")[0] == section]
    near = near or [k for k in known if k.rpartition(".")[2] == name and k.split(".")[0] == key.split(".")[0]]
    return f"; did you mean {' or '.join(near[:3])}?" if near else ""


def _alike(name: str, other: str) -> bool:
    if set(name.split("_")) <= set(other.split("_")) or sorted(name) == sorted(other):
        return True
    return difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio() >= ENOUGH_ALIKE


def _siblings(key: str, known: Mapping[str, Any]) -> str:
    """The settings of the same section, for a key that resembles none."""
    section = key.rpartition(".")[0] + "."
    same = [k for k in known if k.startswith(section) and "." not in k.removeprefix(section)]
    return f"; {section[:-1]} has: {', '.join(k.removeprefix(section) for k in same)}" if same else ""
