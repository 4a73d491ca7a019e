"""Units of measure: their table, powers and products of them, and what the words after a number mean.

Reading and comparing both ask here; how two values with units compare is in `comparing/quantities`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from rewardkit.rewards.math.reading.nouns import harmless, table

_UNIT_TABLE = {
    "length": "mm .001 millimeter;cm .01 centimeter 厘米;dm .1 decimeter 分米;m 1 meter metre 米;"
    "km 1000 kilometer kilometre 千米 公里;in .0254 inch inches;ft .3048 foot feet;yd .9144 yard;"
    "mi 1609.344 mile",
    "time": "s 1 sec second 秒;min 60 minute 分钟;h 3600 hr hour 小时;day 86400 天;week 604800 周;"
    "ms .001 millisecond",
    "mass": "mg .000001 milligram;g .001 gram gm 克;kg 1 kilogram kgs 千克 公斤;t 1000 ton tonne 吨;"
    "lb .45359237 lbs pound;oz .028349523125 ounce",
    "volume": "ml .001 milliliter mL 毫升;l 1 liter litre L 升;"
    "gal 3.785411784 gallon;qt .946352946 quart;pint .473176473",
    "year": "year 12 yr 年;month 1 个月",
    "money$": "$ 1 dollar usd 美元 buck;cent .01 ¢",
    "money¥": "¥ 1 yuan rmb 元 cny",
    "money€": "€ 1 euro eur",
    "money£": "£ 1 gbp",
    "°C": "°C 1 celsius;",
    "°F": "°F 1 fahrenheit;",
    "K": "K 1 kelvin;",
    "angle": "rad 1 radian",
}
"""By dimension: in each piece a unit, its factor to the dimension's base unit, and its other names."""
PLAIN_NOUNS = table(
    "unit units way ways time times people person student students point points item items piece pieces "
    "个 种 人 次 只 条 本 件 名 张 页 块 颗 位 棵 头 辆 支 瓶 组 项 步 岁 th st nd rd sq square"
)
ORDINALS = frozenset({"th", "st", "nd", "rd"})
_PHRASE = re.compile(r"[A-Za-z\s'.,()/-]*(?:\^?[23])?")
_COMPOUND = {"mph": "mi / h", "kph": "km / h", "kmh": "km / h", "kmph": "km / h"}
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "平方": 2, "立方": 3}
_PIECE = re.compile(r"(平方|立方)?([^\W\d_]+|[$€£¥¢°][CF]?)(?:\^?([-−]?\d))?|(/|每)")


def _build_units() -> dict[str, tuple[str, float]]:
    units: dict[str, tuple[str, float]] = {}
    for dimension, rows in _UNIT_TABLE.items():
        for row in filter(None, rows.split(";")):
            first, factor, *names = row.split()
            for name in (first, *names):
                units[name] = (dimension, float(factor))
                if len(name) > 2 and name.isascii() and name.isalpha():
                    units[name + "s"] = (dimension, float(factor))
    return units


UNITS = _build_units()
"""By name: dimension, and factor to its base unit."""


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
