"""Where the tools and interactions of a run are named: a source is names, or YAML files in verl's form.

Which names there are and what is made of them is said in `tools/opening.py` and `interactions/opening.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from rewardkit.errors import ConfigError, InputError, MissingDependencyError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourceForm:
    """What the entries of a YAML file look like."""

    key: str
    """The key of the file's list of entries."""
    what: str
    """What an entry is, in the singular, for messages."""
    fields: Sequence[str]
    """The keys that an entry may have. `class_name` must be there."""
    mappings: Sequence[str]
    """Those of the fields whose value is a mapping, or null."""


def parts_of(source: str | Path | Sequence[str]) -> tuple[str, ...]:
    """Return the names and paths in a source: a path, a text with commas between them, or a list of them."""
    if isinstance(source, Path):
        return (str(source),)
    parts = source.split(",") if isinstance(source, str) else source
    return tuple(part.strip() for part in parts if part.strip())


def open_parts(
    parts: Sequence[str], form: SourceForm, opened: Callable[[Mapping[str, Any]], Iterable[tuple[str, T]]]
) -> dict[str, T]:
    """Return what names and files stand for, by name.

    Args:
        parts: As `parts_of` returns them.
        opened: Returns the names and objects that an entry stands for. A bare name is passed as an entry that
            has a `class_name` alone.

    Raises:
        ConfigError: a file is no YAML, an entry does not have the form, or two objects have one name.
        InputError: a file cannot be read.
    """
    found: dict[str, T] = {}
    for part in parts:
        for where, entry in _checked(Path(part), form) if _is_file(part) else [("", {"class_name": part})]:
            with said_of(where):
                made = list(opened(entry))
            for name, one in made:
                if name in found:
                    raise ConfigError(f"there are two {form.what}s of the name '{name}'")
                found[name] = one
    return found


def names_in(source: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield each name in a source, and the class name of each entry of its files.

    Args:
        source: Names and paths with commas between them.
        key: The key of a file's list of entries.

    Yields:
        The name, and where it stands: the beginning of a message, empty outside of files.

    Raises:
        ConfigError, InputError: `read_entries` says why.
    """
    for part in parts_of(source):
        if not _is_file(part):
            yield part, ""
            continue
        for place, entry in enumerate(read_entries(Path(part), key), 1):
            yield str(entry.get("class_name") or ""), f"{part}, entry {place} of '{key}': "


def read_entries(path: Path, key: str) -> list[Mapping[str, Any]]:
    """Return the list of mappings under a key of a YAML file.

    Raises:
        InputError: the file cannot be read.
        ConfigError: it is no YAML, or has no such list.
    """
    try:
        found = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no YAML: {' '.join(str(error).split())[:200]}") from None
    entries = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ConfigError(f"{path} has no list '{key}' of mappings with a class_name each")
    return entries


@contextlib.contextmanager
def said_of(where: str) -> Iterator[None]:
    """Put `where` in front of the message of an error that is raised within."""
    try:
        yield
    except (ConfigError, InputError, MissingDependencyError) as error:
        raise type(error)(f"{where}{error}") from error


def _is_file(part: str) -> bool:
    return part.endswith((".yaml", ".yml"))


def _checked(path: Path, form: SourceForm) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each entry of a file that has the form, after where it stands."""
    for place, entry in enumerate(read_entries(path, form.key), 1):
        where = f"{path}, {form.what} {place}: "
        unknown = entry.keys() - set(form.fields)
        if unknown or not isinstance(entry.get("class_name"), str):
            what = f"there is no key '{sorted(unknown)[0]}'" if unknown else "class_name is missing"
            known = f"{', '.join(form.fields[:-1])} and {form.fields[-1]}"
            raise ConfigError(f"{where}{what}; an entry has {known}")
        for key in form.mappings:
            if not isinstance(entry.get(key, {}), Mapping | None):
                raise ConfigError(f"{where}{key} is {entry[key]!r:.40}; expected a mapping")
        yield where, entry
