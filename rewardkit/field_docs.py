"""Docstrings of dataclass fields: the strings below the fields, which document options and settings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from textwrap import dedent


def field_docs(of: type) -> dict[str, str]:
    """Return the string below each field of a dataclass and its base dataclasses, each as one line.

    Fields without a string, and classes whose source cannot be found, are left out.
    """
    found: dict[str, str] = {}
    for kind in reversed(of.__mro__):
        if is_dataclass(kind):
            found |= _documented(kind)
    return found


@cache
def _documented(kind: type) -> dict[str, str]:
    try:
        source = dedent(inspect.getsource(kind))
    except (OSError, TypeError):  # the class was defined interactively or created at run time
        return {}
    (statement,) = ast.parse(source).body
    return dict(_strings(statement.body)) if isinstance(statement, ast.ClassDef) else {}


def _strings(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, after in pairwise(body):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            yield statement.target.id, " ".join(str(after.value.value).split())
