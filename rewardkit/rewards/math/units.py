"""Units of measure: their sizes, their spellings, and the meaning of the words after a number.

`unit_table` lists the units, `reading/nouns` lists the counted nouns, and `comparing/quantities` compares two
values with units.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

from rewardkit.rewards.math import unit_table
from rewardkit.rewards.math.reading.nouns import MILLIONS, harmless, table

PLAIN_NOUNS = table(
    "unit units way ways time times people person student students point points item items piece pieces "
    "个 种 人 次 只 条 本 件 名 张 页 块 颗 位 棵 头 辆 支 瓶 组 项 步 岁 th st nd rd sq square"
)
ORDINALS = frozenset({"th", "st", "nd", "rd"})
_PHRASE = re.compile(r"[A-Za-z\s'.,()/-]*(?:\^?[23])?")
_USUAL_POWERS = (0, 3, -2)
"""Powers of ten with prefixes that may be in upper or lower case if the spelling is unambiguous: `KG`."""
_MAX_POWER = 20
_MAX_FACTORS = 12
_MAX_LETTERS = 30
_MAX_DEPTH = 4


class Measure(NamedTuple):
    """Size of a unit: `factor` times pi to the power `pi`, in base units."""

    dimensions: tuple[tuple[str, int], ...] = ()
    """Base units with their nonzero powers, sorted by name."""
    factor: Fraction = Fraction(1)
    pi: int = 0

    def times(self, other: Measure, power: int = 1) -> Measure:
        powers = dict(self.dimensions)
        for name, exponent in other.dimensions:
            powers[name] = powers.get(name, 0) + exponent * power
        kept = tuple(sorted((name, exponent) for name, exponent in powers.items() if exponent))
        return Measure(kept, self.factor * other.factor**power, self.pi + other.pi * power)


class Unit(NamedTuple):
    """Parsed meaning of the words after a number."""

    measure: Measure | None
    """Size of the unit of measure, or None if the words are not a unit of measure."""
    factors: tuple[tuple[str, int], ...]
    """Names and powers of the factors of the unit of measure."""
    droppable: bool
    """False if the words qualify the number: `is wrong`, `or more`."""
    words: str


class Run(NamedTuple):
    """Unit of measure found in a text."""

    end: int
    spelling: str
    """Names of the factors with their powers: `m s^-2`."""
    ends_text: bool
    marked: bool
    """True if a font or a degree sign marks the letters as a unit. Otherwise they may be variables."""
    certain: bool
    r"""False if the letters are just as often variables: `5 J`, `5 \Omega`."""


def run(text: str, start: int) -> Run | None:
    """Return the unit of measure that begins at `start` after a value, or None if no unit begins there.

    A unit in a font must be followed by a relation or the end of the item. `reading/letters` decides whether
    plain letters are a unit or variables.
    """
    reader = _Reader(text, start)
    reader.product("")
    if not reader.complete or (reader.marked and _FOLLOWS.match(text, reader.end) is None):
        return None
    del reader.factors[reader.complete :]
    command = text[start] == "\\"
    spaced = text[start - 1] == " "
    certain = reader.marked or (not command and _is_no_product(reader.factors, spaced=spaced))
    if not (certain or spaced or command):
        return None
    spelling = " ".join(name if power == 1 else f"{name}^{power}" for name, power in reader.factors)
    return Run(reader.end, spelling, not text[reader.end :].strip(" ."), reader.marked, certain)


def _is_no_product(factors: list[tuple[str, int]], *, spaced: bool) -> bool:
    """Return True if plain letters are unlikely to be variables: `60km/h`, `5 kPa`, `5 m/s`."""
    if factors[0][0] in unit_table.EVERYDAY:
        return True
    names = [name for name, _ in factors]
    return spaced and (any(len(name) >= _LONG for name in names) or any(power < 0 for _, power in factors))


@lru_cache(maxsize=4_096)
def read(words: str) -> Unit:
    """Return the meaning of the words after a number."""
    folded = " ".join(words.split())
    reader = _Reader(folded)
    if reader.product("") and reader.end == len(folded.rstrip(" .")):
        measure = reader.measure()
        droppable = folded not in MILLIONS and (bool(measure.dimensions) or measure == Measure())
        return Unit(measure, tuple(reader.factors), droppable, folded)
    folded = " ".join(folded.replace("\\", " ").split())
    return Unit(None, (), _is_noun(folded), folded)


def is_prefix(word: str) -> bool:
    """Return True if a word is the name of a unit prefix, such as `kilo`."""
    return word in _prefixes()[1]


def is_unit(word: str) -> bool:
    """Return True if a word is the name of a unit of measure."""
    return _named(word) is not None


def _is_noun(words: str) -> bool:
    """Return True if words other than known units may be omitted because they do not qualify the number."""
    if words.isascii():
        phrase = len(words) > 1 and _PHRASE.fullmatch(words) is not None
        return words.casefold() in ORDINALS or (phrase and harmless(words))
    return all(word in PLAIN_NOUNS for word in words.split())


# --- names of units ---


@cache
def _symbols() -> dict[str, tuple[str, int]]:
    """Map each symbol, with and without prefix, to the unit's definition and the prefix's power of ten."""
    found: dict[str, tuple[str, int]] = {}
    for symbols, _, unit, prefixed in _rows():
        for symbol in symbols if prefixed else ():
            found |= {prefix + symbol: (unit, power) for prefix, power in _prefixes()[0].items()}
    return found | {symbol: (unit, 0) for symbols, _, unit, _ in _rows() for symbol in symbols}


@cache
def _words() -> dict[str, tuple[str, bool]]:
    """Map each word for a unit to the unit's definition and a flag that is True if prefixes are allowed."""
    return {word: (unit, prefixed) for _, words, unit, prefixed in _rows() for word in words}


@cache
def _folded_symbols() -> dict[str, tuple[str, int] | None]:
    """Map each symbol in lower case to the unit's definition and the prefix's power of ten.

    The value is None if the power is unusual, or if capitals distinguish two units.
    """
    found: dict[str, tuple[str, int] | None] = {}
    for symbol, unit in _symbols().items():
        folded = symbol.casefold()
        found[folded] = unit if found.get(folded, unit) == unit and unit[1] in _USUAL_POWERS else None
    return found


@cache
def _rows() -> tuple[tuple[list[str], list[str], str, bool], ...]:
    """Return the symbols, words and definition of each unit, and a flag that is True if prefixes are allowed.

    The definition of a base unit is `=` followed by its name.
    """
    found = []
    for line in filter(None, unit_table.UNITS.splitlines()):
        symbols, words, definition, prefixed = (part.split() for part in line.split("|"))
        found.append((symbols, words, " ".join(definition) or "=" + (symbols + words)[0], bool(prefixed)))
    return tuple(found)


@cache
def _prefixes() -> tuple[dict[str, int], dict[str, int]]:
    """Return the prefixes' powers of ten by symbol and by word."""
    rows = [row.split() for row in unit_table.PREFIXES.split(";")]
    return {row[0]: int(row[1]) for row in rows}, {word: int(row[1]) for row in rows for word in row[2:]}


@lru_cache(maxsize=4_096)
def _named(name: str) -> Measure | None:
    """Return the measure of a unit with this name, or None.

    The name may be an exact symbol, or a word or unambiguous symbol in upper or lower case.
    """
    found = _symbols().get(name) or _in_words(name.casefold())
    if found is None and len(name) > 1:
        found = _folded_symbols().get(name.casefold())
    return None if found is None else _defined(found[0]).times(Measure((), Fraction(10) ** found[1]))


def _in_words(word: str) -> tuple[str, int] | None:
    """Return the definition and power of ten for a word, such as `kilometers`, or None."""
    for plural in ("", "s", "es"):
        stem = word.removesuffix(plural)
        if not stem or (plural and (not word.endswith(plural) or not stem.isascii())):
            continue
        if (found := _words().get(stem)) is not None:
            return found[0], 0
        for prefix, power in _prefixes()[1].items():
            found = _words().get(stem.removeprefix(prefix)) if stem.startswith(prefix) else None
            if found is not None and found[1]:
                return found[0], power
    return None


@cache
def _defined(definition: str) -> Measure:
    """Return the measure of a definition in `unit_table`.

    A definition is a product of numbers and other units, or `=` followed by the name of a base unit.
    """
    if definition.startswith("="):
        return Measure(((definition[1:], 1),))
    measure = Measure()
    for factor in definition.split():
        name, _, power = factor.partition("^")
        if name[0].isdigit():
            part: Measure | None = Measure((), Fraction(name))
        else:
            part = Measure((), Fraction(1), 1) if name == "π" else _named(name)
        assert part is not None, factor
        measure = measure.times(part, int(power or 1))
    return measure


# --- spellings of units ---

_FONT = r"\\(?:text|mathrm|operatorname)\s*\{\s*"
_LEXEME = re.compile(
    rf"""(?P<space>\s+|\\[,;:!\s])
    |(?P<celsius>(?:\^?\s*(?:\{{\s*\\circ\s*\}}|\\circ|°)|[Dd]egrees?(?![A-Za-z]))
        \s*(?:{_FONT}[CF]\s*\}}|(?:[CF]|[Cc]elsius|[Ff]ahrenheit)(?![A-Za-z])))
    |(?P<ohm>(?:{_FONT}[A-Za-zµ]\s*\}}\s*|[A-Za-zµ]|\\mu\s*)?(?:\\Omega|[Ω\u2126])(?![A-Za-z]))
    |(?P<micro>(?:\\mu(?![A-Za-z])|[µμ])\s*(?:{_FONT}[A-Za-z]+\s*\}}|[A-Za-z]+))
    |(?P<open>{_FONT}|\{{)|(?P<close>\}})|(?P<bracket>\()|(?P<fraction>\\frac(?![A-Za-z]))
    |(?P<times>\\cdot(?![A-Za-z])|\\times(?![A-Za-z])|[*·⋅]|(?<=[A-Za-z]{{2}})-(?=[A-Za-z]{{2}}))
    |(?P<per>/|per(?![A-Za-z]|\s*cent\b)|每)
    |(?P<before>square(?![A-Za-z])|sq\b\.?|cubic(?![A-Za-z])|cu\b\.?|平方|立方)
    |(?P<name>[A-Za-zÅå][A-Za-zåöÅ]*|[$€£¥¢]|(?:(?!平方|立方)[^\x00-\x7f每\W\d_])+)""",
    re.VERBOSE,
)
_POWER = re.compile(
    r"\s*(?:\^\s*(?:\{\s*(?P<braced>[-+−]?\s*\d{1,2})\s*\}|(?P<bare>[-+−]?\d{1,2}))|(?P<word>squared|cubed|[²³])(?![A-Za-z]))"
)
_POWERS = {
    "square": 2, "sq": 2, "cubic": 3, "cu": 3, "平方": 2, "立方": 3, "squared": 2, "cubed": 3, "²": 2, "³": 3,
}  # fmt: skip
_FONTS = re.compile(_FONT + r"|[{}\s^]|\\circ")
_FOLLOWS = re.compile(
    r"\s*(?:\Z|[,;:.)\]}=<>\d]|\\[}\\]|(?:\\(?:text|le|ge|ne|approx|end|cup|cap|to)|and|or)(?![A-Za-z]))"
)
_LONG = 3
"""Minimum length of a name that is unlikely to be a product of variables, in letters."""


def _name(lexeme: re.Match[str]) -> str:
    r"""Return the name of a unit without its fonts: `kΩ` for `\mathrm{k}\Omega`."""
    name = _FONTS.sub("", lexeme.group())
    if lexeme.lastgroup == "celsius":
        return "°" + ("F" if "F" in name or "fahr" in name else "C")
    return name.replace("\\mu", "µ").replace("μ", "µ").replace("\\Omega", "Ω").replace("\u2126", "Ω")


class _Reader:
    """Parser for a product of units at a position in a text."""

    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self.position = start
        self.end = start
        """End of the longest product so far in which all braces are closed."""
        self.factors: list[tuple[str, int]] = []
        self.complete = 0
        """Number of factors before `end`."""
        self.depth = 0
        self.marked = False
        """True if a font shows that the letters are not variables."""

    def measure(self) -> Measure:
        """Return the measure of the product of the factors."""
        measure = Measure()
        for name, power in self.factors:
            part = _named(name)
            assert part is not None
            measure = measure.times(part, power)
        powers = dict(measure.dimensions)
        if len(self.factors) > 1 or self.factors[0][1] != 1:
            # In a product or power, degrees Celsius and Fahrenheit are temperature differences.
            for name, size in (("°C", Fraction(1)), ("°F", Fraction(5, 9))):
                power = powers.get(name, 0)
                measure = measure.times(Measure(((name, 1),)), -power).times(
                    Measure((("K", 1),), size), power
                )
        return measure

    def product(self, closing: str, sign: int = 1) -> bool:
        """Parse factors up to the closing bracket, or as many as possible. Return True on success.

        All factors after a slash are in the denominator: J/mol K is J/(mol K).
        """
        depth = 0
        before = 1
        found = False
        while (lexeme := _LEXEME.match(self.text, self.position)) is not None:
            kind = lexeme.lastgroup
            if kind == "close" and not depth:
                break
            self.position = lexeme.end()
            if kind in ("open", "close"):
                depth += 1 if kind == "open" else -1
                self.marked = self.marked or (kind == "open" and lexeme.group() != "{")
                if kind == "close" and found:
                    self._raise_last()
            elif kind == "per":
                sign = -abs(sign)
            elif kind == "before":
                before = _POWERS[lexeme.group().rstrip(".")]
            elif kind not in ("space", "times"):
                if not self._factor(lexeme, sign * before):
                    return False
                before = 1
                found = True
            if found and not depth and not closing and before == 1 and kind not in ("space", "times", "per"):
                self.end = self.position
                self.complete = len(self.factors)
        return self._closed(closing, found) if closing else found

    def _closed(self, closing: str, found: bool) -> bool:
        if not found or self.text[self.position : self.position + 1] != closing:
            return False
        self.position += 1
        return True

    def _factor(self, lexeme: re.Match[str], power: int) -> bool:
        kind = lexeme.lastgroup
        first = len(self.factors)
        self.depth += 1
        if self.depth > _MAX_DEPTH or first >= _MAX_FACTORS:
            return False
        if kind == "bracket":
            read = self.product(")")
        elif kind == "fraction":
            read = self._group(1) and self._group(-1)
        else:
            name = _name(lexeme)
            self.marked = self.marked or kind == "celsius" or "{" in lexeme.group()
            read = len(name) <= _MAX_LETTERS and _named(name) is not None
            self.factors.append((name, 1))
        self.depth -= 1
        if not read:
            return False
        power *= self._power()
        self.factors[first:] = [(name, inner * power) for name, inner in self.factors[first:]]
        return all(abs(inner) <= _MAX_POWER for _, inner in self.factors)

    def _group(self, sign: int) -> bool:
        """Parse one argument of a fraction and return True on success."""
        while self.text[self.position : self.position + 1] == " ":
            self.position += 1
        if self.text[self.position : self.position + 1] != "{":
            return False
        self.position += 1
        return self.product("}", sign)

    def _power(self) -> int:
        """Parse the power after a unit and return it, or return 1 if there is no power."""
        found = _POWER.match(self.text, self.position)
        if found is None:
            return 1
        self.position = found.end()
        digits = found["braced"] or found["bare"]
        return int(digits.replace("−", "-").replace(" ", "")) if digits else _POWERS[found["word"]]

    def _raise_last(self) -> None:
        r"""Raise the last factor to the power after its font group: `\text{ m/s}^2` is m/s^2."""
        name, power = self.factors[-1]
        self.factors[-1] = (name, power * self._power())
