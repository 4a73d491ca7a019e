"""Lists every setting of a run with its value, its meaning and the value's origin."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import InterpolationResolutionError

from rewardkit.field_docs import field_docs
from rewardkit.trainer.config.allowed import allowed_of
from rewardkit.trainer.config.load import KINDS, flat_keys, merged, public_setting, read_layers
from rewardkit.trainer.config.schema import PPO, Schema

UNSET = "???"
ORIGINS = ("default", "recipe", "command line")


@dataclass(frozen=True, slots=True)
class ConfigSetting:
    """One setting of the resolved config."""

    key: str
    value: Any
    """Value of the setting, or `???` for a required setting that is not set."""
    meaning: str
    kind: str
    """Type of the value, in words."""
    allowed: str
    """Allowed values, in words; empty if there are no restrictions."""
    origin: str
    """Origin of the value: `default`, `follows KEY`, `recipe` or `command line`."""


def explain(
    recipe: str | Path | None, overrides: Sequence[str], schema: Schema[Any] = PPO
) -> list[ConfigSetting]:
    """Return all settings, in the order of their dataclasses.

    Raises:
        ConfigError: The settings cannot be read (see `load_settings`). Required keys may be missing.
    """
    layers = read_layers(recipe, overrides, schema)
    whole = merged(layers)
    given = [set(flat_keys(OmegaConf.to_container(n))) for n in (layers.recipe, layers.command_line)]
    return [
        ConfigSetting(
            key,
            public_setting(key, _value(whole, key), whole),
            meaning,
            kind,
            values,
            _origin(layers.defaults, given, key),
        )
        for key, meaning, kind, values in _meanings(schema.root(), "", list(_sections(schema.root())))
    ]


def _value(whole: Any, key: str) -> Any:
    try:
        value = OmegaConf.select(whole, key, default=UNSET)
    except InterpolationResolutionError:  # The value refers to a setting that is not set.
        return UNSET
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def _origin(defaults: Any, given: Sequence[set[str]], key: str) -> str:
    for origin, keys in zip(ORIGINS[:0:-1], reversed(given), strict=True):
        if key in keys or any(k.startswith(key + ".") for k in keys):
            return origin
    section, _, name = key.rpartition(".")
    raw = OmegaConf.to_container(OmegaConf.select(defaults, section), resolve=False)
    default = raw[name] if isinstance(raw, dict) else None
    follows = isinstance(default, str) and default.startswith("${") and default.endswith("}")
    return f"follows {str(default)[2:-1]}" if follows else ORIGINS[0]


def _meanings(section: Any, prefix: str, sections: Sequence[type]) -> Iterator[tuple[str, str, str, str]]:
    own, hints = field_docs(type(section)), typing.get_type_hints(type(section))
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from _meanings(value, f"{prefix}{f.name}.", sections)
        else:
            # A setting without its own text gets the text of the first documented setting with the same name.
            alike = (field_docs(kind)[f.name] for kind in sections if f.name in field_docs(kind))
            meaning = own.get(f.name) or next(alike, "")
            yield prefix + f.name, meaning, _in_words(hints[f.name]), allowed_of(section, f.name)


def _in_words(hint: Any) -> str:
    """Return a type in words, such as `list of text, or null`."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return ", ".join(_in_words(one) for one in arguments if one is not types.NoneType) + ", or null"
    if origin is list:
        return f"list of {_in_words(arguments[0])}{'' if arguments[0] is str else 's'}"
    if origin is tuple:
        return f"list of {len(arguments)} {_in_words(arguments[0])}s"
    return KINDS.get(origin or hint, "text or list")


def _sections(section: Any) -> Iterator[type]:
    yield type(section)
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from _sections(value)
