"""Reads the YAML of compositions, and keeps the line on which each mapping begins for messages.

A key that stands twice in a mapping is an error. YAML readers silently take the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rewardkit.errors import InputError, reason_of


class Placed(dict[Any, Any]):
    """A mapping of a file, with the place where it stands."""

    place: str = ""
    """The place, for messages: `rewards.yaml, line 3`."""


def without(given: Mapping[Any, Any], keys: Sequence[str]) -> Placed:
    """Return a mapping without some of its keys, at the place of the whole."""
    left = Placed((key, value) for key, value in given.items() if key not in keys)
    left.place = getattr(given, "place", "")
    return left


class _Loader(yaml.SafeLoader):
    source = ""

    def placed(self, node: yaml.MappingNode) -> Iterator[Placed]:
        """Build a mapping; what is in it may refer to it, so it is yielded before it is filled."""
        made = Placed()
        made.place = f"{self.source}, line {node.start_mark.line + 1}"
        yield made
        made.update(self.construct_mapping(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.placed)


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds, mappings as `Placed`.

    Raises:
        InputError: the file cannot be read, is no YAML, or has a key twice.
    """
    try:
        loader = _Loader(path.read_bytes())
        loader.source = str(path)
        node = loader.get_single_node()
        twice = _key_that_stands_twice(node)
        given = loader.construct_document(node) if node is not None and not twice else None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path} is not valid YAML: {reason_of(error)}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply") from None
    if twice:
        raise InputError(f"{path} has a duplicate key: {twice}; remove one of the two")
    return given


def _key_that_stands_twice(root: yaml.Node | None) -> str:
    """Return the first such key with its line; an empty text if there is none."""
    waiting = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, inner in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in keys:
                    return f"'{key.value}' in line {key.start_mark.line + 1}"
                keys.add(getattr(key, "value", "") if isinstance(key, yaml.ScalarNode) else "")
                waiting.append(inner)
    return ""
