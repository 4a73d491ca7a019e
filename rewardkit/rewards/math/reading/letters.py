"""Decides whether plain letters that spell a unit after a number are one: `60km`, but not `2mg-kx`.

The rule uses only the kinds of the surrounding tokens: the letters are a unit if they and a number make a
whole item, and variables within a formula. `units` has the spellings of units.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.rewards.math.reading.words import table

FIGURES = table("num op open close frac sqrt pm const dots")
"""Kinds of tokens of which numbers consist."""
_WITHIN = table("fn degree")
r"""Kinds of tokens also allowed within brackets: `\cos(40^\circ)`."""
_BORDERS = table("sep conn rel setop row amp begin end group")
"""Kinds of tokens around an item of a list, a side of a relation or a cell of a matrix."""
_WORDS = table("text letters")
_BEFORE = _BORDERS | _WORDS | {"currency"}
_AFTER = _BORDERS | table("text num")
"""Kinds of tokens that may follow: also words, and the next number of `5 ft 3 in`."""


def end_an_item(kinds: Sequence[str], place: int) -> bool:
    """Return whether the token at `place` ends an item that otherwise contains only a number."""
    start = _start_of_number(kinds, place)
    if start and kinds[start - 1] in _WORDS and kinds[start] in ("op", "pm"):
        return False  # 5 km + 3 km
    while start and kinds[start - 1] == "open":
        start -= 1
    after = place + 1
    while after < len(kinds) and kinds[after] == "close":
        after += 1
    return (not start or kinds[start - 1] in _BEFORE) and (after == len(kinds) or kinds[after] in _AFTER)


def _start_of_number(kinds: Sequence[str], place: int) -> int:
    """Return the index of the first token of the number that ends before `place`, within its brackets."""
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
