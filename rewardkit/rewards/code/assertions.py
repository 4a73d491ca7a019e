"""Converts `assert f(literals) == literal` to a call and its expected value, without running any code.

Assertions of any other form run in a second jailed process. The assertions come from the benchmark, not from
the model.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

METHOD = re.compile(r"[A-Za-z_]\w*\(\)\.[A-Za-z_]\w*")
"""Pattern for a method of a new object, as in `Solution().name`."""


@dataclass(frozen=True, slots=True)
class CallCase:
    """A test that calls `function(*arguments, **keywords)` and expects `expected`."""

    function: str
    arguments: list[Any]
    expected: Any
    keywords: dict[str, Any] = field(default_factory=dict)
    wrapped: bool = False
    """True if `expected` may be a list that wraps the result, as in APPS."""
    strict: bool = False
    """True to compare with Python's `==`, as an assertion does, so that `[1] != (1,)` and floats have no
    tolerance."""


def from_assert(source: str) -> CallCase | None:
    """Return the test case that is equivalent to one assertion, or None if the assertion has another form."""
    try:
        body = ast.parse(source.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _case(body[0], None, "") if len(body) == 1 else None


def with_body(prompt: str) -> str:
    """Return a prompt, with a body added if the prompt ends with the header of a function or class."""
    head = prompt.rstrip()
    if not head.endswith(":"):
        return prompt
    last = head.rpartition("\n")[2]
    return f"{head}\n{last[: len(last) - len(last.lstrip())]}    pass\n"


def from_check(source: str, entry: str) -> list[CallCase] | None:
    """Return the cases in HumanEval's `check(candidate)`, or None if the function contains any other
    statement."""
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
            continue  # The statement is a docstring.
        case = _case(statement, parameter, entry)
        if case is None and not _is_true(statement):
            return None
        cases += [case] if case else []
    return cases


def _is_true(statement: ast.stmt) -> bool:
    """Return True if a statement is `assert True, "..."`, which is common in HumanEval."""
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
    if len(keywords) < len(left.keywords):  # The call unpacks arguments, like f(**arguments).
        return None
    return CallCase(name, arguments, expected, keywords, strict=True)


def _called(node: ast.expr, parameter: str | None, entry: str) -> str | None:
    """Return the name of the program's function or method (`Solution().method`) that is called, or None."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name):
        if parameter is None:
            return node.func.id
        return entry if node.func.id == parameter else None
    text = ast.unparse(node.func)
    return text if parameter is None and METHOD.fullmatch(text) else None
