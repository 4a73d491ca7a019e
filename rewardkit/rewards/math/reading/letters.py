"""Decides whether plain letters after a number are a unit, as in `60km`, or variables, as in `2mg-kx`.

The decision depends only on the kinds of the surrounding tokens. The letters are a unit if they and the
number are a whole item; within a formula, they are variables. `units` has the spellings of units.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.rewards.math.reading.words import table

FIGURES = table("num op open close frac sqrt pm const dots")
"""Kinds of tokens that numbers consist of."""
_WITHIN = table("fn degree")
r"""Kinds of tokens that a number may also contain within brackets, as in `\cos(40^\circ)`."""
_BORDERS = table("sep conn rel setop row amp begin end group")
"""Kinds of tokens that delimit an item in a list, a side of a relation or a cell in a matrix."""
_WORDS = table("text letters")
_BEFORE = _BORDERS | _WORDS | {"currency"}
_AFTER = _BORDERS | table("text num")
"""Kinds of tokens that may follow a unit: borders, words, and numbers, as in `5 ft 3 in`."""


def end_an_item(kinds: Sequence[str], place: int) -> bool:
    """Return True if the token at `place` ends an item that otherwise contains only a number."""
    start = _start_of_number(kinds, place)
    if start and kinds[start - 1] in _WORDS and kinds[start] in ("op", "pm"):
        return False  # An example is `5 km + 3 km`.
    while start and kinds[start - 1] == "open":
        start -= 1
    after = place + 1
    while after < len(kinds) and kinds[after] == "close":
        after += 1
    return (not start or kinds[start - 1] in _BEFORE) and (after == len(kinds) or kinds[after] in _AFTER)


def _start_of_number(kinds: Sequence[str], place: int) -> int:
    """Return the index of the first token of the number before `place`, within the same brackets."""
    depth = 0
    start = place
    for index in range(place - 1, -1, -1):
        kind = kinds[index]
        depth += (kind == "close") - (kind == "open")
        called = kind == "fn" and kinds[index + 1] == "open"
        if depth < 0 or not (called or kind in FIGURES or (depth and kind in _WITHIN)):
            break
        if not depth:
            start = index
    return start
