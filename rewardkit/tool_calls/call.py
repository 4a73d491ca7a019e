"""A call of a tool, as a model wrote it, and the JSON that says one. The formats have files of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.json_objects import object_of_pairs

MAX_CALLS = 64
"""Calls that are read of one turn. All further ones are a single call with an error."""
PLAIN = "__input__"
"""The argument of a call that has one value and no name for it."""
_NAMES = ("name", "function", "tool", "tool_name", "function_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "tool_arguments", "kwargs")
_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, as the model wrote it."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""
    error: str | None = None
    """Reason why it cannot be executed (malformed JSON, no name, ...). An agent tells its model, and a reward
    takes the call for none that was asked for."""
    untyped: bool = False
    """Its format has texts only, so a number may stand as one."""


class UnreadableCall(ValueError):
    """Says why a call cannot be read."""


def checked(name: Any, arguments: Any, *, untyped: bool = False) -> Call:
    """Return the call of a name with arguments.

    Raises:
        UnreadableCall: the name is none, or the arguments are no object of JSON.
    """
    if isinstance(arguments, dict) and PLAIN in arguments:
        raise UnreadableCall(f"an argument must not have the name {PLAIN}")
    return _checked(name, {} if arguments is None else arguments, untyped)


def with_one_argument(name: Any, value: Any, *, untyped: bool = False) -> Call:
    """Return the call of a name with a value for the tool's only argument.

    Raises:
        UnreadableCall: the name is none.
    """
    return _checked(name, {PLAIN: value}, untyped)


def call_of(name: Any, arguments: Any, id: str = "") -> Call:
    """Return the call that a program hands over; with an error where its arguments are no object.

    Args:
        arguments: An object, or its JSON, as in OpenAI's messages.
    """
    try:
        given = json_of(arguments) if isinstance(arguments, str) and arguments else arguments or {}
        return replace(checked(name, given), id=id)
    except UnreadableCall as error:
        return replace(failed(str(error), name if isinstance(name, str) else ""), id=id)


def failed(why: str, name: str = "") -> Call:
    """Return a call that cannot be read."""
    printable = name.strip()[:_NAME_CHARS].encode(errors="replace").decode()
    return Call(printable, {}, error=why.encode(errors="replace").decode())


def calls_of(value: Any) -> list[Call]:
    """Return the calls of a JSON value: one, a list of them, or a message of OpenAI's with `tool_calls`.

    Raises:
        UnreadableCall: one of them is no call.
    """
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    if value == []:
        raise UnreadableCall("the list of calls is empty")
    return [_from_object(one) for one in (value if isinstance(value, list) else [value])]


def is_call(value: Any) -> bool:
    """Return True for a JSON value that can only be meant as a call, or as several."""
    if isinstance(value, list):
        return bool(value) and all(map(is_call, value))
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("tool_calls"), list):
        return is_call(value["tool_calls"])
    inner = value.get("function")
    inner = inner if isinstance(inner, dict) else value
    name, arguments = _name_and_arguments(inner)
    told = "arguments" in inner or "parameters" in inner  # under other names a text may be anything
    return isinstance(name, str) and (told or isinstance(arguments, dict))


def json_at(text: str, position: int) -> tuple[Any, int]:
    """Return the JSON value at a position, behind blanks, and where it ends.

    Raises:
        UnreadableCall: there is none, or a key stands twice in an object.
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
    """Return the JSON value that a text is.

    Raises:
        UnreadableCall: it is none.
    """
    value, end = json_at(text, 0)
    if text[end:].strip():
        raise UnreadableCall(f"unexpected text after the JSON object: {shown(text[end:])}")
    return value


def blocks(
    text: str, opening: re.Pattern[str], closing: str, form: str, read: Callable[[str, str], Call]
) -> tuple[str, list[Call]]:
    """Return the text outside of all blocks, and the call in each.

    Args:
        opening: What begins a block, with the name of its function; the text that `form` begins with is its
            mark.
        form: What a block looks like, for messages.
        read: Returns the call of a name and the text in its block, or raises UnreadableCall.
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
    """Return arguments by name.

    Raises:
        UnreadableCall: one stands twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnreadableCall("an argument is given twice")
    return found


def said_before(text: str, start: int) -> str:
    """Return what is said before a call, without the beginning of the code fence in which it stands."""
    before = text[:start]
    if before.count("```") % 2:
        before = before[: before.rfind("```")]
    return before.strip()


def name_in(text: str) -> str:
    """Return the name that a call which cannot be read seems to have."""
    found = re.search(r'"name"\s*:\s*"([^"\\\n]{1,200})"', text[:2_000])
    return found[1] if found else ""


def shown(text: str) -> str:
    """Return the beginning of a text, for a message."""
    stripped = text.strip()
    return repr(stripped[:40] + ("..." if len(stripped) > 40 else ""))


def _from_object(value: Any) -> Call:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]  # OpenAI's form
    if not isinstance(value, dict):
        raise UnreadableCall('a call must be a JSON object with "name" and "arguments"')
    name, arguments = _name_and_arguments(value)
    if name is None:
        raise UnreadableCall('the call has no "name"')
    return checked(name, json_of(arguments) if isinstance(arguments, str) else arguments)


def _name_and_arguments(value: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the values under the first of each's usual names that is there; None where none is."""
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
