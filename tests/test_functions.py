"""A function is read at once: nine in ten take less than 22 lines, and none more than 90."""

import ast

from tests.test_words import files

SHORT = 22
LONGEST = 90


def _lengths() -> dict[str, int]:
    """Lines of each of our functions, by file and line, with its docstring and without its decorators."""
    found = {}
    for path in files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                found[f"{path}:{node.lineno} {node.name}"] = node.end_lineno - node.lineno + 1
    return found


def test_functions_are_short() -> None:
    lengths = _lengths()
    assert len(lengths) > 1_000  # it has looked at the code
    assert [name for name, lines in lengths.items() if lines > LONGEST] == []
    assert sum(lines < SHORT for lines in lengths.values()) >= 0.9 * len(lengths)
