"""Units of measure and the nouns that follow a number: what may be left out, what converts, what conflicts."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from rewardkit.rewards.math.words import DENIALS, ORDINALS, UNITS

_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "平方": 2, "立方": 3}
_PIECE = re.compile(r"(平方|立方)?([^\W\d_]+|[$€£¥¢°][CF]?)(?:\^?([-−]?\d))?|(/|每)")
_MAX_WORDS = 6


class Unit(NamedTuple):
    """What words after a number mean."""

    dimensions: tuple[tuple[str, int], ...] | None
    """Dimension and power of each known unit; None when the words are only a noun."""
    factor: Fraction
    droppable: bool
    """False when the words say something about the number: `is wrong`, `or more`."""
    folded: str


@lru_cache(maxsize=4096)
def read(words: str) -> Unit:
    """Return the meaning of the words after a number."""
    folded = " ".join(words.replace("\\", " ").split())
    pieces = folded.casefold().replace(".", "").split()
    droppable = len(pieces) <= _MAX_WORDS and not any(p.strip(",()") in DENIALS for p in pieces)
    known = _known(folded)
    if known is None and folded.casefold() not in ORDINALS and pieces and not droppable:
        return Unit(None, Fraction(1), False, folded.casefold())
    dimensions, factor = known if known else (None, Fraction(1))
    return Unit(dimensions, factor, droppable or known is not None, folded.casefold())


def _known(words: str) -> tuple[tuple[tuple[str, int], ...], Fraction] | None:
    """Dimensions and factor if every word is a unit: `cm^2`, `square feet`, `km/h`, `meters per second`."""
    text = words.replace(" per ", " / ").replace("²", "^2").replace("³", "^3")
    dimensions: dict[str, int] = {}
    factor, sign, pending, read_to = Fraction(1), 1, 1, 0
    for found in _PIECE.finditer(text):
        if text[read_to : found.start()].strip(" .^*·()"):
            return None
        read_to = found.end()
        prefix, name, exponent, slash = found.groups()
        if slash:
            sign = -1
            continue
        if name in _POWERS:
            pending = _POWERS[name]
            continue
        unit = UNITS.get(name) or UNITS.get(name.casefold())
        if unit is None:
            return None
        power = sign * (int(exponent) if exponent else 1) * _POWERS.get(prefix or "", 1) * pending
        pending = 1
        dimensions[unit[0]] = dimensions.get(unit[0], 0) + power
        factor *= Fraction(str(unit[1])) ** power
    if not dimensions or text[read_to:].strip(" ."):
        return None
    return tuple(sorted((d, p) for d, p in dimensions.items() if p)), factor
