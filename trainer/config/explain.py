"""Every setting of a run with its value, its meaning and where the value comes from."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import InterpolationResolutionError

from rewardkit.trainer.config import root, workers
from rewardkit.trainer.config.load import flat_keys, merged, read_layers
from rewardkit.trainer.config.verl import PPO, Schema

UNSET = "???"
ORIGINS = ("default", "recipe", "command line")


@dataclass(frozen=True, slots=True)
class ConfigSetting:
    """One setting of the resolved config."""

    key: str
    value: Any
    """`???` where it must be set and is not."""
    meaning: str
    origin: str
    """`default`, `follows KEY`, `recipe` or `command line`."""


def explain(
    recipe: str | Path | None, overrides: Sequence[str], schema: Schema[Any] = PPO
) -> list[ConfigSetting]:
    """Return every setting, in the order of its dataclass.

    Raises:
        ConfigError: as `load_config`, but not for a required key that is not set: `run/process.py` says that.
    """
    layers = read_layers(recipe, overrides, schema)
    whole = merged(layers)
    given = [set(flat_keys(OmegaConf.to_container(n))) for n in (layers.recipe, layers.command_line)]
    return [
        ConfigSetting(key, _value(whole, key), meaning, _origin(layers.defaults, given, key))
        for key, meaning in _meanings(schema.root(), "", _docstrings(schema))
    ]


def _value(whole: Any, key: str) -> Any:
    try:
        value = OmegaConf.select(whole, key, default=UNSET)
    except InterpolationResolutionError:  # it follows one that is not set
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


def _meanings(section: Any, prefix: str, docs: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from _meanings(value, f"{prefix}{f.name}.", docs)
        else:
            # A setting that several sections have is explained in the first of them.
            alike = (of_class[f.name] for of_class in docs.values() if f.name in of_class)
            own = (docs.get(kind.__name__, {}).get(f.name) for kind in type(section).__mro__)
            yield prefix + f.name, next(filter(None, own), None) or next(alike, "")


def _docstrings(schema: Schema[Any]) -> dict[str, dict[str, str]]:
    """The string under each field of each of the config's dataclasses, as one line."""
    found: dict[str, dict[str, str]] = {}
    for module in dict.fromkeys((root, workers, sys.modules[schema.root.__module__])):
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = dict(_documented(node.body))
    return found


def _documented(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, after in pairwise(body):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            yield statement.target.id, " ".join(str(after.value.value).split())
