"""Reads YAML as a JSON value by the core schema of YAML 1.2, with PyYAML's safe loader.

In YAML 1.1, which PyYAML reads by default, `NO` and `on` are booleans, `12:30` is 750, and dates are not
strings. Authors of YAML rarely intend these values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from typing import Any

import yaml

_MAX_CHARS = 20_000
_TAG = "tag:yaml.org,2002:"
_SCALARS = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
}


class _Yaml12Loader(yaml.SafeLoader):
    """The safe loader with YAML 1.2 scalars, and without duplicate keys or aliases, which can fill memory."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  (PyYAML wants it here)

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("YAML aliases are not supported")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        found = yaml.constructor.BaseConstructor.construct_mapping(self, node, deep=True)
        keys = {json.dumps(key) if not isinstance(key, str) else key for key in found}
        if len(keys) != len(node.value):
            raise yaml.YAMLError("a key appears twice")
        return found


def _integer(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node)
    return int(text, 0 if text[:2] in ("0o", "0x") else 10)


def _number(loader: Any, node: Any) -> float:
    text = loader.construct_scalar(node).lower()
    value = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    if value == 0.0 and text.partition("e")[0].strip(
        "+-0."
    ):  # all numbers that underflow to 0 would be equal
        raise ValueError("a number is too small")
    return value


def _truth(loader: Any, node: Any) -> bool:
    return {"true": True, "false": False}[loader.construct_scalar(node).lower()]


for _kind, _pattern in _SCALARS.items():
    _Yaml12Loader.add_implicit_resolver(_TAG + _kind, re.compile(rf"(?:{_pattern})\Z"), None)
_Yaml12Loader.add_constructor(_TAG + "int", _integer)
_Yaml12Loader.add_constructor(_TAG + "float", _number)
_Yaml12Loader.add_constructor(_TAG + "bool", _truth)


def read_yaml(text: str) -> Any:
    """Return the mapping or list in a YAML text.

    Raises:
        ValueError: The text contains neither, or has values that JSON cannot express (NaN, infinity, sets).
    """
    if len(text) > _MAX_CHARS:
        raise ValueError("too long")
    try:
        value = yaml.load(text + "\n", _Yaml12Loader)  # keeps the line break that ends a block scalar
    except (
        yaml.YAMLError,
        TypeError,
        AttributeError,
        LookupError,
    ) as error:  # raised by unusual tags and keys
        raise ValueError(str(error).partition("\n")[0] or type(error).__name__) from None
    if not isinstance(value, dict | list):
        raise ValueError("neither a mapping nor a list")
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except TypeError as error:
        raise ValueError(str(error)) from None
