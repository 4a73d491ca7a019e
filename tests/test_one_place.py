"""Each fact that several rooms need stands in one file: no other file lists the same names again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rewardkit.http_retry import RETRIED
from rewardkit.rewards.math.functions import FUNCTIONS
from rewardkit.rows import MEDIA
from rewardkit.types import SCORE_FIELDS, STATUSES

ROOT = Path(__file__).parents[1]
ROOMS = ("rewardkit", "sandbox", "datasets_prep", "server", "trainer", "extras")
JSON_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


class Fact(NamedTuple):
    """A set of names and the file in which they stand."""

    home: str
    names: frozenset[str] | frozenset[int]
    least: int
    """Number of these names that make a list a copy."""
    room: str = ""
    """Folder that is searched, if other rooms use the same names for other things."""


FACTS = {
    "fields of a score": Fact("rewardkit/types.py", frozenset(SCORE_FIELDS), 5),
    "statuses of a score": Fact("rewardkit/types.py", frozenset(STATUSES), 4),
    "HTTP statuses worth another try": Fact("rewardkit/http_retry.py", RETRIED, 3),
    "columns of media": Fact("rewardkit/rows.py", frozenset(MEDIA), 2),
    "types of JSON": Fact("rewardkit/agents/tools/arguments.py", JSON_TYPES, 4),
    "functions of the maths reward": Fact(
        "rewardkit/rewards/math/functions.py", frozenset(FUNCTIONS), 8, room="rewardkit/rewards/math"
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_stands_in_one_file(name: str) -> None:
    fact = FACTS[name]
    read = {path: (ROOT / path).read_text() for path in _files(fact.room)}
    assert fact.home in read
    found = [f"{path}:{line}" for path, text in read.items() for line in _copies(fact, text)]
    assert [place for place in found if not place.startswith(f"{fact.home}:")] == []


@pytest.mark.parametrize(
    "copy",
    [
        "FIELDS = ('score', 'status', 'correct', 'extracted', 'parts', 'detail')",
        "TYPES = {'score': float, 'status': str, 'correct': bool, 'extracted': str, 'detail': str}",
        "FIELDS = 'score status correct extracted detail'.split()",
    ],
)
def test_a_second_list_is_found(copy: str) -> None:
    assert _copies(FACTS["fields of a score"], copy) == [1]


def test_computing_a_value_for_each_name_is_no_second_list() -> None:
    row = "row = {'score': f(1), 'status': f(2), 'correct': f(3), 'extracted': f(4), 'detail': f(5)}"
    assert _copies(FACTS["fields of a score"], row) == []


def _files(room: str) -> Iterator[str]:
    for folder in (room,) if room else ROOMS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.resolve() == path:  # the library links to the other rooms
                yield str(path.relative_to(ROOT))


def _copies(fact: Fact, source: str) -> list[int]:
    """Return the lines on which a literal has at least `fact.least` names of a fact."""
    literals = _literals(ast.parse(source))
    return [line for line, constants in literals if len(fact.names.intersection(constants)) >= fact.least]


def _literals(tree: ast.AST) -> Iterator[tuple[int, list[object]]]:
    """Yield the line and the constants of each collection, pattern of alternatives and split text."""
    for node in ast.walk(tree):
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                yield node.lineno, [item.value for item in items if isinstance(item, ast.Constant)]
            case ast.Dict(keys=keys, values=values) if not any(isinstance(v, ast.Call) for v in values):
                yield node.lineno, [key.value for key in keys if isinstance(key, ast.Constant)]
            case ast.MatchOr(patterns=patterns):
                values = [one.value for one in patterns if isinstance(one, ast.MatchValue)]
                yield node.lineno, [value.value for value in values if isinstance(value, ast.Constant)]
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split")):
                yield node.lineno, list(text.split())
