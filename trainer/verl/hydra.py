"""Reads a YAML file and the files in its `defaults` list, and merges them as Hydra does.

Only the features that verl's configurations use are supported: groups with packages, `_self_`, `override`,
options that refer to another group's option, and a search path. `translation.py` translates the settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from omegaconf import OmegaConf

from rewardkit.errors import ConfigError, reason_of

BUILT_IN = ("ppo_trainer", "sft_trainer", "sft_trainer_engine")
"""verl's configurations that need no file, since rewardkit's defaults replace them."""
ONLY_BUILT_IN = "of verl's own configs, only ppo_trainer and sft_trainer need no file"
SELF = "_self_"
OVERRIDE = "override "
_GLOBAL = re.compile(r"\A#\s*@package _global_")
_CHOICE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class _Search:
    """Folders to search for files, and the options chosen for groups, for example by an `override`."""

    folders: tuple[Path, ...]
    chosen: dict[str, Any]

    def find(self, name: str) -> Path | None:
        """Return the first file with this name in the folders, or None if no folder contains it."""
        paths = [folder / f"{name.removesuffix('.yaml')}.yaml" for folder in self.folders]
        return next((path for path in paths if path.is_file()), None)


def compose(path: Path) -> Any:
    """Read a file, merge it with the files in its `defaults` list, and return an OmegaConf node.

    Raises:
        ConfigError: A file is not a YAML mapping, or its `defaults` list names a file that does not exist.
    """
    loaded = read_mapping(path)
    listed = OmegaConf.select(loaded, "hydra.searchpath") or []
    folders = [Path(str(where).removeprefix("file://")) for where in listed]
    composed = _composed(loaded, path, path.stem, "", _Search((path.parent, *folders), {}))
    own = composed.pop("hydra", None)
    if own and (others := {key: value for key, value in own.items() if key != "searchpath"}):
        composed["hydra"] = others
    return composed


def read_mapping(path: Path) -> Any:
    """Read a YAML file as an OmegaConf node.

    Raises:
        ConfigError: The file is not a YAML mapping.
    """
    try:
        loaded = OmegaConf.load(path)
    except Exception as error:  # the YAML parser raises exceptions of various types
        raise ConfigError(f"{path} is not valid YAML: {reason_of(error)}") from None
    if not OmegaConf.is_dict(loaded):
        raise ConfigError(f"{path} must be a mapping of settings, found {type(loaded).__name__}")
    return loaded


def _composed(loaded: Any, path: Path, name: str, package: str, search: _Search) -> Any:
    """Merge a file with the files in its `defaults` list.

    Args:
        name: Name of the file with its group, such as `actor/dp_actor`.
        package: Section to which the values in the file belong.
    """
    entries = list(_entries(loaded.pop("defaults", None)))
    for key, option in entries:
        if key.startswith(OVERRIDE):
            search.chosen[key.removeprefix(OVERRIDE)] = option
    if (SELF, None) not in entries:
        entries.append((SELF, None))
    layers: list[Any] = []
    for key, option in entries:
        if key == SELF:
            layers.append(_placed(loaded, path, package))
        elif not key.startswith(OVERRIDE):
            layers.extend(_named(path, key, option, dirname(name), package, search))
    return OmegaConf.merge(*layers) if len(layers) > 1 else layers[0]


def _entries(defaults: Any) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a `defaults` list: a group and an option, or a file in the same group and None."""
    entries: Any = OmegaConf.to_container(defaults) if defaults else []
    for entry in entries:
        if isinstance(entry, dict):
            yield from ((str(key), option) for key, option in entry.items() if option is not None)
        else:
            yield str(entry), None


def _placed(loaded: Any, path: Path, package: str) -> Any:
    """Return the values in a file, nested in the section to which they belong."""
    if not package or _GLOBAL.match(path.read_text("utf-8")):
        return loaded
    node = OmegaConf.create()
    OmegaConf.update(node, package, loaded, force_add=True)
    return node


def _named(path: Path, key: str, option: Any, group: str, package: str, search: _Search) -> Iterator[Any]:
    """Yield the files for one entry, each merged with the files in its own `defaults` list."""
    entry, _, section = key.partition("@")
    entry = entry.removeprefix("optional ")
    if option is not None:
        section = section or entry.replace("/", ".")
        option = search.chosen.setdefault(entry, option)
    inside = ".".join(part for part in (package, section) if part)
    for one in option if isinstance(option, list) else [option]:
        chosen = _CHOICE.sub(lambda found: str(search.chosen.get(found[1], found[0])), str(one))
        name = normpath(join(group, entry if one is None else f"{entry}/{chosen}"))
        file = search.find(name)
        if file is not None:
            yield _composed(read_mapping(file), file, name, inside, search)
        elif name not in BUILT_IN and not key.startswith("optional "):
            where = ", ".join(map(str, search.folders))
            raise ConfigError(f"{path}: `defaults` names '{name}', which is not in {where}; {ONLY_BUILT_IN}")
