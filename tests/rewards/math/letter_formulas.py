"""Formulas over letters that spell units, `\\frac{2mg}{3}`, from a seed: the same one rewritten, and others.

A formula is a list of terms, a term a fraction of coefficients and letters with their powers, so that what two
texts say is known without reading them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

NAMES = (
    "mg", "kg", "km", "cm", "mm", "ml", "mL", "gm", "dm", "ft", "hr", "yd", "oz", "lb", "ms", "mol", "kPa", "cal", "rad",
    "gal", "cd",
)  # fmt: skip
"""Runs of letters that spell a unit."""
OTHERS = "xyvtFqr"


class Term(NamedTuple):
    """A product of a number, a run of letters and further letters over others."""

    factor: Fraction
    run: str
    over: str = ""
    under: str = ""
    function: str = ""

    @property
    def value(self) -> tuple[object, ...]:
        letters = sorted((letter, 1) for letter in self.run + self.over)
        return (*letters, *sorted((letter, -1) for letter in self.under), self.function)


def term(draw: random.Random) -> Term:
    factor = Fraction(draw.randint(2, 12), draw.choice((1, 1, 2, 3, 5)))
    run = draw.choice(NAMES)
    over = "".join(draw.sample(OTHERS, min(draw.choice((0, 0, 1)), 3 - len(run))))  # four letters are a word
    under = "".join(draw.sample("abwz", draw.choice((0, 0, 1))))
    return Term(factor, run, over, under, draw.choice(("", "", "", "\\sin", "\\cos")))


def formula(draw: random.Random) -> list[Term]:
    """One to three terms of different letters; alone, a term is more than a number and a run."""
    terms = [term(draw) for _ in range(draw.choice((1, 2, 2, 3)))]
    first = terms[0]
    if len(terms) == 1 and not first.under + first.function and first.factor.denominator == 1:
        terms[0] = first._replace(under="b")
    return list({found.value: found for found in terms}.values())


def spelled(draw: random.Random, terms: list[Term]) -> str:
    """One of the ways of writing a sum."""
    text = ""
    for place, found in enumerate(draw.sample(terms, len(terms))):
        sign = "-" if found.factor < 0 else "+" if place else ""
        text += f"{draw.choice(('', ' ')) if place else ''}{sign}{_spelled(draw, found)}"
    return text


def _spelled(draw: random.Random, found: Term) -> str:
    top, bottom = str(abs(found.factor.numerator)), found.factor.denominator
    number = top if bottom == 1 else f"\\frac{{{top}}}{{{bottom}}}"
    letters = draw.choice((found.run, _shuffled(draw, found.run))) + found.over
    function = f"{found.function}\\theta" if found.function else ""
    space = draw.choice(("", "", " "))
    whole = f"{number}{space}{letters}"
    under = "".join(found.under)
    if found.under:
        whole = draw.choice(
            (f"\\frac{{{whole}}}{{{under}}}", f"{whole}/{under}", f"{number}\\frac{{{letters}}}{{{under}}}")
        )
    elif bottom != 1:
        whole = draw.choice(
            (
                whole,
                f"\\frac{{{top}{space}{letters}}}{{{bottom}}}",
                f"\\frac{{{letters}\\cdot {top}}}{{{bottom}}}",
            )
        )
    elif draw.random() < 0.3:
        whole = f"{letters}\\cdot {number}"
    return f"{whole}{draw.choice(('', ' '))}{function}" if function else whole


def _shuffled(draw: random.Random, text: str) -> str:
    return "".join(draw.sample(text, len(text)))


def equal_pairs(draw: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """The same formula twice."""
    for _ in range(count):
        terms = formula(draw)
        yield spelled(draw, terms), spelled(draw, terms)


def near_misses(draw: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """A formula and one of which a term has another coefficient, sign, letter or function, or is missing."""
    for _ in range(count):
        terms = formula(draw)
        place = draw.randrange(len(terms))
        found = terms[place]
        changed = [
            found._replace(factor=found.factor + draw.randint(1, 5)),
            found._replace(factor=-found.factor),
            found._replace(over=found.over + "u"),
            found._replace(run=found.run + "n"),
            found._replace(function="\\tan"),
            found._replace(factor=found.factor / 7),
        ]
        wrong = [*terms[:place], draw.choice(changed), *terms[place + 1 :]]
        yield spelled(draw, terms), spelled(draw, wrong)
