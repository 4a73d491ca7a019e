"""Pairs of families that an integer counts, made from a seed: shifted, reversed, split or renamed, and others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

Labelled = tuple[str, str, bool]
"""Ground truth, answer, whether the answer is right."""

Classes = list[tuple[Fraction, Fraction]]
"""Value and period of each class, in multiples of pi, degrees or ones."""

_DECLARED = (
    *(
        ", {0} \\in \\mathbb{{Z}}",
        ",\\ {0}\\in\\mathbb{{Z}}",
        " \\quad ({0} \\in \\mathbb{{Z}})",
        ", {0} \\in \\mathbb Z",
    ),
    *(
        "\\text{{ where }}{0}\\text{{ is an integer}}",
        ", \\text{{ where }} {0} \\in \\mathbb{{Z}}",
        " for any integer {0}",
    ),
)


def angles(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Solutions in multiples of pi and in degrees."""
    yield from _families(draw, count, [_in_pi, _in_degrees])


def residues(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Integers of some residues, as formulas, sets and congruences."""
    yield from _families(draw, count, [_in_ones])


def _families(draw: random.Random, count: int, units: list[object]) -> Iterator[Labelled]:
    for _ in range(count):
        whole = _in_ones in units
        period = (
            Fraction(draw.choice((2, 3, 4, 5, 6, 7, 12)))
            if whole
            else draw.choice((Fraction(1), Fraction(2), Fraction(2, 3), Fraction(1, 2)))
        )
        step = Fraction(1) if whole else Fraction(1, draw.choice((3, 4, 6, 5)))
        places = [step * k for k in range(int(period / step))]
        values = draw.sample(places, min(len(places), draw.randint(1, 2)))
        classes = [(value, period) for value in values]
        name = draw.choice(("", "x = ", "\\theta = ")) if not whole else draw.choice(("", "x = ", "n = "))
        gold = _written(draw, classes, name, draw.choice(units))
        yield (
            gold,
            _written(draw, _rewritten(draw, classes), draw.choice(("", name)), draw.choice(units)),
            True,
        )
        others = [place for place in places if place not in values]
        if others:
            wrong = [(draw.choice(others), period), *classes[1:]]
            yield gold, _written(draw, _rewritten(draw, wrong), name, draw.choice(units)), False
        wrong = [(value, 2 * period) for value in values]
        yield gold, _written(draw, _rewritten(draw, wrong), name, draw.choice(units)), False
        if len(classes) > 1 and not _same(classes, classes[:1]):
            yield gold, _written(draw, _rewritten(draw, classes[:1]), name, draw.choice(units)), False
        if name == "x = ":
            yield gold, _written(draw, classes, "y = ", draw.choice(units)), False


def _same(a: Classes, b: Classes) -> bool:
    period = max(p for _, p in (*a, *b)) * 60

    def members(side: Classes) -> set[Fraction]:
        return {(v + k * p) % period for v, p in side for k in range(int(period / p))}

    return members(a) == members(b)


def _rewritten(draw: random.Random, classes: Classes) -> Classes:
    """The same family: classes begun elsewhere, counted down, split in two or three, in another order."""
    found: Classes = []
    for value, period in classes:
        parts = draw.choice((1, 1, 2, 3))
        for part in range(parts):
            sign = draw.choice((1, 1, -1))
            start = value + period * part + parts * period * draw.randint(-2, 2)
            found.append((start, sign * parts * period))
    draw.shuffle(found)
    return found


def _written(draw: random.Random, classes: Classes, name: str, write: object) -> str:
    assert callable(write)
    if write is _in_ones and draw.random() < 0.4 and len({abs(p) for _, p in classes}) == 1:
        values = ", ".join(str(v) for v, _ in classes)
        modulus = f"\\pmod{{{abs(classes[0][1])}}}"
        if name or draw.random() < 0.5:
            subject = name.replace("=", "\\equiv")
            return f"{subject}{values} {modulus}"
    letter = draw.choice("kmn" if not name.startswith("n") else "km")
    terms = [name + write(draw, value, period, letter) for value, period in classes]
    joint = draw.choice((", ", " \\text{ or } ", " or "))
    if write is _in_ones and not name and draw.random() < 0.3 and len(terms) == 1:
        return "\\{" + terms[0] + " : " + letter + " \\in \\mathbb{Z}\\}"
    return joint.join(terms) + draw.choice(_DECLARED).format(letter)


def _fraction(value: Fraction, unit: str) -> str:
    sign = "-" if value < 0 else ""
    top, bottom = abs(value.numerator), value.denominator
    if bottom == 1:
        return f"{sign}{top if top != 1 or not unit else ''}{unit}"
    return f"{sign}\\frac{{{top if top != 1 or not unit else ''}{unit}}}{{{bottom}}}"


def _in_pi(draw: random.Random, value: Fraction, period: Fraction, letter: str) -> str:
    multiple = _fraction(period, f"{letter}\\pi")
    if draw.random() < 0.4:
        multiple = _fraction(period, "\\pi") + f" {letter}"
    return _sum(draw, _fraction(value, "\\pi") if value else "", multiple)


def _in_degrees(draw: random.Random, value: Fraction, period: Fraction, letter: str) -> str:
    return _sum(draw, f"{value * 180}^\\circ" if value else "", f"{period * 180}^\\circ {letter}")


def _in_ones(draw: random.Random, value: Fraction, period: Fraction, letter: str) -> str:
    return _sum(draw, str(value) if value else "", _fraction(period, letter))


def _sum(draw: random.Random, first: str, second: str) -> str:
    if not first:
        return second
    if draw.random() < 0.5:
        first, second = second, first
    return f"{first} {second.replace('-', '- ', 1)}" if second.startswith("-") else f"{first} + {second}"


ALL = (angles, residues)
