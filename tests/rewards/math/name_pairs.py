"""Pairs of named values and of answers to parts, made from a seed: in any order, and with two values swapped."""

from __future__ import annotations

import random
from collections.abc import Iterator

Labelled = tuple[str, str, bool]
"""Ground truth, answer, whether the answer is right."""

_NAMES = (
    *("x", "y", "z", "a", "b", "c", "m", "n", "x_1", "t_{12}", "\\alpha", "\\theta", "\\lambda", "AB", "BC"),
    *("f(0)", "f(1)", "g(2)", "\\angle A", "\\angle B", "\\text{Area}", "\\text{Perimeter}", "|AC|", "S_n", "P'"),
)  # fmt: skip
_TUPLE_NAMES = ("x", "y", "z", "a", "b", "c", "m", "n", "x_1", "y_1", "\\alpha", "\\beta")
_VALUES = (
    *("1", "2", "3", "-4", "7", "\\frac{1}{2}", "-\\frac{3}{5}", "\\sqrt{2}", "2\\sqrt{3}", "\\pi", "0", "\\ln 2"),
    *("1+\\sqrt{5}", "100", "2^{10}", "12.5"),
)  # fmt: skip
_SEPARATORS = (
    ", ",
    ",",
    "; ",
    ";",
    " \\text{ and } ",
    ",\\ ",
    ", \\quad ",
    " and ",
    "，",
    "\\quad ",
    "\\\\ ",
)
_EQUALS = ("=", " = ", "&=")


def named(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Lists of named values: in another order, with two of the values swapped, without names."""
    for _ in range(count):
        names = draw.sample(_NAMES, draw.randint(2, 4))
        values = draw.sample(_VALUES, len(names))
        truth = list(zip(names, values, strict=True))
        wrong = list(zip(names, _moved(draw, values), strict=True))
        gold = _list(draw, truth)
        yield gold, _list(draw, draw.sample(truth, len(truth))), True
        yield gold, _list(draw, draw.sample(wrong, len(wrong))), False
        yield gold, ", ".join(values), True
        yield gold, ", ".join(_moved(draw, values)), False
        yield gold, _list(draw, truth[1:]), False


def tuples(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Tuples of named values, one or several of them, beside lists of the same."""
    for _ in range(count):
        names = draw.sample(_TUPLE_NAMES, draw.randint(2, 4))
        values = draw.sample(_VALUES, len(names))
        truth = list(zip(names, values, strict=True))
        wrong = list(zip(names, _moved(draw, values), strict=True))
        gold = draw.choice((_tuple, _list))(draw, truth)
        for write in (_tuple, _list):
            yield gold, write(draw, draw.sample(truth, len(truth))), True
            yield gold, write(draw, draw.sample(wrong, len(wrong))), False
        yield gold, f"({','.join(values)})", True
        yield gold, f"({','.join(_moved(draw, values))})", False
        more = draw.sample(_VALUES, len(names))
        if more == values:
            continue
        second = list(zip(names, more, strict=True))
        both = draw.choice((", ", " or ", " \\text{ or } ")).join(
            _tuple(draw, one) for one in (truth, second)
        )
        shuffled = (_tuple(draw, draw.sample(one, len(one))) for one in (second, truth))
        yield both, ", ".join(shuffled), True
        yield both, f"({','.join(more)}), ({','.join(values)})", True
        crossed = [(name, value) for (name, _), value in zip(second, _moved(draw, more), strict=True)]
        yield both, f"{_tuple(draw, truth)}, {_tuple(draw, draw.sample(crossed, len(crossed)))}", False


def parts(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Answers to the parts of a question: labels of any kind, in any order, with two answers swapped."""
    for _ in range(count):
        contents = draw.sample(
            (*_VALUES, "x=5", "x>2", "(5,8)", "\\text{Yes}", "9\\text{ cm}", "1, 2"), draw.randint(2, 4)
        )
        gold = _enumerated(draw, contents, shuffled=False)
        yield gold, _enumerated(draw, contents, shuffled=True), True
        yield gold, _enumerated(draw, _moved(draw, contents), shuffled=True), False
        yield (
            gold,
            _enumerated(draw, contents[:-1], shuffled=True) if len(contents) > 2 else contents[0],
            False,
        )
        if "1, 2" not in contents:
            yield gold, "; ".join(contents), True
            yield gold, "; ".join(_moved(draw, contents)), False


def truths(draw: random.Random, count: int) -> Iterator[Labelled]:
    """Lists that say of several statements which are true."""
    pairs = (("True", "False"), ("Yes", "No"), ("\\text{True}", "\\text{False}"), ("yes", "no"), ("对", "错"))
    for _ in range(count):
        words = draw.choice(pairs)
        said = [draw.randrange(2) for _ in range(draw.randint(2, 5))]
        other = [draw.randrange(2) for _ in said]
        gold = ", ".join(words[k] for k in said)
        yield gold, draw.choice((", ", "; ", ",")).join(words[k] for k in other), said == other
        yield gold, ", ".join(words[k] for k in said[:-1]), False


def _moved(draw: random.Random, values: list[str]) -> list[str]:
    """The values in another order."""
    while True:
        moved = draw.sample(values, len(values))
        if moved != values:
            return moved


def _list(draw: random.Random, pairs: list[tuple[str, str]]) -> str:
    equals = draw.choice(_EQUALS[:2])
    separator = draw.choice(_SEPARATORS)
    if separator == "\\\\ ":
        equals = draw.choice(_EQUALS)
        rows = separator.join(f"{name}{equals}{value}" for name, value in pairs)
        kind = "cases" if "&" not in equals else "aligned"
        return f"\\begin{{{kind}}}{rows}\\end{{{kind}}}"
    if separator == " and " and len(pairs) > 2:
        *first, last = (f"{name}{equals}{value}" for name, value in pairs)
        return ", ".join(first) + " and " + last
    return separator.join(f"{name}{equals}{value}" for name, value in pairs)


def _tuple(draw: random.Random, pairs: list[tuple[str, str]]) -> str:
    opening, closing = draw.choice((("(", ")"), ("\\left(", "\\right)"), ("\\langle ", "\\rangle ")))
    comma = draw.choice((",", ", ", ",\\,"))
    names, values = (comma.join(side) for side in zip(*pairs, strict=True))
    return f"({names}) = {opening}{values}{closing}"


_KINDS = ("abcd", "1234", ("i", "ii", "iii", "iv"), ("I", "II", "III", "IV"), "ABCD", "①②③④")
_FORMS = (
    "({})",
    "（{}）",
    "\\text{{({})}}",
    "\\text{{Part }}({})",
    "Part ({}):",
    "Part {}:",
    "\\text{{({}) }}",
    "{})",
)


def _enumerated(draw: random.Random, contents: list[str], shuffled: bool) -> str:
    kind = draw.choice(_KINDS)
    form = "{}" if "①" in kind else draw.choice(_FORMS)
    order = list(range(len(contents)))
    if shuffled:
        draw.shuffle(order)
    separator = draw.choice((", ", "; ", "；", "\\quad ", "\n", " \\\\ ", ", \\text{ and } "))
    return separator.join(f"{form.format(kind[k])} {contents[k]}" for k in order)


ALL = (named, tuples, parts, truths)
