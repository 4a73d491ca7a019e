"""Calls that nothing announces: objects of JSON and calls in Python, alone, in a code fence, or within prose.

JSON within prose is a call where it has a name and arguments. Python is one in brackets (`[f(x=1)]`, on lines
of its own), or where the whole response, or a fence, is nothing but calls with named arguments.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from rewardkit.fences import fences
from rewardkit.rewards.structure.ground_truth import in_answer
from rewardkit.rewards.tool_call.calls import (
    UnreadableCall,
    WrittenCall,
    first_value,
    from_list,
    is_call,
    loads,
)

_MAX_PYTHON = 10_000
_MAX_OBJECTS = 256
_OBJECT = re.compile(
    r"(?:\[\s{0,20})?\{\s{0,20}\"(?P<key>name|function|tool_calls|type|id|arguments|parameters"
    r"|tool(?:_name|_input|_arguments)?|function_name|args|input|kwargs)\"\s{0,20}:"
)
_SAYS_LITTLE = frozenset(("type", "id", "tool", "args", "input", "kwargs"))
"""Keys with which other objects begin, too: one that cannot be read need not be a call."""
_CLAUSE = r"(?:(?!,\s(?:so|but|and|let|i|we|now|then|instead|therefore)\b)[^.!?;\n])*$"
_MENTIONED = re.compile(
    r"(?:\b(?:not|never|cannot|without|instead\sof|rather\sthan)|n['’]t)(?:\W*$|\s(?:\w+\s){0,2}?(?:run|call|us|execut"
    rf"|invok|mak|send|issu|emit|writ|output|return|say|try)\w*\b{_CLAUSE})|\bexamples?\b{_CLAUSE}|\be\.g\.{_CLAUSE}",
    re.IGNORECASE,
)
"""What stands before an object in its clause that is an example, or is not to be called."""
_CLAUSE_CHARS = 200
_NOT_JSON = re.compile(r"\{\s{0,20}'name'\s{0,20}:")
_OPENING = re.compile(r"^[ \t]*\[\s{0,20}[A-Za-z_][\w.]{0,200}\(", re.MULTILINE)
_CLOSING = re.compile(r"\)\s{0,20}\](?=[ \t`]*$)", re.MULTILINE)
_CALLS = re.compile(r"[A-Za-z_][\w.]*\s?\(.*\)", re.DOTALL)
_LANGUAGES = ("", "python", "py", "tool_code", "tool_call")
_JSON_NAMES = {"true": True, "false": False, "null": None}


def in_json(text: str) -> tuple[WrittenCall, ...] | None:
    """Return the calls that stand as JSON in a text, None if none does.

    Raises:
        UnreadableCall: there is one that cannot be read.
    """
    body = in_answer(text)
    if body.startswith("{") and '"name"' in body and _is_name_alone(body):
        return from_list(loads(body))
    calls: list[WrittenCall] = []
    position = 0
    for _ in range(_MAX_OBJECTS):
        start = _OBJECT.search(body, position)
        if start is None:
            break
        clause = max(position, start.start() - _CLAUSE_CHARS, body.rfind("\n", 0, start.start()) + 1)
        if _MENTIONED.search(body[clause : start.start()]):
            raise UnreadableCall("a call that is only mentioned")
        try:
            value, position = first_value(body, start.start())
        except UnreadableCall:
            if start["key"] not in _SAYS_LITTLE:
                raise
            position = start.end()
            continue
        calls += from_list(value) if is_call(value) else ()
    if not calls and _NOT_JSON.search(body):
        raise UnreadableCall("not JSON: single quotes")
    return tuple(calls) or None


def _is_name_alone(body: str) -> bool:
    """Whether a text is `{"name": "f"}`, the call of a function without arguments."""
    try:
        value = loads(body)
    except UnreadableCall:
        return False
    return isinstance(value, dict) and value.keys() == {"name"}


def in_python(text: str) -> tuple[WrittenCall, ...] | None:
    """Return the calls that stand as Python in a text, None if none does.

    Raises:
        UnreadableCall: there are some in brackets that cannot be read.
    """
    body = in_answer(text).strip("`\n ") if "```" not in text else text
    opening = _OPENING.search(body)
    closings = [] if opening is None else list(_CLOSING.finditer(body, opening.end() - 1))
    if opening is not None and closings:
        return _read(body[opening.start() : closings[-1].end()].strip())
    pieces = [code.strip() for language, code in fences(text) if language in _LANGUAGES]
    in_fence = bool(pieces)
    calls: list[WrittenCall] = []
    for piece in pieces or [body]:
        if _CALLS.fullmatch(piece):
            try:
                calls += _read(piece)
            except UnreadableCall:
                return None  # a program, not calls of tools
    return None if not calls or (in_fence and not any(call.arguments for call in calls)) else tuple(calls)


def _read(code: str) -> tuple[WrittenCall, ...]:
    if len(code) > _MAX_PYTHON:
        raise UnreadableCall("the calls are too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnreadableCall("not Python") from None
    return tuple(_from_node(node) for statement in body for node in _elements(statement))


def _elements(statement: ast.stmt) -> list[ast.expr]:
    if not isinstance(statement, ast.Expr):
        raise UnreadableCall("not a list of calls")
    value = statement.value
    return value.elts if isinstance(value, ast.List | ast.Tuple) else [value]


def _from_node(node: ast.expr) -> WrittenCall:
    if not isinstance(node, ast.Call) or node.args or any(k.arg is None for k in node.keywords):
        raise UnreadableCall("not a call with named arguments")
    name = _dotted(node.func)
    if len({k.arg for k in node.keywords}) != len(node.keywords):
        raise UnreadableCall("an argument stands twice")
    try:
        return WrittenCall(name, {str(k.arg): _literal(k.value) for k in node.keywords})
    except (ValueError, RecursionError, TypeError, MemoryError):
        raise UnreadableCall("an argument is no literal") from None


def _dotted(node: ast.expr) -> str:
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise UnreadableCall("what is called has no name")
    return ".".join([node.id, *reversed(names)])


def _literal(node: ast.expr) -> Any:
    """A value that is written out, with JSON's names for truth and nothing."""
    if isinstance(node, ast.Name) and node.id in _JSON_NAMES:
        return _JSON_NAMES[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(item) for item in node.elts]
    if not isinstance(node, ast.Dict):
        return ast.literal_eval(node)
    keys = [ast.literal_eval(key) if key is not None else None for key in node.keys]
    if len(set(keys)) != len(keys) or None in keys:
        raise ValueError("a key stands twice")
    return dict(zip(keys, map(_literal, node.values), strict=True))


def literal(text: str) -> Any:
    """Return the value of a text that is a literal of Python.

    Raises:
        UnreadableCall: it is none.
    """
    if len(text) > _MAX_PYTHON:
        raise UnreadableCall("too long")
    try:
        return _literal(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, TypeError, MemoryError):
        raise UnreadableCall("no literal") from None
