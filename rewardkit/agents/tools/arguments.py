"""Check of a tool call's arguments against the tool's JSON schema. Arguments that nearly match are converted.

- A string that contains a number, a list or an object becomes that value, since qwen3_coder and ReAct can
  only write strings.
- A number becomes a string of its digits if a string is expected. A string becomes a list with one item if a
  list of strings is expected.
- A string without an argument name becomes the value of the tool's only argument.

Any other mismatch raises `BadCall`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardkit.rows import ground_truth_text
from rewardkit.tool_calls.call import PLAIN

_MAX_DEPTH = 32
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
    "null": (type(None),),
}


class BadCall(ValueError):
    """Raised if a call cannot be executed as the model wrote it. The model receives the error message.

    Tools may also raise this exception. The episode then continues.
    """


def fit(parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, converted to the types in the schema.

    Args:
        parameters: JSON schema of an object with the tool's arguments.
        arguments: Arguments as the model wrote them.

    Raises:
        BadCall: An argument is missing, unknown, out of bounds or of the wrong type.
    """
    properties = parameters.get("properties") or {}
    given = _named(parameters, properties, arguments)
    for name in given:
        if properties and name not in properties and not parameters.get("additionalProperties"):
            raise BadCall(f"there is no argument '{name}'; {usage(parameters)}")
    for name in parameters.get("required") or ():
        if name not in given:
            raise BadCall(f"argument '{name}' is missing; {usage(parameters)}")
    named = parameters.get("$defs") or {}
    return {name: _value(properties.get(name, {}), value, name, named, 0) for name, value in given.items()}


def usage(parameters: Mapping[str, Any]) -> str:
    """Describe a tool's arguments in one line, for error messages."""
    properties: Mapping[str, Any] = parameters.get("properties") or {}
    required = set(parameters.get("required") or ())
    shown = [
        f"{name}: {_type_shown(schema)}" + ("" if name in required else ", optional")
        for name, schema in properties.items()
    ]
    return f"it takes ({'; '.join(shown)})" if shown else "it takes no arguments"


def _named(
    parameters: Mapping[str, Any], properties: Mapping[str, Any], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    if PLAIN not in arguments:
        return dict(arguments)
    names = list(parameters.get("required") or properties)
    if len(names) != 1:
        raise BadCall(f"the arguments are not a JSON object; {usage(parameters)}")
    return {names[0]: arguments[PLAIN]}


def _value(schema: Any, value: Any, place: str, named: Mapping[str, Any], depth: int) -> Any:
    """Convert a value to the type in the schema. Ignore keywords of the schema that are not supported."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return value
    if isinstance(reference := schema.get("$ref"), str):
        return _value(named.get(reference.rpartition("/")[2]), value, place, named, depth + 1)
    value = _typed(schema, value, place)
    for choices in (schema.get("anyOf"), schema.get("oneOf")):
        if choices:
            return _any_of(choices, value, place, named, depth)
    if "enum" in schema and not any(value == one and type(value) is type(one) for one in schema["enum"]):
        raise BadCall(f"argument '{place}' is {_shown(value)}; expected one of {_shown(schema['enum'])}")
    _check_bounds(schema, value, place)
    if isinstance(value, Mapping):
        return _object(schema, value, place, named, depth)
    if isinstance(value, list | tuple):
        items = schema.get("items", {})
        return [_value(items, one, f"{place}[{i}]", named, depth + 1) for i, one in enumerate(value)]
    return value


def _typed(schema: Mapping[str, Any], value: Any, place: str) -> Any:
    named = schema.get("type")
    wanted = [named] if isinstance(named, str) else list(named or ())
    if not wanted or any(_is(value, kind) for kind in wanted):
        return value
    if isinstance(value, str):
        read = _from_text(value, "boolean" in wanted)
        if any(_is(read, kind) for kind in wanted):
            return read
        if "array" in wanted and (schema.get("items") or {}).get("type") == "string":
            return [value]
    if "string" in wanted and isinstance(value, int | float) and not isinstance(value, bool):
        return ground_truth_text(value)  # many models omit the quotes around digits
    if "integer" in wanted and isinstance(value, float) and value.is_integer():
        return int(value)
    raise BadCall(f"argument '{place}' is {_shown(value)}; expected {' or '.join(map(str, wanted))}")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind in ("boolean", "")
    return isinstance(value, _TYPES.get(kind, (object,)))


def _from_text(text: str, boolean: bool) -> Any:
    try:
        return json.loads(text.lower() if boolean and len(text) < 6 else text)
    except (ValueError, RecursionError):
        return text


def _any_of(choices: Sequence[Any], value: Any, place: str, named: Mapping[str, Any], depth: int) -> Any:
    """Convert the value to the first choice that it matches. Choices with the value's own type come first."""
    problem = BadCall(f"argument '{place}' has none of the allowed types")
    for choice in sorted(choices, key=lambda one: not _is(value, str(one.get("type", "")))):
        try:
            return _value(choice, value, place, named, depth + 1)
        except BadCall as error:
            problem = error
    raise problem


def _object(
    schema: Mapping[str, Any], value: Mapping[str, Any], place: str, named: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            raise BadCall(f"argument '{place}.{name}' is missing")
    others = schema.get("additionalProperties", {})
    if others is False and (unknown := [name for name in value if name not in properties]):
        raise BadCall(f"there is no argument '{place}.{unknown[0]}'")
    return {
        name: _value(properties.get(name, others), one, f"{place}.{name}", named, depth + 1)
        for name, one in value.items()
    }


_BOUNDS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("minimum", "at least", lambda value, bound: value >= bound),
    ("maximum", "at most", lambda value, bound: value <= bound),
    ("exclusiveMinimum", "more than", lambda value, bound: value > bound),
    ("exclusiveMaximum", "less than", lambda value, bound: value < bound),
)
_SIZES = (("minLength", "maxLength", str), ("minItems", "maxItems", list))


def _check_bounds(schema: Mapping[str, Any], value: Any, place: str) -> None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        for name, word, holds in _BOUNDS:
            if isinstance(schema.get(name), int | float) and not holds(value, schema[name]):
                raise BadCall(f"argument '{place}' is {_shown(value)}; expected {word} {schema[name]}")
    for least, most, kind in _SIZES:
        if isinstance(value, kind):
            if len(value) < schema.get(least, 0):
                raise BadCall(f"argument '{place}' is shorter than {schema[least]}")
            if len(value) > schema.get(most, len(value)):
                raise BadCall(f"argument '{place}' is longer than {schema[most]}")


def _type_shown(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "anything"
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(one, default=str) for one in schema["enum"][:8])
    kind = schema.get("type", "object" if "$ref" in schema else None)
    choices = schema.get("anyOf")
    if isinstance(choices, list) and choices:
        return " or ".join(_type_shown(choice) for choice in choices[:4])
    return kind if isinstance(kind, str) else "anything"


def _shown(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 60 else shown[:57] + "..."
