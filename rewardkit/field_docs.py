"""Docstrings of dataclass fields. The docstring of an option or a setting is the string below its field."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from textwrap import dedent


def field_docs(of: type) -> dict[str, str]:
    """Return the docstring of each field in a dataclass and its base classes, each as one line.

    The result omits fields without a docstring and classes whose source cannot be found.
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
    except (OSError, TypeError):  # the class was created interactively or at run time
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
