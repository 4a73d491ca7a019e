"""Converts `assert f(literals) == literal` into a call and its expected value; parses, never runs.

Assertions of any other form run in a second jailed child. All of this is the benchmark's code, not the
model's.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

METHOD = re.compile(r"[A-Za-z_]\w*\(\)\.[A-Za-z_]\w*")
"""Name of a method of a new object: `Solution().name`."""


@dataclass(frozen=True, slots=True)
class CallCase:
    """A test that calls `function(*arguments, **keywords)` and expects `expected`."""

    function: str
    arguments: list[Any]
    expected: Any
    keywords: dict[str, Any] = field(default_factory=dict)
    wrapped: bool = False
    """True if `expected` may be the list that contains the result, as in APPS."""
    strict: bool = False
    """True for Python's equality, because the test was an assertion (`[1] != (1,)`, no tolerance)."""


def from_assert(source: str) -> CallCase | None:
    """Return the case that is equivalent to one assertion, or None for an assertion of another form."""
    try:
        body = ast.parse(source.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _case(body[0], None, "") if len(body) == 1 else None


def with_body(prompt: str) -> str:
    """Add a body to a prompt that ends with the head of a function or class; return others unchanged."""
    head = prompt.rstrip()
    if not head.endswith(":"):
        return prompt
    last = head.rpartition("\n")[2]
    return f"{head}\n{last[: len(last) - len(last.lstrip())]}    pass\n"


def from_check(source: str, entry: str) -> list[CallCase] | None:
    """Return the cases of HumanEval's `check(candidate)` if every statement in it is one."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    checks = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    others = [node for node in module.body if not isinstance(node, ast.FunctionDef | ast.Assign | ast.Import)]
    if len(checks) != 1 or others or len(checks[0].args.args) != 1:
        return None
    parameter = checks[0].args.args[0].arg
    cases = []
    for statement in checks[0].body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        case = _case(statement, parameter, entry)
        if case is None and not _is_true(statement):
            return None
        cases += [case] if case else []
    return cases


def _is_true(statement: ast.stmt) -> bool:
    """Return whether a statement is `assert True, "..."`, of which HumanEval has many."""
    return (
        isinstance(statement, ast.Assert)
        and isinstance(statement.test, ast.Constant)
        and bool(statement.test.value)
    )


def _case(statement: ast.stmt, parameter: str | None, entry: str) -> CallCase | None:
    if not isinstance(statement, ast.Assert):
        return None
    test = statement.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    left = test.left
    right = test.comparators[0]
    if not isinstance(left, ast.Call):
        left, right = right, left
    name = _called(left, parameter, entry)
    if name is None or not isinstance(left, ast.Call):
        return None
    try:
        arguments = [ast.literal_eval(argument) for argument in left.args]
        keywords = {str(k.arg): ast.literal_eval(k.value) for k in left.keywords if k.arg is not None}
        expected = ast.literal_eval(right)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    if len(keywords) < len(left.keywords):  # f(**arguments)
        return None
    return CallCase(name, arguments, expected, keywords, strict=True)


def _called(node: ast.expr, parameter: str | None, entry: str) -> str | None:
    """Return the name of the called function: one of the program's, or `Solution().method`."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name):
        if parameter is None:
            return node.func.id
        return entry if node.func.id == parameter else None
    text = ast.unparse(node.func)
    return text if parameter is None and METHOD.fullmatch(text) else None
