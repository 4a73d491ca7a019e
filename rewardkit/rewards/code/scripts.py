"""Takes tests written as Python source apart: one test for each assertion, or for each pytest function.

Parses, never runs. All of this is the benchmark's code, not the model's.
"""

from __future__ import annotations

import ast


def parse(source: str) -> ast.Module | None:
    """Return the tree of a source, or None if it is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def script_tests(source: str) -> list[tuple[str, str]]:
    """Return (the statements before it, the assertion) for each assertion of a script.

    A statement that contains assertions (a loop, say) counts as one. Statements behind the last one belong
    to it.
    """
    module = parse(source)
    if module is None:
        return [("", source)]  # which then fails as it is compiled, and says so
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
    """Whether a statement checks something as it is run; a definition only does when it is called."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = ast.unparse(node.value.func)
        return name.rpartition(".")[2].startswith(("check", "assert", "test"))
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(node))


def pytest_tests(source: str) -> list[str] | None:
    """Return the calls that run each pytest function of a source; None if it has none."""
    module = parse(source)
    if module is None:
        return None
    found: list[str] = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            found.append(f"__run_test__({node.name})")
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            found += [
                f"__run_test__({node.name}, {inner.name!r})"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name.startswith("test")
            ]
    return found or None


def _is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any("TestCase" in ast.unparse(base) for base in node.bases)
