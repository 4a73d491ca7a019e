"""The strings under the fields of a dataclass, which say what an option or a setting means."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from textwrap import dedent


def field_docs(of: type) -> dict[str, str]:
    """Return the string under each field of a dataclass and of those it is derived from, as one line each.

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
    except (OSError, TypeError):  # made in a session, or by a program
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
