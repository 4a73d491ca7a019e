"""Pairs of lists, choices, residues and percentages, made from a seed: the same twice, and near misses."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

Labelled = tuple[str, str, bool]
"""Ground truth, answer, whether the answer is right."""

_BOUNDS = ("<", ">", "\\le ", "\\ge ", "\\ne ")
_JOINTS = (",", ", ", ";", "; ")


def restrictions(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Lists of bounds and values: whole in another order, or without one of their members."""
    for _ in range(count):
        values = draw.sample(range(-9, 10), draw.randint(2, 4))
        name = draw.choice("xyzt")
        excluded = f"{name}\\ne " + ", ".join(map(str, values))
        shuffled = draw.sample(values, len(values))
        each = draw.choice((", ", " \\text{ and } ")).join(f"{name}\\neq {v}" for v in shuffled)
        yield excluded, each, True
        yield excluded, f"{name}\\ne " + ", ".join(map(str, values[1:])), False
        yield excluded, f"{name}\\ne {values[0]}", False
        bound = f"{name}{draw.choice(_BOUNDS[:4])}{values[0]}"
        mixed = ", ".join((bound, *map(str, values[1:])))
        yield mixed, bound, False
        yield bound, mixed, False
        yield mixed, ", ".join((bound, *map(str, reversed(values[1:])))), True
        others = draw.sample("abcdpq", 2)
        sign = draw.choice(_BOUNDS)
        both = f"{others[0]}, {others[1]} {sign}{values[0]}"
        yield both, f"{others[1]} {sign}{values[0]}, {others[0]} {sign}{values[0]}", True
        yield both, f"{others[draw.randrange(2)]} {sign}{values[0]}", False


def choices(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Letters of choices: all, in other writing, or all but one."""
    for _ in range(count):
        letters = sorted(draw.sample("ABCDEF", draw.randint(2, 5)))
        yield _listed(draw, letters), _listed(draw, draw.sample(letters, len(letters))), True
        dropped = draw.choice(letters) if draw.random() < 0.5 else letters[0]
        yield _listed(draw, letters), _listed(draw, [x for x in letters if x != dropped]), False
        other = draw.choice([x for x in "ABCDEF" if x not in letters])
        yield _listed(draw, letters), _listed(draw, [*letters[1:], other]), False


def _listed(draw: random.Random, letters: list[str]) -> str:
    if len(letters) > 1 and draw.random() < 0.3:
        return ", ".join(letters[:-1]) + " and " + letters[-1]
    return draw.choice((",", ", ", "、")).join(letters)


def residues(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Classes of residues: by another member, another class, or a plain number."""
    for _ in range(count):
        modulus = draw.randint(2, 20)
        value = draw.randrange(modulus)
        mark = draw.choice(
            (f"\\pmod{{{modulus}}}", f"\\pmod {modulus}", f"(\\text{{mod }}{modulus})", f"\\mod {modulus}")
        )
        yield f"{value} {mark}", f"{value + modulus * draw.randint(-3, 3)} \\pmod{{{modulus}}}", True
        yield f"x \\equiv {value} {mark}", f"{value} {mark}", True
        yield f"{value} {mark}", f"{value + draw.randrange(1, modulus)} {mark}", False
        yield f"{value}", f"{value} {mark}", False
        yield f"{value} {mark}", f"{value}", False
        yield f"x={value}", f"x \\equiv {value} {mark}", False


def percentages(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Percentages, the numbers that they are, and the numbers whose sign was left out."""
    for _ in range(count):
        sign = draw.choice(("\\%", "%", " \\%", "\\text{ percent}"))
        part = Fraction(draw.randint(1, 99), 100)
        whole = draw.randint(1, 200)
        yield _decimal(part), f"{_decimal(part)}{sign}", False
        yield f"{_decimal(part)}{sign}", _decimal(part), False
        yield _decimal(part), f"{_decimal(part * 100)}{sign}", True
        yield f"{whole}{sign}", f"{whole}", True
        yield f"{whole}", f"{whole}{sign}", True
        yield f"{whole}{sign}", _decimal(Fraction(whole, 100)), True
        yield f"{_decimal(part)}", f"{_decimal(part * 1000)}{sign}", False
        yield f"{_decimal(part)}", f"{_decimal(part * 100)}", False


def _decimal(value: Fraction) -> str:
    return f"{float(value):.6f}".rstrip("0").rstrip(".")


ALL = (restrictions, choices, residues, percentages)
