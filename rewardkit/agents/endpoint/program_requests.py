"""Requests of a program to the endpoint, in either API's form: the fields that are honoured, those that are
the run's own, and those that are refused. The forms themselves are in `chat.py` and `responses.py`."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.agents.encoding import plain_text
from rewardkit.messages import TEXT_PARTS, content_text
from rewardkit.types import Message

RUNS_OWN = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty"}
    | {"repetition_penalty", "reasoning", "reasoning_effort", "verbosity"}
)
"""Fields that decide how tokens are drawn. In training a token that was drawn otherwise is not the
policy's."""
HARMLESS = frozenset(
    {"model", "user", "metadata", "store", "service_tier", "prompt_cache_key", "safety_identifier", "include"}
    | {"prompt_cache_retention", "truncation", "stream_options", "client_metadata", "usage"}
)
"""Fields that change no token."""
_OF_THE_API = ("strict", "type", "defer_loading")
"""Keys of a function that only the API reads, and no model is shown."""


class ApiError(Exception):
    """An answer that is an error, in the API's form."""

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None, status: int = 400):
        super().__init__(message)
        self.status = status
        self.body = {
            "error": {
                "message": message,
                "type": "invalid_request_error" if status < 500 else "server_error",
                "param": param,
                "code": code,
            }
        }


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """One turn that a program wants."""

    messages: list[Message]
    """Contents and arguments of calls are texts; a tool's message has the `name` of its tool."""
    schemas: list[dict[str, Any]]
    """OpenAI's function schemas, as chat completions have them."""
    max_tokens: int | None
    stop: tuple[str, ...]
    stream: bool
    one_call: bool
    """True if only the first of several calls is handed out."""
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """One turn of the model, as it is handed out."""

    number: str
    """Number of the turn, for ids."""
    text: str
    calls: list[dict[str, Any]]
    """Calls as an assistant's message of chat completions has them."""
    cut: bool
    """A limit of tokens has ended it."""
    prompt_tokens: int
    tokens: int


def refuse_others(body: Mapping[str, Any], honoured: Mapping[str, Any]) -> None:
    """Refuse fields that would be ignored silently, and tell once of those that are the run's own.

    Args:
        honoured: By name, the values that are honoured; None: any.

    Raises:
        ApiError: a field, or its value, is not taken.
    """
    for name, value in body.items():
        if value is None or value in ([], {}) or name in HARMLESS:
            continue
        if name in RUNS_OWN:
            say_once(f"'{name}' in requests of external programs is ignored; the run's own setting is used")
        elif name not in honoured:
            raise ApiError(
                f"the field '{name}' is not supported by rewardkit's endpoint; leave '{name}' out",
                code="unsupported_parameter",
                param=name,
            )
        elif honoured[name] is not None and value not in honoured[name]:
            takes = " or ".join(json.dumps(one) for one in honoured[name])
            text = json.dumps(value, default=str)[:80]
            raise ApiError(f"{name}={text} is not supported by rewardkit's endpoint; use {takes}", param=name)


@functools.cache
def say_once(line: str) -> None:
    """Print a line for people, once in a process."""
    print(line, file=sys.stderr, flush=True)


def number_in(body: Mapping[str, Any], *names: str) -> int | None:
    """Return the positive number of the first of these fields that is there.

    Raises:
        ApiError: it is something else.
    """
    name = next((name for name in names if body.get(name) is not None), None)
    if name is None:
        return None
    value = body[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ApiError(f"'{name}' must be a positive integer", param=name)
    return value


def stops_in(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of `stop`.

    Raises:
        ApiError: it is no text and no list of texts.
    """
    given = body.get("stop") or []
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(one, str) and one for one in texts):
        raise ApiError("'stop' must be a string or a list of non-empty strings", param="stop")
    return tuple(texts)


def text_in(content: Any, param: str = "messages") -> str:
    """Return the text of a message's content.

    Raises:
        ApiError: it has a part that is no text.
    """
    if content is None or isinstance(content, str):
        return plain_text(content or "")
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        if kind not in TEXT_PARTS or not isinstance(part.get("text"), str):
            raise ApiError(
                f"'{param}' has content of the type '{kind}'; rewardkit's endpoint supports only text",
                param=param,
            )
    return plain_text(content_text(content))


def objects_in(body: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return a field that is a list of objects, or absent.

    Raises:
        ApiError: it is something else.
    """
    given = body.get(name)
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ApiError(f"'{name}' must be a list of objects", param=name)
    return given


def schema_of(tool: Mapping[str, Any], function: Any) -> dict[str, Any]:
    """Return the schema of a tool as a template is shown it.

    Raises:
        ApiError: it is no function.
    """
    if tool.get("type") != "function" or not isinstance(function, dict) or not function.get("name"):
        raise ApiError(
            f"'tools' has an entry of type '{tool.get('type')}'; each must be of type 'function' and have a "
            "name",
            param="tools",
        )
    kept = {name: value for name, value in function.items() if value is not None and name not in _OF_THE_API}
    kept.setdefault("parameters", {"type": "object", "properties": {}})
    return {"type": "function", "function": kept}


def named(messages: Sequence[Message]) -> list[Message]:
    """Return messages in which tools' have the names of their tools, by the calls that they answer."""
    names: dict[str, str] = {}
    found: list[Message] = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        if message["role"] == "tool" and message.get("tool_call_id") in names:
            message = {**message, "name": names[message["tool_call_id"]]}
        found.append(message)
    return found


def call_in(id: Any, function: Any, param: str) -> dict[str, Any]:
    """Return a call as an assistant's message has it.

    Raises:
        ApiError: it has no name.
    """
    given = function if isinstance(function, dict) else {}
    name, arguments = given.get("name"), given.get("arguments")
    if not isinstance(name, str) or not name:
        raise ApiError(f"a tool call in '{param}' has no function name", param=param)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {
        "id": str(id or ""),
        "type": "function",
        "function": {"name": name, "arguments": plain_text(text)},
    }
