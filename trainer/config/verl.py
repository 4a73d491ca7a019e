"""From the keys that people give, verl's among them, to ours.

Each is known, translated, taken with a line that says what happens instead, or refused with the reason. What
verl has and we have not is data, in `verl_keys.json`; what we do have is in `root.py` and `workers.py`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.root import Config

_KEYS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("verl_keys.json").read_text("utf-8"))

OVER_PROCESSES: dict[str, str] = _KEYS["aliases_over_processes"]
"""Those of `ALIASES` whose value is counted over all processes, ours in each."""
ALIASES: dict[str, str] = {**_KEYS["aliases"], **OVER_PROCESSES}
"""Glob over verl's keys, with one `*` at most -> our name; a `*` in it stands for what that one stood for."""
VALUES: dict[str, dict[str, str]] = _KEYS["values"]
"""Key of ours -> other names for its values."""
HOLDS: dict[str, dict[str, Any]] = _KEYS["holds"]
"""Glob over keys -> the values that describe what happens here, and what does. Null: every value does, and no
result depends on it. Of the other values of a key that `INSTEAD` knows too a line is said, those of another
are refused."""
INSTEAD: dict[str, str] = _KEYS["instead"]
"""Glob over keys that change speed, memory or bookkeeping, and no result -> what happens instead."""
REFUSED: dict[str, str] = _KEYS["refused"]
"""Glob over keys that would change a result -> why there is no such setting, or what to set instead."""

ENOUGH_ALIKE = 0.8
"""From this share of equal characters on, one name is taken for a misspelling of another."""
SWITCHES = ("enable", "enabled")
"""What verl calls the setting that switches a section on."""


@dataclass
class Translation:
    """One layer of settings, in our keys."""

    values: dict[str, Any] = field(default_factory=dict)
    """By dotted key."""
    notes: list[str] = field(default_factory=list)
    """What is taken, but not as given."""


def leaves(section: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted keys of all settings of a config or a section of it."""
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from leaves(value, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name


def translate(given: Mapping[str, Any], where: str, processes: int) -> Translation:
    """Translate a nested mapping of settings.

    Args:
        where: names the layer in errors.
        processes: of the run; a batch size that counts over all of them is divided by it.

    Raises:
        ConfigError: an unknown key (names the nearest known one, or says why verl's has no place here).
    """
    known = list(leaves(Config()))
    flat = dict(flatten(given, known))
    translation = Translation()
    for key, value in flat.items():
        other = _alias(key)
        if key in known:
            translation.values[key] = _value(key, value)
        elif other is not None:
            ours, over_processes = other
            shared = over_processes and isinstance(value, int)
            translation.values.setdefault(ours, max(1, value // processes) if shared else value)
        elif any(k.startswith(f"{key}.") for k in known):
            _refuse_section(key, value, known, where)
        elif not (_holds(key, value) or _switched_off(key, flat)):
            _note_or_refuse(key, value, known, where, translation)
    return translation


def flatten(values: Mapping[str, Any], known: Sequence[str], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys with their values; a mapping that is the value of a known key stays whole."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key not in known and isinstance(value, Mapping) and value:
            yield from flatten(value, known, f"{key}.")
        else:
            yield key, value


def _value(key: str, value: Any) -> Any:
    names = VALUES.get(key, {})
    return names.get(value, value) if isinstance(value, str) else value


def _switched_off(key: str, flat: Mapping[str, Any]) -> bool:
    """Whether the section of a key has a switch that is off: then nothing in it counts."""
    section = key.rpartition(".")[0]
    while section:
        switches = [f"{section}.{name}" for name in SWITCHES if f"{section}.{name}" in flat]
        if any(switch != key and _is_off(flat[switch]) for switch in switches):
            return True
        section = section.rpartition(".")[0]
    return False


def _refuse_section(key: str, value: Any, known: Sequence[str], where: str) -> None:
    if value:
        inside = next(k for k in known if k.startswith(f"{key}."))
        raise ConfigError(f"'{key}' in {where} is a section; set one of its settings, as {inside}")


def _note_or_refuse(key: str, value: Any, known: Sequence[str], where: str, translation: Translation) -> None:
    line = _of(INSTEAD, key)
    if line is None:
        reason = _why_not(key)
        hint = f": {reason}" if reason else _near(key, known) or _siblings(key, known)
        raise ConfigError(f"unknown setting '{key}' in {where}{hint}")
    if not _is_off(value):
        translation.notes.append(f"{key} is without effect: {line}")


def _near(key: str, known: Sequence[str]) -> str:
    """Settings of the same section with a like name, or of the same name in a section beside it."""
    section, _, name = key.rpartition(".")
    near = [k for k in known if _alike(name, k.rpartition(".")[2]) and k.rpartition(".")[0] == section]
    near = near or [k for k in known if k.rpartition(".")[2] == name and k.split(".")[0] == key.split(".")[0]]
    return f"; did you mean {' or '.join(near[:3])}?" if near else ""


def _alike(name: str, other: str) -> bool:
    if set(name.split("_")) <= set(other.split("_")) or sorted(name) == sorted(other):
        return True
    return difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio() >= ENOUGH_ALIKE


def _siblings(key: str, known: Sequence[str]) -> str:
    """The settings of the same section, for a key that resembles none."""
    section = key.rpartition(".")[0] + "."
    same = [k for k in known if k.startswith(section) and "." not in k.removeprefix(section)]
    return f"; {section[:-1]} has: {', '.join(k.removeprefix(section) for k in same)}" if same else ""


def _alias(key: str) -> tuple[str, bool] | None:
    """Our name for verl's `key`, if it has another one here, and whether its value counts over processes."""
    for glob, ours in ALIASES.items():
        before, star, after = glob.partition("*")
        if fnmatchcase(key, glob):
            middle = key[len(before) : len(key) - len(after)] if star else ""
            return ours.replace("*", middle), glob in OVER_PROCESSES
    return None


def _holds(key: str, value: Any) -> bool:
    """Whether verl's `key=value` describes what happens here anyway; a feature that is off always does."""
    found = _of(HOLDS, key)
    if found is None:
        return _is_off(value) and _why_not(key) is not None
    return found["values"] is None or value is None or value in found["values"]


def _is_off(value: Any) -> bool:
    """Whether a value switches a feature off: null, false, an empty value."""
    return value is None or value is False or value in ("", [], {})


def _why_not(key: str) -> str | None:
    """Why there is no setting `key`, or why it has one value only; None for what verl has not either."""
    if found := _of(HOLDS, key):
        values = " or ".join(str(value).lower() for value in found["values"] or ())
        return f"it can only be {values} here: {found['because']}"
    refused: str | None = _of(REFUSED, key)
    return refused


def _of(table: Mapping[str, Any], key: str) -> Any:
    """What a table has for a key, by its own name or else by the first glob."""
    return table.get(key) or next((found for glob, found in table.items() if fnmatchcase(key, glob)), None)
