"""Tool calls in the forms in which models write them -> names and arguments. No comparing here.

`hermes` (Qwen 2.5 and 3): `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`; `llama3`: JSON
objects with `parameters` after an optional `<|python_tag|>`; `qwen3_coder`: `<function=f><parameter=x>`;
`pythonic`: `[f(x=1)]`; `mistral`: `[TOOL_CALLS]`; `json`: a bare object or list of objects. Forms as
read by vLLM's parsers (0.32). Nothing is evaluated: Python's literals are read from the syntax tree.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Form = Literal["hermes", "llama3", "qwen3_coder", "pythonic", "mistral", "json"]

MAX_CHARS = 100_000
"""A longer response makes no call."""
_MAX_PYTHON = 10_000
_FUNCTION = re.compile(r"<function=([^>\n]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*([\w.-]{1,200})\s*\[ARGS\]")
_PYTHONIC = re.compile(r"\[\s*[A-Za-z_][\w.]*\(.*\)\s*\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    name: str
    arguments: dict[str, Any]
    untyped: bool = False
    """The form has texts only, so a number may stand as one."""


class BadCall(ValueError):
    """The response attempts a call that cannot be read."""


def read(text: str, forms: tuple[Form, ...]) -> tuple[Call, ...]:
    """Return the calls of a response, in order; none if it attempts none.

    Raises:
        BadCall: it attempts one that cannot be read. That is no abstention.
    """
    if len(text) > MAX_CHARS:
        raise BadCall("the response is too long")
    for form in forms:
        if (calls := _READERS[form](text)) is not None:
            return calls
    if any(
        sign in text
        for sign in ("<tool_call>", "<function=", "<|python_tag|>", "[TOOL_CALLS]", "<|tool_call")
    ):
        raise BadCall("a call in none of the forms: " + ", ".join(forms))
    return ()


def _hermes(text: str) -> tuple[Call, ...] | None:
    if "<tool_call>" not in text or "<function=" in text:
        return None
    blocks = text.split("<tool_call>")[1:]
    return tuple(_from_object(_loads(block.partition("</tool_call>")[0])) for block in blocks)


def _qwen3_coder(text: str) -> tuple[Call, ...] | None:
    if "<function=" not in text:
        return None
    calls = []
    for function in _FUNCTION.finditer(text):
        arguments = {p[1].strip(): _trimmed(p[2]) for p in _PARAMETER.finditer(function[2])}
        calls.append(Call(function[1].strip(), arguments, untyped=True))
    return tuple(calls)


def _trimmed(value: str) -> str:
    return value.removeprefix("\n").removesuffix("\n")


def _mistral(text: str) -> tuple[Call, ...] | None:
    if "[TOOL_CALLS]" not in text:
        return None
    heads = list(_MISTRAL.finditer(text))
    if not heads:
        return _from_list(_loads(text.partition("[TOOL_CALLS]")[2]))
    return tuple(Call(head[1], _object(_first_value(text, head.end())[0])) for head in heads)


def _llama3(text: str) -> tuple[Call, ...] | None:
    tagged = "<|python_tag|>" in text
    rest = text.partition("<|python_tag|>")[2] if tagged else text
    rest = rest.strip()
    if not tagged and not (rest.startswith("{") and '"name"' in rest):
        return None
    calls = []
    position = 0
    while position < len(rest):
        value, position = _first_value(rest, position)
        calls.append(_from_object(value))
        while position < len(rest) and rest[position] in " \t\r\n;,":
            position += 1
    return tuple(calls)


def _json(text: str) -> tuple[Call, ...] | None:
    body = text.strip()
    if body.startswith("```"):
        body = body.partition("\n")[2].rpartition("```")[0].strip()
    if not body.startswith(("[", "{")) or '"name"' not in body:
        return None
    return _from_list(_loads(body))


def _pythonic(text: str) -> tuple[Call, ...] | None:
    body = text.strip()
    if not _PYTHONIC.fullmatch(body):
        return None
    if len(body) > _MAX_PYTHON:
        raise BadCall("the calls are too long")
    try:
        tree = ast.parse(body, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadCall("not Python") from None
    if not isinstance(tree, ast.List):
        raise BadCall("not a list of calls")
    return tuple(_from_node(node) for node in tree.elts)


def _from_node(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call) or node.args or any(k.arg is None for k in node.keywords):
        raise BadCall("not a call with named arguments")
    try:
        arguments = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
        return Call(ast.unparse(node.func), arguments)
    except (ValueError, RecursionError, TypeError, MemoryError):
        raise BadCall("an argument is no literal") from None


def _from_list(value: Any) -> tuple[Call, ...]:
    return tuple(map(_from_object, value if isinstance(value, list) else [value]))


def _from_object(value: Any) -> Call:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]  # OpenAI's form
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise BadCall("a call without a name")
    return Call(value["name"], _object(value.get("arguments", value.get("parameters", {}))))


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        value = _loads(value)
    if not isinstance(value, dict):
        raise BadCall("arguments that are no object")
    return value


def _loads(text: str) -> Any:
    try:
        return json.loads(text.strip(), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise BadCall("not JSON") from None


def _first_value(text: str, position: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(object_pairs_hook=_once).raw_decode(text, position)
    except (ValueError, RecursionError):
        raise BadCall("not JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


_READERS: dict[Form, Callable[[str], tuple[Call, ...] | None]] = {
    "hermes": _hermes,
    "qwen3_coder": _qwen3_coder,
    "mistral": _mistral,
    "llama3": _llama3,
    "pythonic": _pythonic,
    "json": _json,
}
