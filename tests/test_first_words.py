"""First words of docstrings: functions begin with a verb, classes and attributes with a noun (CONTRIBUTING.md)."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("rewardkit", "sandbox", "server", "trainer", "datasets_prep", "benchmarks", "extras")
RELATIVE = ("What", "Whether", "Where", "Which", "How")
"""First words of a relative clause, which is no whole sentence."""
SHARE = 0.01
"""Largest share of docstrings that may begin with a relative clause."""


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each string that stands alone as a statement: all docstrings are such."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value


def test_docstrings_do_not_begin_with_a_relative_clause() -> None:
    found, total = [], 0
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        for line, text in _strings(ast.parse(path.read_text())):
            total += 1
            words = text.split(maxsplit=1)
            if words and words[0].rstrip(",.:;") in RELATIVE:
                found.append(f"{path.relative_to(ROOT)}:{line}: {text.strip().splitlines()[0]}")
    assert total > 2000  # it has looked at the code
    assert len(found) <= SHARE * total, f"{len(found)} of {total} docstrings:\n" + "\n".join(found)
