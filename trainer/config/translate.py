"""From the keys that people give, verl's among them, to ours.

Each is known, translated, taken with a line that says what happens instead, or refused with the reason.
The table of verl's keys is in `verl_keys.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.verl_keys import VALUES, alias, holds, instead, is_off, why_not

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
        other = alias(key)
        if key in known:
            translation.values[key] = _value(key, value)
        elif other is not None:
            shared = other.over_processes and isinstance(value, int)
            translation.values.setdefault(other.key, max(1, value // processes) if shared else value)
        elif any(k.startswith(f"{key}.") for k in known):
            _refuse_section(key, value, known, where)
        elif not (holds(key, value) or _switched_off(key, flat)):
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
        if any(switch != key and is_off(flat[switch]) for switch in switches):
            return True
        section = section.rpartition(".")[0]
    return False


def _refuse_section(key: str, value: Any, known: Sequence[str], where: str) -> None:
    if value:
        inside = next(k for k in known if k.startswith(f"{key}."))
        raise ConfigError(f"'{key}' in {where} is a section; set one of its settings, as {inside}")


def _note_or_refuse(key: str, value: Any, known: Sequence[str], where: str, translation: Translation) -> None:
    line = instead(key)
    if line is None:
        reason = why_not(key)
        hint = f": {reason}" if reason else _near(key, known) or _siblings(key, known)
        raise ConfigError(f"unknown setting '{key}' in {where}{hint}")
    if not is_off(value):
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
