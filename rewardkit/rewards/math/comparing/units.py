"""Units of measure and the nouns that follow a number: what may go, what converts, what conflicts."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from rewardkit.rewards.math.reading.nouns import harmless
from rewardkit.rewards.math.reading.words import ORDINALS, PLAIN_NOUNS, UNITS

_PHRASE = re.compile(r"[A-Za-z\s'.,()/-]*(?:\^?[23])?")
_COMPOUND = {"mph": "mi / h", "kph": "km / h", "kmh": "km / h", "kmph": "km / h"}
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "平方": 2, "立方": 3}
_PIECE = re.compile(r"(平方|立方)?([^\W\d_]+|[$€£¥¢°][CF]?)(?:\^?([-−]?\d))?|(/|每)")


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
    known = _known(folded)
    if known is not None:
        return Unit(*known, True, folded.casefold())
    return Unit(None, Fraction(1), _is_noun(folded), folded.casefold())


def _is_noun(words: str) -> bool:
    """Whether words that are no known unit may be left out, for they say nothing of the number."""
    if words.isascii():
        return words.casefold() in ORDINALS or (_PHRASE.fullmatch(words) is not None and harmless(words))
    return all(word in PLAIN_NOUNS for word in words.split())


def _known(words: str) -> tuple[tuple[tuple[str, int], ...], Fraction] | None:
    """Dimensions and factor if every word is a unit: `cm^2`, `square feet`, `km/h`, `meters per second`."""
    text = (
        _COMPOUND.get(words.casefold(), words).replace(" per ", " / ").replace("²", "^2").replace("³", "^3")
    )
    dimensions: dict[str, int] = {}
    factor = Fraction(1)
    sign = 1
    pending = 1
    read_to = 0
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
        unit = UNITS.get(name) or (UNITS.get(name.casefold()) if len(name) > 1 else None)
        if unit is None:
            return None
        power = sign * (int(exponent) if exponent else 1) * _POWERS.get(prefix or "", 1) * pending
        pending = 1
        dimension, times, size = _measured(*unit)
        dimensions[dimension] = dimensions.get(dimension, 0) + times * power
        factor *= size**power
    if not dimensions or text[read_to:].strip(" ."):
        return None
    return tuple(sorted((d, p) for d, p in dimensions.items() if p)), factor


def _measured(dimension: str, size: float) -> tuple[str, int, Fraction]:
    """A unit's dimension, its power, and the size in base units: a litre is a thousandth of a cubic metre."""
    exact = Fraction(str(size))
    return ("length", 3, exact / 1000) if dimension == "volume" else (dimension, 1, exact)
