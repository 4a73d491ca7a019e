"""Whether letters without a font that spell a unit behind a number are one: `60km`, but not `2mg-kx`.

The rule is of structure, over the kinds of the tokens around: they are a unit where they and a number are a
whole item, and variables within a formula. Which letters spell a unit is in `units`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.rewards.math.reading.words import table

FIGURES = table("num op open close frac sqrt pm const dots")
"""What a number is written with."""
_WITHIN = table("fn degree")
"""Within brackets also with these: `\\cos(40^\\circ)`."""
_BORDERS = table("sep conn rel setop row amp begin end group")
"""What an item of a list, a side of a relation or a cell of a matrix stands between."""
_WORDS = table("text letters")
_BEFORE = _BORDERS | _WORDS | {"currency"}
_AFTER = _BORDERS | table("text num")
"""Words, and the next number of `5 ft 3 in`, may follow."""


def end_an_item(kinds: Sequence[str], place: int) -> bool:
    """Return whether the token at `place` ends an item that holds a number besides, and nothing else."""
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
    """The index of the first token of what is written in figures up to `place`, within its brackets."""
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
