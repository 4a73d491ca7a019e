"""Allowed values of settings, declared with their fields as bounds of numbers, names, or addresses.

`check_values` refuses all other values, and the documentation of the settings lists the allowed values. Rules
that involve several settings are in `run/rules.py`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from rewardkit.errors import MISSPELT, ConfigError, did_you_mean
from rewardkit.http_addresses import address_of

_KEY = "rewardkit.allowed"


@dataclass(frozen=True, slots=True)
class Interval:
    """Interval of allowed numbers. No interval contains NaN."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    endless: bool = False
    """True if the interval contains infinity."""

    def holds(self, value: float) -> bool:
        """Return True if the number is in the interval."""
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below and (value < math.inf or self.endless)

    def __str__(self) -> str:
        if self.low == -math.inf:
            return "a finite number"
        if self.high == math.inf:
            return f"above {self.low:g}" if self.open_low else f"{self.low:g} or more"
        if self.open_high:
            return f"at least {self.low:g} and below {self.high:g}"
        if self.open_low:
            return f"above {self.low:g} and at most {self.high:g}"
        return f"from {self.low:.10g} to {self.high:.10g}"


@dataclass(frozen=True, slots=True)
class Addresses:
    """One or more addresses of HTTP servers."""

    bare: bool = False
    """True if user names, passwords and queries are not allowed."""

    def __str__(self) -> str:
        return "addresses"


@dataclass(frozen=True, slots=True)
class NamesOf:
    """Names in a table. The table is read when a setting is checked, because packages may add names."""

    table: str
    """Location of the table, as `module:TABLE`."""
    none: bool = False
    """True if the setting may also be null."""

    def names(self) -> tuple[str, ...]:
        """Return the names that the table currently contains."""
        module, _, name = self.table.partition(":")
        found = tuple(getattr(importlib.import_module(module), name))
        return ("None", *found) if self.none else found

    def __str__(self) -> str:
        return ", ".join(self.names())


Allowed = tuple[str, ...] | Interval | Addresses | NamesOf

ADDRESSES = Addresses()
BARE_ADDRESSES = Addresses(bare=True)
SHARE = Interval(0, 1)
BELOW_1 = Interval(0, 1, open_high=True)
NOT_NEGATIVE = Interval(0)
ABOVE_0 = Interval(0, open_low=True)
POSITIVE = Interval(0, open_low=True, endless=True)
SEEDS = Interval(-(2**31), 2**31 - 1)
FINITE = Interval(-math.inf, open_low=True)
"""All finite numbers."""
COUNT_OR_ALL = Interval(-1)
"""Counts from 0, or -1. Depending on the setting, -1 stands for all or for none."""


def allowed(
    default: Any = None, values: Allowed = (), *, factory: Callable[[], Any] | None = None, instead: str = ""
) -> Any:
    """Create a config field with restricted values. A number or an address may also be null.

    Args:
        default: Default of the setting.
        values: Allowed values; for a list, the allowed values of each item.
        factory: Function that creates the default, instead of `default`.
        instead: Advice to show instead of the list of names if a value is not a misspelling. `{known}` stands
            for the names.
    """
    metadata = {_KEY: (values, instead)}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def allowed_of(kind: Any, name: str) -> str:
    """Return the allowed values of a setting in words, or an empty string if there are no restrictions."""
    metadata = next(one.metadata for one in fields(kind) if one.name == name)
    values, _ = metadata.get(_KEY, ("", ""))
    return ", ".join(values) if isinstance(values, tuple) else str(values)


def check_values(config: Any) -> None:
    """Refuse values that a setting does not allow, and NaN in any setting.

    Raises:
        ConfigError: A value is not allowed. The message contains the dotted key of the first wrong setting.
    """
    for key, value, values, instead in _settings(config, ""):
        for one in (
            value if isinstance(value, list | tuple) and not isinstance(values, Addresses) else [value]
        ):
            if not values and isinstance(one, float) and math.isnan(one):
                raise ConfigError(f"{key} must be a number, found {one}")
            _check_value(key, one, values, instead)


def _settings(section: Any, prefix: str) -> Iterator[tuple[str, Any, Allowed, str]]:
    for one in fields(section):
        value = getattr(section, one.name)
        if is_dataclass(value):
            yield from _settings(value, f"{prefix}{one.name}.")
        else:
            yield prefix + one.name, value, *one.metadata.get(_KEY, ((), ""))


def _check_value(key: str, value: Any, values: Allowed, instead: str) -> None:
    if not values:
        return
    if isinstance(values, Interval):
        if value is not None and not values.holds(float(value)):
            raise ConfigError(f"{key} must be {values}, found {value}")
        return
    if isinstance(values, Addresses):
        _check_addresses(key, value, values)
        return
    names = values.names() if isinstance(values, NamesOf) else values
    if str(value) in names:
        return
    misspelt = did_you_mean(str(value), names, alike=MISSPELT)
    if instead and not misspelt:
        raise ConfigError(f"{key}={value}: {instead.format(known=_listed(names))}")
    hint = misspelt or did_you_mean(str(value), names)
    raise ConfigError(f"{key} must be one of {', '.join(names)}, found '{value}'{hint}")


def _check_addresses(key: str, value: Any, values: Addresses) -> None:
    for url in value if isinstance(value, list) else [value] if value is not None else []:
        try:
            address = address_of(str(url))
        except ValueError as error:
            raise ConfigError(f"{key}: {error}") from None
        if values.bare and address.given != str(address):
            raise ConfigError(f"{key}: {address} must have no name, password or query; give http://HOST:PORT")


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
