"""Ground truths for the mutations: of MATH, GSM8K and AIME if the data is available, and generated ones.

The generated ones have every form in the datasets, and forms in which a wrong answer was once accepted.
Contains no mutations.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Truth(NamedTuple):
    source: str
    text: str


def from_data(folder: Path) -> list[Truth]:
    """Return the ground truths of the datasets in the folder."""
    return [
        *_math(folder / "math" / "test.jsonl"),
        *_gsm8k(folder / "gsm8k"),
        *_aime(folder / "aime24" / "test.jsonl"),
    ]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    if path.is_file():
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _math(path: Path) -> Iterator[Truth]:
    for row in _rows(path):
        if boxed := _last_box(row["solution"]):
            yield Truth("MATH", boxed)


def _last_box(text: str) -> str:
    start = text.rfind("\\boxed{") + len("\\boxed{")
    depth = 1
    for end in range(start, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            return text[start:end]
    return ""


def _gsm8k(folder: Path) -> Iterator[Truth]:
    for name in ("test.jsonl", "train.jsonl"):
        for row in _rows(folder / name):
            yield Truth("GSM8K", row["answer"].rpartition("####")[2].strip())


def _aime(path: Path) -> Iterator[Truth]:
    for row in _rows(path):
        yield Truth("AIME", str(row["answer"]))


def generated(count: int, draw: random.Random) -> list[Truth]:
    """Return generated ground truths, of each form in turn."""
    return [Truth("generated", _SHAPES[index % len(_SHAPES)](draw)) for index in range(count)]


def _integer(draw: random.Random) -> str:
    return str(draw.choice((1, 1, 1, -1)) * draw.randrange(2, 10 ** draw.randrange(1, 7)))


def _grouped(draw: random.Random) -> str:
    return f"{draw.randrange(1000, 10 ** draw.randrange(4, 10)):,}"


def _braced_groups(draw: random.Random) -> str:
    return _grouped(draw).replace(",", "{,}")


def _decimal(draw: random.Random) -> str:
    return f"{draw.randrange(1, 10**5) / 10 ** draw.randrange(1, 4)}"


def _fraction(draw: random.Random) -> str:
    top, bottom = draw.randrange(1, 60), draw.randrange(2, 60)
    return draw.choice(("", "-")) + f"\\frac{{{top}}}{{{bottom}}}"


def _mixed(draw: random.Random) -> str:
    bottom = draw.randrange(3, 30)
    return f"{draw.randrange(2, 20)}\\frac{{{draw.randrange(1, bottom)}}}{{{bottom}}}"


def _surd(draw: random.Random) -> str:
    inside = draw.choice((2, 3, 5, 6, 7, 10, 11, 13))
    return f"{draw.randrange(2, 20)}{draw.choice('+-')}{draw.randrange(2, 9)}\\sqrt{{{inside}}}"


def _pi(draw: random.Random) -> str:
    return f"\\frac{{{draw.randrange(3, 30)}\\pi}}{{{draw.randrange(2, 13)}}}"


def _power(draw: random.Random) -> str:
    return f"{draw.randrange(2, 12)}^{{{draw.randrange(3, 40)}}}"


def _polynomial(draw: random.Random) -> str:
    a, b, c = (draw.randrange(2, 15) for _ in range(3))
    return f"{a}x^{draw.randrange(2, 5)}{draw.choice('+-')}{b}x{draw.choice('+-')}{c}"


def _factored(draw: random.Random) -> str:
    a, b = draw.sample(range(1, 12), 2)
    return f"(x{draw.choice('+-')}{a})(x{draw.choice('+-')}{b})"


def _rational(draw: random.Random) -> str:
    a, b = draw.sample(range(2, 12), 2)
    return f"\\frac{{{a}x+{b}}}{{x^2+{draw.randrange(1, 9)}}}"


def _function(draw: random.Random) -> str:
    name = draw.choice(("sin", "cos", "tan", "ln"))
    return f"{draw.randrange(2, 9)}\\{name}({draw.randrange(2, 9)}x){draw.choice('+-')}{draw.randrange(1, 9)}"


def _exponential(draw: random.Random) -> str:
    return (
        f"{draw.randrange(2, 9)}e^{{{draw.choice(('-', ''))}{draw.randrange(2, 9)}t}}+{draw.randrange(1, 9)}"
    )


def _powers(draw: random.Random) -> str:
    return draw.choice(("a^{bc}", "(ab)^{c}", "a^{b+c}", "\\frac{a^b}{c}", "a^{b}c^{d}"))


def _factorials(draw: random.Random) -> str:
    return draw.choice(("\\frac{n!}{(n-k)!}", "n!k!", "\\frac{(n+k)!}{n!}", "(n+1)!", "\\binom{n}{k}"))


def _tuple(draw: random.Random) -> str:
    return f"({', '.join(str(x) for x in draw.sample(range(-20, 60), draw.choice((2, 3))))})"


def _interval(draw: random.Random) -> str:
    low = draw.randrange(-20, 20)
    return f"{draw.choice('([')}{low}, {low + draw.randrange(1, 30)}{draw.choice(')]')}"


def _union(draw: random.Random) -> str:
    a, b, c = sorted(draw.sample(range(-20, 40), 3))
    return f"(-\\infty, {a}) \\cup [{b}, {c})"


def _set(draw: random.Random) -> str:
    return f"\\{{{', '.join(str(x) for x in draw.sample(range(-20, 60), draw.choice((2, 3, 4))))}\\}}"


def _list(draw: random.Random) -> str:
    return ", ".join(str(x) for x in draw.sample(range(-20, 60), draw.choice((2, 3, 4))))


def _matrix(draw: random.Random) -> str:
    a, b, c, d = (draw.randrange(-9, 10) for _ in range(4))
    return f"\\begin{{pmatrix}} {a} & {b} \\\\ {c} & {d} \\end{{pmatrix}}"


def _vector(draw: random.Random) -> str:
    return (
        "\\begin{pmatrix} "
        + " \\\\ ".join(str(draw.randrange(-30, 30)) for _ in range(3))
        + " \\end{pmatrix}"
    )


def _line(draw: random.Random) -> str:
    return f"y={draw.randrange(2, 9)}x{draw.choice('+-')}{draw.randrange(1, 30)}"


def _circle(draw: random.Random) -> str:
    return f"x^2+y^2={draw.randrange(2, 90)}"


def _quadratic(draw: random.Random) -> str:
    return f"x^2{draw.choice('+-')}{draw.randrange(2, 200)}=0"


def _inequality(draw: random.Random) -> str:
    low = draw.randrange(-20, 20)
    return draw.choice(
        (f"x>{low}", f"x\\le {low}", f"{low}<x\\le {low + draw.randrange(1, 9)}", f"{low}\\le x<{low + 7}")
    )


def _length(draw: random.Random) -> str:
    return f"{draw.randrange(2, 500)}\\text{{ {draw.choice(('cm', 'm', 'km', 'feet', 'inches'))}}}"


def _area(draw: random.Random) -> str:
    return f"{draw.randrange(2, 500)}\\mathrm{{~{draw.choice(('cm', 'm', 'km'))}}}^{draw.choice('23')}"


def _duration(draw: random.Random) -> str:
    return f"{draw.randrange(2, 500)}\\text{{ {draw.choice(('minutes', 'hours', 'days', 'kg', 'pounds'))}}}"


def _percent(draw: random.Random) -> str:
    return f"{draw.randrange(2, 100)}\\%"


def _degrees(draw: random.Random) -> str:
    return f"{draw.randrange(2, 360)}^\\circ"


def _money(draw: random.Random) -> str:
    return f"\\${draw.randrange(2, 900)}.{draw.randrange(10, 100)}"


def _based(draw: random.Random) -> str:
    base = draw.randrange(3, 10)
    return "".join(str(draw.randrange(1, base)) for _ in range(3)) + f"_{base}"


def _subscripted(draw: random.Random) -> str:
    return f"x_1+{draw.randrange(2, 9)}x_2"


_SHAPES: tuple[Callable[[random.Random], str], ...] = (
    _integer, _grouped, _braced_groups, _decimal, _fraction, _mixed, _surd, _pi, _power, _polynomial,
    _factored,
    _rational, _function, _exponential, _powers, _factorials, _tuple, _interval, _union, _set, _list, _matrix,
    _vector, _line, _circle, _quadratic, _inequality, _length, _area, _duration, _percent, _degrees, _money,
    _subscripted, _based,
)  # fmt: skip
