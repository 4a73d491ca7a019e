"""Splits tests in Python source into one test per assertion or per pytest function.

The source is parsed and never run. It comes from the benchmark, not from the model.
"""

from __future__ import annotations

import ast


def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of Python source, or None if the source is not valid Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def script_tests(source: str) -> list[tuple[str, str]]:
    """Return each assertion in a script, paired with the statements that precede it.

    A pair contains the statements first and then the assertion. A statement that contains assertions, such as
    a loop, counts as one assertion. Statements after the last assertion are added to that assertion.
    """
    module = parse(source)
    if module is None:
        return [("", source)]  # The test then fails to compile, with a clear message.
    found: list[tuple[str, str]] = []
    before: list[str] = []
    for node in module.body:
        text = ast.unparse(node)
        if _asserts(node):
            found.append(("\n".join(before), text))
            before = []
        else:
            before.append(text)
    if found and before:
        first, last = found[-1]
        found[-1] = (first, "\n".join([last, *before]))
    return found


def _asserts(node: ast.stmt) -> bool:
    """Return True if a statement checks something when it runs. A mere definition checks nothing.

    A call to a function whose name begins like that of a check also counts, even within a loop, as in MBPP+.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(isinstance(inner, ast.Assert) or _calls_a_check(inner) for inner in ast.walk(node))


def _calls_a_check(node: ast.AST) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    name = ast.unparse(node.value.func)
    return name.rpartition(".")[2].startswith(("check", "assert", "test"))


def pytest_tests(source: str) -> list[str] | None:
    """Return a call to `__run_test__` for each pytest function in the source, or None if there are none."""
    module = parse(source)
    if module is None:
        return None
    found: list[str] = []
    helpers = _called_with_arguments(module)
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            if node.name in helpers:
                continue
            found.append(f"__run_test__({node.name})")
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            found += [
                f"__run_test__({node.name}, {inner.name!r})"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name.startswith("test")
            ]
    return found or None


def _called_with_arguments(module: ast.Module) -> set[str]:
    """Return the functions that a script calls with arguments.

    Functions called with arguments are helpers, even if their names look like tests.
    """
    statements = [
        node
        for node in module.body
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    calls = [c for statement in statements for c in ast.walk(statement) if isinstance(c, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name) and call.args}


def _is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any("TestCase" in ast.unparse(base) for base in node.bases)
