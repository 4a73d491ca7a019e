"""Makes of a typed function the schema that models are shown, and a converter of arguments.

A type hint may be any type that msgspec can convert: numbers, texts, lists, dicts, `Literal`, enums,
dataclasses, unions with None. Descriptions come from a Google docstring.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from rewardkit.agents.tools.arguments import BadCall, fit, usage
from rewardkit.errors import ConfigError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$", re.MULTILINE
)
_ENTRY = re.compile(r"^(\s+)\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a tool's function takes, read from its type hints and docstring."""

    parameters: Mapping[str, Any]
    """JSON schema of an object."""
    description: str
    """The docstring's text before its sections."""
    arguments: type
    """The struct that arguments are converted to."""

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return a call's arguments in the function's types.

        Raises:
            BadCall: they do not fit.
        """
        fitted = fit(self.parameters, arguments)
        try:
            made: Any = msgspec.convert(fitted, self.arguments, strict=False)
        except (msgspec.ValidationError, ValueError, OverflowError) as error:
            raise BadCall(f"{_readable(str(error))}; {usage(self.parameters)}") from None
        return {name: getattr(made, name) for name in fitted}


def read_signature(function: Callable[..., Any]) -> Signature:
    """Read the type hints and docstring of a function or a bound method.

    Raises:
        ConfigError: a parameter has no type hint, has one that JSON cannot express, or has no name that a
            call could give (`*args`, `**kwargs`).
    """
    what = getattr(function, "__qualname__", str(function))
    text, described = read_docstring(inspect.getdoc(function) or "")
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(f"tool {what}: its hints cannot be read: {error}") from None
    fields = [
        _field(what, parameter, hints, described)
        for parameter in inspect.signature(function).parameters.values()
    ]
    try:
        struct = msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)
        (_,), components = msgspec.json.schema_components((struct,), ref_template="#/$defs/{name}")
    except TypeError as error:
        raise ConfigError(f"tool {what}: {' '.join(str(error).split())[:200]}") from None
    schema = components.pop("Arguments")
    parameters = {"type": "object", "properties": schema["properties"], "required": schema["required"]}
    return Signature(parameters | ({"$defs": components} if components else {}), text, struct)


def function_schema(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return OpenAI's function schema.

    Raises:
        ConfigError: the name has characters other than letters, digits, `_`, `-` and `.`, or more than 64.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"'{name}' is no name of a tool; letters, digits, _, - and . only, at most 64")
    function = {"name": name, "description": description, "parameters": dict(parameters)}
    return {"type": "function", "function": function}


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section, and the descriptions under `Args:` by name."""
    sections = list(_SECTION.finditer(text))
    head = text[: sections[0].start()] if sections else text
    described: dict[str, str] = {}
    for place, section in enumerate(sections):
        if section[1] in ("Args", "Arguments", "Parameters"):
            end = sections[place + 1].start() if place + 1 < len(sections) else len(text)
            described.update(_entries(text[section.end() : end]))
    return " ".join(head.split()), described


def _entries(body: str) -> dict[str, str]:
    """`name: text` entries, whose text may go on in deeper lines."""
    found: dict[str, str] = {}
    name = ""
    depth = -1
    for line in body.splitlines():
        entry = _ENTRY.match(line)
        if entry and (depth < 0 or len(entry[1]) <= depth):
            name = entry[2]
            depth = len(entry[1])
            found[name] = entry[3].strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _field(
    what: str, parameter: inspect.Parameter, hints: Mapping[str, Any], described: Mapping[str, str]
) -> Any:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ConfigError(
            f"tool {what}: '{parameter}' has no name that a model could write; name each argument"
        )
    if name not in hints:
        raise ConfigError(f"tool {what}: argument '{name}' has no type hint")
    hint = hints[name]
    if name in described:
        hint = Annotated[hint, msgspec.Meta(description=described[name])]
    if parameter.default is parameter.empty:
        return (name, hint)
    default = parameter.default
    if isinstance(default, list | dict | set):
        return (name, hint, msgspec.field(default_factory=lambda: type(default)(default)))
    return (name, hint, default)


def _readable(error: str) -> str:
    """Return msgspec's message with the name of the argument, if there is one, in front."""
    what, _, place = error.partition(" - at `$.")
    return f"argument '{place.rstrip('`')}': {what}" if place else what
