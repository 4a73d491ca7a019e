"""Pairs of answers whose notations differ in kind, made from a seed: the same twice, and near misses.

Each maker draws a value, spells it in two of its notations, and spells a neighbour that differs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Labelled = tuple[str, str, bool]
"""Ground truth, answer, whether the answer is right."""
Maker = Callable[[random.Random, int], Iterator[Labelled]]


def residues(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Residue classes: congruences, sets, cosets, brackets, progressions and words."""
    for _ in range(count):
        modulus = draw.randint(3, 40)
        values = draw.sample(range(modulus), min(draw.choice((1, 1, 2, 3)), modulus - 1))
        name = draw.choice("xna")
        yield _classes(draw, name, values, modulus), _classes(draw, name, values, modulus), True
        other = (values[0] + draw.randrange(1, modulus)) % modulus
        for near, size in (([other, *values[1:]], modulus), (values, 2 * modulus), (values[1:], modulus)):
            if near and {v % modulus for v in near} | {size} != {*values, modulus}:
                yield _classes(draw, name, values, modulus), _classes(draw, name, near, size), False


def _classes(draw: random.Random, name: str, values: list[int], modulus: int) -> str:
    several = draw.sample(values, len(values))
    shifted = [value + draw.choice((0, 0, -1, 1)) * modulus for value in several]
    listed, joined = ", ".join(map(str, shifted)), "\\text{ or }".join(map(str, several))
    mark = draw.choice((f"\\pmod{{{modulus}}}", f"\\bmod {modulus}", f"\\ (\\text{{mod }}{modulus})"))
    terms = [f"{modulus}k{value:+d}" for value in shifted]
    cosets = draw.choice(("{0}+{1}\\mathbb{{Z}}", "{1}\\mathbb{{Z}}+{0}", "[{0}]_{{{1}}}"))
    builder = draw.choice(
        (
            "\\{{{1}k+{0} : k\\in\\mathbb{{Z}}\\}}",
            "\\{{n\\in\\mathbb{{Z}} \\mid n\\equiv {0}\\pmod{{{1}}}\\}}",
        )
    )
    return draw.choice(
        (
            f"{name}\\equiv {listed} {mark}",
            f"\\equiv {joined} {mark}",
            f"{name}\\in\\{{{listed}\\}} {mark}",
            f"{name}={', '.join(terms)},\\ k\\in\\mathbb{{Z}}",
            f"{name}\\in " + " \\cup ".join(cosets.format(value, modulus) for value in several),
            " \\cup ".join(builder.format(value, modulus) for value in several),
            f"\\text{{all integers congruent to }}{joined}\\text{{ modulo }}{modulus}",
            f"\\text{{integers }}{name}\\text{{ that leave remainder }}{joined}\\text{{ when divided by }}{modulus}",
        )
    )


def parts(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Answers to the parts of a question: labels in lines, lists, tables and fonts."""
    for _ in range(count):
        values = draw.sample(
            ("3", "-\\frac{2}{5}", "x=4", "(1,5]", "\\text{yes}", "2n+1", "7\\text{ cm}", "\\sqrt{2}"),
            draw.choice((2, 3)),
        )
        labels = draw.choice(("abc", "123", ("i", "ii", "iii"), "ABC"))
        pairs = list(zip(labels, values, strict=False))
        swapped = list(zip(labels, [values[1], values[0], *values[2:]], strict=False))
        truth = _labelled(draw, pairs)
        yield truth, _labelled(draw, draw.sample(pairs, len(pairs))), True
        yield truth, _labelled(draw, draw.sample(swapped, len(pairs))), False
        yield truth, _labelled(draw, [*pairs[:-1], (pairs[-1][0], "11")]), False


def _labelled(draw: random.Random, pairs: list[tuple[str, str]]) -> str:
    item, joint, frame = draw.choice(
        (
            ("({}) {}", ", ", "{}"),
            ("\\text{{({}) }}{}", "\\quad ", "{}"),
            ("(\\text{{{}}})\\ {}", ";\\ ", "{}"),
            ("&\\text{{({}) }}{}", " \\\\ ", "\\begin{{aligned}}{}\\end{{aligned}}"),
            ("({})\\; {}", "\\\\", "\\begin{{gathered}}{}\\end{{gathered}}"),
            ("\\text{{({})}} & {}", "\\\\ ", "\\begin{{array}}{{ll}}{}\\end{{array}}"),
        )
    )
    return frame.format(joint.join(item.format(label, value) for label, value in pairs))


def extremes(draw: random.Random, count: int) -> Iterator[Labelled]:
    """The greatest and the least value, named by commands or words."""
    names = (
        ("\\max={}", "\\min={}"),
        ("\\text{{max}}={}", "\\text{{min}}={}"),
        ("\\text{{Maximum: }}{}", "\\text{{Minimum: }}{}"),
    )
    for _ in range(count):
        values = draw.sample(("7", "-2", "\\frac{1}{3}", "2\\sqrt{5}", "8.5"), 2)
        first, second = draw.choice(names), draw.choice(names)
        truth = ", ".join(name.format(value) for name, value in zip(first, values, strict=True))
        for given, right in ((values, True), (values[::-1], False)):
            items = [name.format(value) for name, value in zip(second, given, strict=True)]
            yield truth, ", ".join(draw.sample(items, 2)), right


def numerals(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Numerals in a base: signs, fractions, names, groups of digits, and bases in words."""
    words = {2: "two", 5: "five", 7: "seven", 8: "eight", 16: "sixteen"}
    for _ in range(count):
        base = draw.choice(tuple(words))
        drawn = [draw.choice("0123456789ABCDEF"[:base]) for _ in range(8)]
        digits, sign, name = "1" + "".join(drawn[1:]), draw.choice(("", "", "-")), draw.choice(("", "", "N="))
        point = draw.choice((None, None, 6))
        changed = digits[:-1] + draw.choice([d for d in "0123456789ABCDEF"[:base] if d != digits[-1]])
        other = draw.choice([b for b in words if b > int(max(digits), 16) and b != base] or [32])
        opposite = "" if sign else "-"
        truth = _numeral(draw, name, sign, digits, point, base, words.get(base, ""))
        yield truth, _numeral(draw, name, sign, digits, point, base, words[base]), True
        for near, mark, size in ((changed, sign, base), (digits, opposite, base), (digits, sign, other)):
            yield truth, _numeral(draw, name, mark, near, point, size, words.get(size, "thirty-two")), False


def _numeral(
    draw: random.Random, name: str, sign: str, digits: str, point: int | None, base: int, word: str
) -> str:
    if point is not None:
        digits = f"{digits[:point]}.{digits[point:]}"
    forms = [
        f"{sign}{digits}_{{{base}}}",
        f"({sign}{digits})_{{{base}}}",
        f"{sign}{digits}\\text{{ (base {base})}}",
        f"{sign}{digits}\\text{{ in base }}{base}",
        f"{sign}{digits}_{{\\text{{{word}}}}}",
    ]
    if point is None:
        forms += [
            f"{sign}{digits[:4]}\\,{digits[4:]}_{{{base}}}",
            f"({sign}{digits[:4]}\\ {digits[4:]})_{{{base}}}",
        ]
    # The digits after a letter, as in `N=1A_{16}`, may be a product of variables.
    return (name if digits.replace(".", "").isdecimal() else "") + draw.choice(forms)


def vectors(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Vectors: tuples, columns, sums of unit vectors in any letters, and components by name."""
    for _ in range(count):
        values = draw.sample([n for n in range(-9, 15) if n], draw.choice((2, 3)))
        name = draw.choice("vFa")
        truth = _vector(draw, name, values, forms=3)
        yield truth, _vector(draw, name, values), True
        nears = (
            [-values[0], *values[1:]],
            [values[1], values[0], *values[2:]],
            [*values[:-1], values[-1] + 20],
        )
        for near in nears:
            yield truth, _vector(draw, name, near), False


def _vector(draw: random.Random, name: str, values: list[int], forms: int = 5) -> str:
    units = draw.choice(
        ("ijk", ("\\hat{x}", "\\hat{y}", "\\hat{z}"), ("\\mathbf{i}", "\\mathbf{j}", "\\mathbf{k}"))
    )
    listed = ", ".join(map(str, values))
    column = "\\\\".join(map(str, values))
    named = [f"{name}_{axis}={value}" for axis, value in zip("xyz", values, strict=False)]
    written = (
        f"({listed})",
        f"\\langle {listed}\\rangle",
        f"\\begin{{pmatrix}}{column}\\end{{pmatrix}}",
        "".join(f"{value:+d}{unit}" for value, unit in zip(values, units, strict=False)).removeprefix("+"),
        ", ".join(draw.sample(named, len(named))),
    )
    form = draw.randrange(forms)
    return written[form] if form == 4 else f"\\vec{{{name}}}={written[form]}"


def lists(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Finite sets of integers: members, dots, conditions and images."""
    for _ in range(count):
        first, step, size = draw.randint(-9, 9), draw.choice((1, 2, 3)), draw.randint(5, 12)
        truth = _listed(draw, first, step, size)
        yield truth, _listed(draw, first, step, size), True
        for near in ((first, step, size + 1), (first + 1, step, size), (first, step + 1, size)):
            yield truth, _listed(draw, *near), False


def _listed(draw: random.Random, first: int, step: int, size: int) -> str:
    values = [first + place * step for place in range(size)]
    shown = draw.choice((2, 3))
    return draw.choice(
        (
            "\\{" + ", ".join(map(str, values)) + "\\}",
            "\\{" + ",".join(map(str, values[:shown])) + f",\\dots,{values[-1]}\\}}",
            f"\\{{{step}k{first:+d} \\mid k=0,1,\\ldots,{size - 1}\\}}",
            f"\\{{{step}k{first:+d} : k\\in\\{{{','.join(map(str, range(size)))}\\}}\\}}",
            f"\\{{{step}k{first:+d} : k\\text{{ is an integer and }}0\\le k<{size}\\}}",
        )
    )


ALL: tuple[Maker, ...] = (residues, parts, extremes, numerals, vectors, lists)
