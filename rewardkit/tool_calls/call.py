"""Tool calls as models write them, and helpers that the parsers of all formats share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.json_objects import object_of_pairs

MAX_CALLS = 64
"""Maximum number of calls in one turn. All further calls become one call with an error."""
PLAIN = "__input__"
"""Name of the argument in a call whose only value has no name."""
_NAMES = ("name", "function", "tool", "tool_name", "function_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "tool_arguments", "kwargs")
_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call, as the model wrote it."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""
    error: str | None = None
    """Reason why the call cannot be executed, such as malformed JSON or a missing name. Agents report the
    reason to the model, and rewards never match the call with an expected call."""
    untyped: bool = False
    """True if the format writes all values as strings, so that a string may represent a number."""


class UnreadableCall(ValueError):
    """Raised if a call cannot be parsed. The message gives the reason."""


def checked(name: Any, arguments: Any, *, untyped: bool = False) -> Call:
    """Create a call from a name and arguments, after checking them.

    Raises:
        UnreadableCall: The name is invalid, or the arguments are not a JSON object.
    """
    if isinstance(arguments, dict) and PLAIN in arguments:
        raise UnreadableCall(f"an argument must not have the name {PLAIN}")
    return _checked(name, {} if arguments is None else arguments, untyped)


def with_one_argument(name: Any, value: Any, *, untyped: bool = False) -> Call:
    """Create a call from a name and a value for the tool's only argument.

    Raises:
        UnreadableCall: The name is invalid.
    """
    return _checked(name, {PLAIN: value}, untyped)


def call_of(name: Any, arguments: Any, id: str = "") -> Call:
    """Create a call from a program's data. If the arguments are not an object, the call has an error.

    Args:
        name: Name of the tool.
        arguments: Object, or JSON of an object as in OpenAI's messages.
        id: Id of the call.
    """
    try:
        given = json_of(arguments) if isinstance(arguments, str) and arguments else arguments or {}
        return replace(checked(name, given), id=id)
    except UnreadableCall as error:
        return replace(failed(str(error), name if isinstance(name, str) else ""), id=id)


def failed(why: str, name: str = "") -> Call:
    """Create a call with an error, for text that cannot be parsed."""
    printable = name.strip()[:_NAME_CHARS].encode(errors="replace").decode()
    return Call(printable, {}, error=why.encode(errors="replace").decode())


def calls_of(value: Any) -> list[Call]:
    """Return the calls in a JSON value: a call, a list of calls, or an OpenAI message with `tool_calls`.

    Raises:
        UnreadableCall: The value, or an item in it, is not a call.
    """
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    if value == []:
        raise UnreadableCall("the list of calls is empty")
    return [_from_object(one) for one in (value if isinstance(value, list) else [value])]


def is_call(value: Any) -> bool:
    """Return True if a JSON value can only be meant as a call or as a list of calls."""
    if isinstance(value, list):
        return bool(value) and all(map(is_call, value))
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("tool_calls"), list):
        return is_call(value["tool_calls"])
    inner = value.get("function")
    inner = inner if isinstance(inner, dict) else value
    name, arguments = _name_and_arguments(inner)
    told = "arguments" in inner or "parameters" in inner  # other keys may contain any string
    return isinstance(name, str) and (told or isinstance(arguments, dict))


def json_at(text: str, position: int) -> tuple[Any, int]:
    """Return the JSON value at a position, after any whitespace, and the position after the value.

    Raises:
        UnreadableCall: The text at the position is not valid JSON, or an object contains a key twice.
    """
    while position < len(text) and text[position].isspace():
        position += 1
    if position >= len(text):
        raise UnreadableCall("the call has no JSON")
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        place = f"character {error.pos - position}"
        raise UnreadableCall(f"the call is not JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise UnreadableCall("the call's JSON is nested too deeply") from None
    except ValueError as error:
        raise UnreadableCall(f"the call is not JSON: {str(error)[:100]}") from None


def json_of(text: str) -> Any:
    """Parse a text that consists of one JSON value.

    Raises:
        UnreadableCall: The text is not a JSON value.
    """
    value, end = json_at(text, 0)
    if text[end:].strip():
        raise UnreadableCall(f"unexpected text after the JSON object: {shown(text[end:])}")
    return value


def blocks(
    text: str, opening: re.Pattern[str], closing: str, form: str, read: Callable[[str, str], Call]
) -> tuple[str, list[Call]]:
    """Return the text outside all blocks, and the call in each block.

    Args:
        text: Text with blocks.
        opening: Pattern for the start of a block. Its first group matches the name of the function.
        closing: Text that ends a block.
        form: Description of a block for error messages. If its first word remains outside the blocks, a call
            with an error is added.
        read: Function that returns the call for a name and the text in the block, or raises UnreadableCall.
    """
    outside: list[str] = []
    calls: list[Call] = []
    position = 0
    while len(calls) <= MAX_CALLS and (head := opening.search(text, position)) is not None:
        outside.append(text[position : head.start()])
        end = text.find(closing, head.end())
        try:
            if end < 0:
                raise UnreadableCall(f"the call is not finished: {closing} is missing")
            calls.append(read(head[1], text[head.end() : end]))
        except UnreadableCall as error:
            calls.append(failed(str(error), head[1]))
        position = end + len(closing) if end >= 0 else len(text)
    rest = "".join([*outside, text[position:]])
    if form.partition(" ")[0] in rest:
        calls.append(failed(f"a call must have the form {form}"))
    return rest, calls


def by_name(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Convert pairs of names and values to a dict.

    Raises:
        UnreadableCall: A name occurs twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableCall("an argument is given twice")
    return found


def said_before(text: str, start: int) -> str:
    """Return the text before a call, without the opening of a code fence that contains the call."""
    before = text[:start]
    if before.count("```") % 2:
        before = before[: before.rfind("```")]
    return before.strip()


def name_in(text: str) -> str:
    """Return the apparent name of a call that cannot be parsed, or an empty string if no name is found."""
    found = re.search(r'"name"\s*:\s*"([^"\\\n]{1,200})"', text[:2_000])
    return found[1] if found else ""


def shown(text: str) -> str:
    """Return the beginning of a text, quoted for an error message."""
    stripped = text.strip()
    return repr(stripped[:40] + ("..." if len(stripped) > 40 else ""))


def _from_object(value: Any) -> Call:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]  # OpenAI's format
    if not isinstance(value, dict):
        raise UnreadableCall('a call must be a JSON object with "name" and "arguments"')
    name, arguments = _name_and_arguments(value)
    if name is None:
        raise UnreadableCall('the call has no "name"')
    return checked(name, json_of(arguments) if isinstance(arguments, str) else arguments)


def _name_and_arguments(value: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the name and the arguments in an object, with None in place of a missing value."""
    name = next((value[key] for key in _NAMES if key in value), None)
    return name, next((value[key] for key in _ARGUMENTS if key in value), None)


def _checked(name: Any, arguments: Any, untyped: bool) -> Call:
    if not isinstance(name, str) or not name.strip():
        raise UnreadableCall("the call's name is not a string")
    if len(name) > _NAME_CHARS or "\n" in name.strip():
        raise UnreadableCall("the call's name is not a valid name")
    if not isinstance(arguments, dict):
        raise UnreadableCall("the call's arguments are not a JSON object")
    try:
        (name + json.dumps(arguments, ensure_ascii=False)).encode()
    except UnicodeEncodeError:
        raise UnreadableCall("a string of the call is not valid Unicode (half a surrogate pair)") from None
    except RecursionError:
        raise UnreadableCall("the call's arguments are nested too deeply") from None
    return Call(name.strip(), arguments, untyped=untyped)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=object_of_pairs, parse_constant=_no_constant)
