"""Format `pythonic` for Llama 4 and 3.2: calls in Python syntax, such as `[f(x=1), g(y="a")]`.

Calls must be on separate lines from other text. The brackets are optional if the whole text, or a code fence,
consists only of calls with named arguments. Nothing is evaluated. Literals are read from the syntax tree.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from rewardkit.fences import fences
from rewardkit.tool_calls.call import Call, UnreadableCall, by_name, checked, failed, said_before

MARKS = re.compile(r"<\|python_(?:start|end)\|>")
"""Pattern for the special tokens around calls by Llama 4."""
_MAX_CHARS = 10_000
_OPENING = re.compile(r"^[ \t]*\[\s{0,20}[A-Za-z_][\w.]{0,200}\(", re.MULTILINE)
_CLOSING = re.compile(r"\)\s{0,20}\](?=[ \t`]*$)", re.MULTILINE)
_CALLS = re.compile(r"[A-Za-z_][\w.]*\s?\(.*\)", re.DOTALL)
_LANGUAGES = ("", "python", "py", "tool_code", "tool_call")
_JSON_NAMES = {"true": True, "false": False, "null": None}


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text before the calls and the parsed calls."""
    text = MARKS.sub("", text)
    body = _in_answer(text)
    body = body.strip("`\n ") if "```" not in text else body
    opening = _OPENING.search(body)
    closings = [] if opening is None else list(_CLOSING.finditer(body, opening.end() - 1))
    if opening is not None and closings:
        start = opening.start()
        try:
            calls = _calls(body[start : closings[-1].end()].strip())
        except UnreadableCall as error:
            calls = [failed(str(error))]
        return said_before(body, start), calls
    if opening is not None and not body[: opening.start()].strip() and ")]" not in body:
        return "", [failed("the call is not finished: )] is missing")]
    calls = _without_brackets(text, body)
    before, fence, _ = text.partition("```")
    return (before if fence else "").strip() if calls else text.strip(), calls


def literal(text: str) -> Any:
    """Return the value of a Python literal that can be represented in JSON.

    Raises:
        UnreadableCall: The text is not a literal that can be represented in JSON.
    """
    return _literal(_parsed(text.strip(), "eval").body)


def in_parentheses(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and named arguments in the parentheses of a call, such as `"a", x=1`.

    Raises:
        UnreadableCall: An argument is not a literal.
    """
    node = _parsed(f"f({text})", "eval").body
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        raise UnreadableCall("the parentheses contain more than arguments")
    return [_literal(one) for one in node.args], _named(node)


def _in_answer(text: str) -> str:
    """Return the content of the `<answer>` element at the end of a text, or else the whole text."""
    inside = text.rstrip().removesuffix("</answer>").rpartition("<answer>")
    return inside[2] if inside[1] and text.rstrip().endswith("</answer>") else text


def _without_brackets(text: str, body: str) -> list[Call]:
    pieces = [code.strip() for language, code in fences(text) if language in _LANGUAGES]
    calls: list[Call] = []
    for piece in pieces or [body]:
        if _CALLS.fullmatch(piece):
            try:
                calls += _calls(piece)
            except UnreadableCall:
                return []  # the text is a program, not tool calls
    return [] if pieces and not any(call.arguments for call in calls) else calls


def _calls(code: str) -> list[Call]:
    return [_call(node) for statement in _parsed(code, "exec").body for node in _elements(statement)]


def _parsed(code: str, mode: str) -> Any:
    if len(code) > _MAX_CHARS:
        raise UnreadableCall("the calls are too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnreadableCall("the call is not Python") from None


def _elements(statement: ast.stmt) -> list[ast.expr]:
    if not isinstance(statement, ast.Expr):
        raise UnreadableCall("expected a list of calls")
    value = statement.value
    return value.elts if isinstance(value, ast.List | ast.Tuple) else [value]


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call) or node.args:
        raise UnreadableCall("a call must have named arguments only: f(x=1)")
    return checked(_dotted(node.func), _named(node))


def _named(node: ast.Call) -> dict[str, Any]:
    return by_name([(_keyword(one), _literal(one.value)) for one in node.keywords])


def _keyword(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise UnreadableCall("** arguments are not supported")
    return keyword.arg


def _dotted(node: ast.expr) -> str:
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise UnreadableCall("the function that is called has no name")
    return ".".join([node.id, *reversed(names)])


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal. `true`, `false` and `null` are accepted as in JSON."""
    if isinstance(node, ast.Name) and node.id in _JSON_NAMES:
        return _JSON_NAMES[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _literal(node.operand)
        if isinstance(value, int | float) and not isinstance(value, bool | None):
            return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return by_name(
            [(_key(key), _literal(value)) for key, value in zip(node.keys, node.values, strict=True)]
        )
    raise UnreadableCall("an argument is not a literal")


def _key(node: ast.expr | None) -> str:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        raise UnreadableCall("a key is not a string")
    return node.value
