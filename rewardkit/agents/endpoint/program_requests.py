"""Request fields that have the same meaning in all APIs of the endpoint.

rewardkit honours a field, replaces its value by the run's own setting, or rejects the request. `chat.py`,
`responses.py` and `messages_api.py` define the request formats.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.agents.encoding import plain_text
from rewardkit.messages import TEXT_PARTS, content_text
from rewardkit.types import Message

RUNS_OWN = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty"}
    | {"repetition_penalty", "reasoning", "reasoning_effort", "verbosity", "thinking"}
)
"""Fields that control sampling. The endpoint ignores them, because tokens sampled with other settings would
not be samples from the policy in training."""
HARMLESS = frozenset(
    {"model", "user", "metadata", "store", "service_tier", "prompt_cache_key", "safety_identifier", "include"}
    | {"prompt_cache_retention", "truncation", "stream_options", "client_metadata", "usage", "cache_control"}
)
"""Fields that have no effect on the generated tokens."""
_OF_THE_API = ("strict", "type", "defer_loading")
"""Keys in a function definition that only the API uses. The model does not see these keys."""


class ApiError(Exception):
    """Error that the endpoint returns to the program in a format that the clients of all APIs understand."""

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None, status: int = 400):
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {
            "type": "error",
            "error": {
                "message": message,
                "type": "invalid_request_error" if status < 500 else "server_error",
                "param": param,
                "code": code,
            },
        }


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """Request from a program for one turn."""

    messages: list[Message]
    """Messages whose contents and call arguments are strings. A tool message has the `name` of its tool."""
    schemas: list[dict[str, Any]]
    """Function schemas in the format of OpenAI's chat completions."""
    max_tokens: int | None
    stop: tuple[str, ...]
    stream: bool
    one_call: bool
    """True if only the first tool call of a turn is returned, even if the turn has several."""
    body: Mapping[str, Any]
    forced: str | None = None
    """Name of the tool that the turn must call. An empty string means any tool, and None means that the turn
    need not call a tool."""
    constraint: Mapping[str, Any] = field(default_factory=dict)
    """Restrictions on the tokens of the turn, in the form that `TokenModel` describes."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Additional arguments for the chat template."""


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """One turn of the model, in the form that the program receives."""

    number: str
    """Number of the turn, from which the ids in the response are made."""
    text: str
    calls: list[dict[str, Any]]
    """Tool calls in the format of an assistant message in the chat completions API."""
    cut: bool
    """True if the turn was cut off by a token limit."""
    prompt_tokens: int
    tokens: int


def refuse_others(body: Mapping[str, Any], honoured: Mapping[str, Any]) -> None:
    """Reject fields that would be silently ignored, and warn once about fields that the run overrides.

    Args:
        body: Fields of the request.
        honoured: Supported values of each supported field, by name. None means that any value is supported.

    Raises:
        ApiError: A field or its value is not supported.
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


_said: set[str] = set()


def say_once(line: str, kind: str = "") -> None:
    """Print a line to standard error once per process. If `kind` is given, print one line of that kind."""
    if (kind or line) not in _said:
        _said.add(kind or line)
        print(line, file=sys.stderr, flush=True)


def forced_in(choice: Any, schemas: Sequence[Mapping[str, Any]], name: Any) -> str | None:
    """Return the name of the tool that a turn must call. See `AskedTurn.forced`.

    Args:
        choice: Value of `tool_choice`: a word, or an object that names a tool.
        schemas: Schemas of the tools.
        name: Name of the tool if the value is an object.

    Raises:
        ApiError: The value is unknown, or there is no such tool.
    """
    if choice is None or choice in ("auto", "none"):
        return None
    known = [one["function"]["name"] for one in schemas]
    if choice == "required" and known:
        return known[0] if len(known) == 1 else ""
    if isinstance(choice, dict) and name in known:
        return str(name)
    raise ApiError(
        f"tool_choice={json.dumps(choice, default=str)[:80]} is not supported, or names no tool of the "
        "request; use auto, none, required or a function's name",
        param="tool_choice",
    )


def structure_in(given: Any, schema: Any, param: str) -> dict[str, Any]:
    """Return the constraint for a format of the response.

    Args:
        given: Value of `response_format`, or of `text.format`.
        schema: JSON schema if the type is `json_schema`.
        param: Name of the field, for error messages.

    Raises:
        ApiError: The type is unknown, or there is no schema.
    """
    kind = given.get("type", "text") if isinstance(given, dict) else "text" if given is None else str(given)
    if kind == "text":
        return {}
    if kind == "json_object":
        return {"structured_outputs": {"json_object": True}}
    if kind == "json_schema" and isinstance(schema, dict):
        return {"structured_outputs": {"json": schema}}
    raise ApiError(
        f"{param}: the type '{kind}' is not supported or lacks a schema; use text, json_object or "
        "json_schema",
        param=param,
    )


def object_in(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object in a field, or an empty object if the field is absent.

    Raises:
        ApiError: The value is not an object.
    """
    given = body.get(name) or {}
    if not isinstance(given, dict):
        raise ApiError(f"'{name}' must be an object", param=name)
    return given


def least_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constraint for the field `min_tokens`."""
    least = number_in(body, "min_tokens") if body.get("min_tokens") else None
    return {} if least is None else {"min_tokens": least}


def number_in(body: Mapping[str, Any], *names: str) -> int | None:
    """Return the positive integer from the first of these fields that is set, or None if none is set.

    Raises:
        ApiError: The value is not a positive integer.
    """
    name = next((name for name in names if body.get(name) is not None), None)
    if name is None:
        return None
    value = body[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ApiError(f"'{name}' must be a positive integer", param=name)
    return value


def texts_in(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the stop texts in a field.

    Raises:
        ApiError: The value is neither a string nor a list of non-empty strings.
    """
    given = body.get(name) or []
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(one, str) and one for one in texts):
        raise ApiError(f"'{name}' must be a string or a list of non-empty strings", param=name)
    return tuple(texts)


def text_in(content: Any, param: str = "messages") -> str:
    """Return the text of a message's content.

    Raises:
        ApiError: A part of the content is not text.
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
    """Return the list of objects in a field, or an empty list if the field is absent.

    Raises:
        ApiError: The value is not a list of objects.
    """
    given = body.get(name)
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ApiError(f"'{name}' must be a list of objects", param=name)
    return given


def schema_of(tool: Mapping[str, Any], function: Any) -> dict[str, Any]:
    """Return the schema of a tool in the form that the chat template receives.

    Raises:
        ApiError: The tool is not a function.
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
    """Add the tool's name to each tool message whose tool call is among the messages. Return the messages."""
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
    """Return a call in the format of an assistant message.

    Raises:
        ApiError: The call has no function name.
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
