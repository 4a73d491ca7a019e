"""Pairs of answers with units, made from a seed: the same quantity in two spellings, and near misses.

What is right is told by a table of its own, so that a mistake in the reward's table is seen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

Pair = tuple[str, str]
Factor = tuple[str, int]

DIMENSIONS = ("m", "kg", "s", "A", "K", "mol")
SI = {  # powers of DIMENSIONS
    "m": (1, 0, 0, 0, 0, 0), "g": (0, 1, 0, 0, 0, 0), "s": (0, 0, 1, 0, 0, 0), "A": (0, 0, 0, 1, 0, 0),
    "K": (0, 0, 0, 0, 1, 0), "mol": (0, 0, 0, 0, 0, 1), "Hz": (0, 0, -1, 0, 0, 0), "N": (1, 1, -2, 0, 0, 0),
    "Pa": (-1, 1, -2, 0, 0, 0), "J": (2, 1, -2, 0, 0, 0), "W": (2, 1, -3, 0, 0, 0), "C": (0, 0, 1, 1, 0, 0),
    "V": (2, 1, -3, -1, 0, 0), "F": (-2, -1, 4, 2, 0, 0), "Ω": (2, 1, -3, -2, 0, 0), "Wb": (2, 1, -2, -1, 0, 0),
    "H": (2, 1, -2, -2, 0, 0),
}  # fmt: skip
PREFIX = {"G": 9, "M": 6, "k": 3, "": 0, "c": -2, "m": -3, "µ": -6, "n": -9}
WORDS = {
    "m": "meters", "g": "grams", "s": "seconds", "A": "amperes", "K": "kelvins", "mol": "moles", "Hz": "hertz",
    "N": "newtons", "Pa": "pascals", "J": "joules", "W": "watts", "C": "coulombs", "V": "volts", "F": "farads",
    "Ω": "ohms", "Wb": "webers", "H": "henries",
}  # fmt: skip
PREFIX_WORDS = {
    "G": "giga",
    "M": "mega",
    "k": "kilo",
    "": "",
    "c": "centi",
    "m": "milli",
    "µ": "micro",
    "n": "nano",
}
CUSTOMARY = (
    ("1 mi", "1609.344 m"), ("1 in", "2.54 cm"), ("1 ft", "12 in"), ("1 lb", "453.59237 g"), ("1 L", "0.001 m^3"),
    ("1 atm", "101325 Pa"), ("1 bar", "0.1 MPa"), ("1 eV", "1.602176634e-19 J"), ("1 cal", "4.184 J"),
    ("1 ha", "10000 m^2"), ("1 mph", "1609.344 m/h"), ("1 kWh", "3600000 J"), ("1 gal", "231 in^3"),
    ("1 psi", "1 lbf/in^2"), ("760 Torr", "1 atm"), ("1 day", "24 h"), ("1 h", "60 min"), ("1 erg", "1e-7 J"),
    ("1 acre", "43560 ft^2"), ("1 Å", "0.1 nm"), ("1 qt", "0.25 gal"), ("1 rev", "360^\\circ"), ("180^\\circ", "\\pi rad"),
    ("1 rpm", "6\\text{ deg/s}"),
)  # fmt: skip


def size(factors: list[Factor]) -> tuple[int, tuple[int, ...]]:
    """The power of ten and the dimensions of a product of prefixed SI units."""
    ten = 0
    powers = [0] * len(DIMENSIONS)
    for name, power in factors:
        symbol = _symbol(name)
        ten += power * (
            PREFIX[name.removesuffix(symbol)]
            - 3 * SI[symbol][1]
            + (0 if symbol == "g" else 3 * SI[symbol][1])
        )
        powers = [p + power * q for p, q in zip(powers, SI[symbol], strict=True)]
    return ten, tuple(powers)


def _symbol(name: str) -> str:
    return next(
        s for s in sorted(SI, key=len, reverse=True) if name.endswith(s) and name.removesuffix(s) in PREFIX
    )


def unit(draw: random.Random) -> list[Factor]:
    """A product of one to three units; at least one of them is in the numerator."""
    symbols = draw.sample(sorted(SI), draw.choice((1, 1, 2, 2, 3)))
    powers = [draw.choice((1, 1, 2)), *(draw.choice((1, -1, -1, -2)) for _ in symbols[1:])]
    prefixes = [draw.choice(("", "", "k", "m", "M", "c", "µ", "n", "G")) for _ in symbols]
    return [(p + s, n) for p, s, n in zip(prefixes, symbols, powers, strict=True)]


def spelled(draw: random.Random, factors: list[Factor]) -> str:
    """One of the usual spellings of a unit behind a number, always marked as a unit."""
    over = [(n, p) for n, p in factors if p > 0]
    under = [(n, -p) for n, p in factors if p < 0]
    forms = [
        _in_roman,
        _in_one_font,
        _with_slash if under else _in_roman,
        _as_fraction if under else _in_text,
    ]
    return draw.choice((*forms, _in_text, _in_words))(over, under)


def _power(power: int, braces: bool = True) -> str:
    return "" if power == 1 else f"^{{{power}}}" if braces else f"^{power}"


def _tex(name: str) -> str:
    return name.replace("Ω", "\\Omega ").replace("µ", "\\mu ").strip()


def _in_roman(over: list[Factor], under: list[Factor]) -> str:
    factors = [*over, *((n, -p) for n, p in under)]
    return " " + "\\,".join(f"\\mathrm{{~{_tex(n)}}}{_power(p)}" for n, p in factors)


def _in_one_font(over: list[Factor], under: list[Factor]) -> str:
    factors = [*over, *((n, -p) for n, p in under)]
    return "\\ \\mathrm{" + "\\cdot ".join(_tex(n) + _power(p) for n, p in factors) + "}"


def _with_slash(over: list[Factor], under: list[Factor]) -> str:
    bottom = "·".join(n + _power(p, False) for n, p in under)
    top = "·".join(n + _power(p, False) for n, p in over)
    return f"\\text{{ {top}/{f'({bottom})' if len(under) > 1 else bottom}}}"


def _as_fraction(over: list[Factor], under: list[Factor]) -> str:
    top, bottom = (" ".join(f"\\text{{{n}}}{_power(p)}" for n, p in part) for part in (over, under))
    return f"\\ \\frac{{{top}}}{{{bottom}}}"


def _in_text(over: list[Factor], under: list[Factor]) -> str:
    return "\\text{ " + " ".join(n + _power(p) for n, p in [*over, *((n, -p) for n, p in under)]) + "}"


def _in_words(over: list[Factor], under: list[Factor]) -> str:
    squared = {1: "", 2: " squared", 3: " cubed"}
    top, bottom = (
        [PREFIX_WORDS[n.removesuffix(_symbol(n))] + WORDS[_symbol(n)] + squared[p] for n, p in part]
        for part in (over, under)
    )
    return "\\text{ " + " per ".join([" ".join(top), *bottom]) + "}"


def number(value: Fraction) -> str:
    """A decimal without loss; with a power of ten where it is very large or small."""
    digits = 0
    while value.denominator != 1:
        value *= 10
        digits += 1
    whole = value.numerator
    while whole and whole % 10 == 0 and digits < 400:
        whole //= 10
        digits -= 1
    return str(whole) if digits == 0 else f"{whole} \\times 10^{{{-digits}}}"


def equal_pairs(draw: random.Random, count: int) -> Iterator[Pair]:
    """The same quantity twice: other prefixes, another order, another spelling."""
    for _ in range(count):
        factors = unit(draw)
        other = [(draw.choice(("", "k", "m", "M", "n")) + _symbol(n), p) for n, p in factors]
        draw.shuffle(other)
        value = Fraction(draw.randint(1, 999), draw.choice((1, 1, 10, 100)))
        shift = size(factors)[0] - size(other)[0]
        yield (
            number(value) + spelled(draw, factors),
            number(value * Fraction(10) ** shift) + spelled(draw, other),
        )


def near_misses(draw: random.Random, count: int) -> Iterator[Pair]:
    """The case of a prefix, a power, a power of ten or a unit is another."""
    made = 0
    while made < count:
        factors = unit(draw)
        value = Fraction(draw.randint(1, 999), draw.choice((1, 10)))
        wrong = list(factors)
        place = draw.randrange(len(wrong))
        name, power = wrong[place]
        symbol = _symbol(name)
        prefix = name.removesuffix(symbol)
        kind = draw.choice(("prefix", "power", "unit", "value"))
        if kind == "prefix":
            wrong[place] = (draw.choice([p for p in PREFIX if p != prefix]) + symbol, power)
        elif kind == "power":
            wrong[place] = (name, draw.choice([p for p in (-2, -1, 1, 2, 3) if p != power]))
        elif kind == "unit":
            wrong[place] = (prefix + draw.choice(sorted(SI)), power)
        else:
            value *= draw.choice((Fraction(1, 1000), Fraction(10), Fraction(3600), Fraction(60)))
        if not any(p > 0 for _, p in wrong) or (kind != "value" and size(wrong) == size(factors)):
            continue
        original = value if kind != "value" else Fraction(draw.randint(1, 999))
        if kind == "value" and original == value:
            continue
        made += 1
        yield number(original) + spelled(draw, factors), number(value) + spelled(draw, wrong)
