"""The trainer is to be read in an evening: what that means, in lines."""

from __future__ import annotations

import ast
from pathlib import Path

TRAINER = Path(__file__).resolve().parents[2] / "trainer"
FILES = sorted(TRAINER.rglob("*.py"))


def lines_of_code(path: Path) -> int:
    """Lines that are not blank, comment or docstring."""
    text = path.read_text(encoding="utf-8")
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documentation = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, owners)
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in documentation
        for number, line in enumerate(text.splitlines(), start=1)
    )


def test_the_whole_room_stays_under_4500_lines_of_code() -> None:
    assert sum(map(lines_of_code, FILES)) < 4500


def test_no_file_is_over_500_lines() -> None:
    assert {path.name for path in FILES if len(path.read_text().splitlines()) > 500} == set()


def test_the_main_loop_is_under_150_lines() -> None:
    assert len((TRAINER / "loop.py").read_text().splitlines()) < 150
