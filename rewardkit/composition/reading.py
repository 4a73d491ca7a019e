"""Reader of YAML compositions, which records the line of each mapping for error messages.

A duplicate key in a mapping is an error. Other YAML readers silently keep the last value of the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rewardkit.errors import InputError, reason_of


class Placed(dict[Any, Any]):
    """Mapping read from a file, with its place in the file."""

    place: str = ""
    """Place of the mapping for messages, such as `rewards.yaml, line 3`."""


def without(given: Mapping[Any, Any], keys: Sequence[str]) -> Placed:
    """Return a copy of a mapping without some of its keys, but with its place."""
    left = Placed((key, value) for key, value in given.items() if key not in keys)
    left.place = getattr(given, "place", "")
    return left


class _Loader(yaml.SafeLoader):
    source = ""

    def placed(self, node: yaml.MappingNode) -> Iterator[Placed]:
        """Construct a mapping. Yield the mapping before it is filled, because its values may refer to it."""
        made = Placed()
        made.place = f"{self.source}, line {node.start_mark.line + 1}"
        yield made
        made.update(self.construct_mapping(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.placed)


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file, with mappings as `Placed`.

    Raises:
        InputError: The file cannot be read, is not YAML, or has a duplicate key.
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
    """Return the first duplicate key with its line, or an empty text if all keys are unique."""
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
