"""Typed, immutable expression tree of an answer, as plain data without evaluation or parsing.

The nodes are msgspec structs, so that a tree can be sent to the SymPy worker as JSON and is validated against
these types on arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from operator import attrgetter
from typing import Any, ClassVar, Union

import msgspec

from rewardkit.rewards.math.guards import spend


class _Node(msgspec.Struct, frozen=True, tag=True):
    """Base class for all nodes. In JSON, the tag is the class name."""

    family: ClassVar[str] = "scalar"
    """Family that selects the comparison rule (see `comparing/equality.py`)."""


class Num(_Node, frozen=True):
    """Rational number. `places` is the number of decimal places as written, or None for an exact number."""

    num: int
    den: int = 1
    places: int | None = None

    @property
    def value(self) -> Fraction:
        return Fraction(self.num, self.den)


class Const(_Node, frozen=True):
    """Constant `pi`, `e`, `i` or `inf`, or named set `R`, `Z`, `N`, `Q`, `C` or `empty`."""

    name: str


class Sym(_Node, frozen=True):
    """Variable, with its subscript and primes in the name: `x`, `x_1`, `f'`."""

    name: str


class Add(_Node, frozen=True):
    terms: tuple[Node, ...]


class Mul(_Node, frozen=True):
    factors: tuple[Node, ...]


class Div(_Node, frozen=True):
    top: Node
    bottom: Node


class Pow(_Node, frozen=True):
    base: Node
    exponent: Node


class Fn(_Node, frozen=True):
    """Call to a known function: `sin`, `ln`, `log` (value, base), `root` (value, degree), `abs`, ..."""

    name: str
    args: tuple[Node, ...]


class App(_Node, frozen=True):
    """Call to an unknown function: `f(x)`."""

    name: str
    args: tuple[Node, ...]


class BigOp(_Node, frozen=True):
    """Operator `sum`, `prod`, `int` or `lim` over a bound variable. `lower` is the point of a limit."""

    op: str
    var: str
    lower: Node | None
    upper: Node | None
    body: Node


class Pm(_Node, frozen=True):
    """Plus or minus `value` (`±`), or minus or plus `value` if `flipped` (`∓`)."""

    value: Node
    flipped: bool = False


class Percent(_Node, frozen=True):
    family = "percent"
    value: Node


class Degree(_Node, frozen=True):
    family = "degree"
    value: Node


class Based(_Node, frozen=True):
    """Number in a stated base: `1010_2`. The digits may have a sign and a point: `-12.4`."""

    family = "based"
    digits: str
    base: int


class Quantity(_Node, frozen=True):
    """Value with the unit of measure or the noun after it."""

    family = "quantity"
    value: Node
    unit: str
    bare: bool = False
    """True if the unit is written in plain letters, which may also be variables: `5 J`."""


class Seq(_Node, frozen=True):
    """Sequence of items in brackets. `opening` is `(`, `[`, `]`, `{`, or empty for a bare list."""

    family = "sequence"
    opening: str
    closing: str
    items: tuple[Node, ...]


class SetOp(_Node, frozen=True):
    """Union (`cup`), intersection (`cap`) or difference (`minus`) of sets."""

    family = "set"
    op: str
    parts: tuple[Node, ...]


class Rel(_Node, frozen=True):
    """Chain of relations `sides[0] ops[0] sides[1] ops[1] ...` with = != < <= > >= ~ in notin mod."""

    family = "relation"
    ops: tuple[str, ...]
    sides: tuple[Node, ...]


class Logic(_Node, frozen=True):
    """Relations or propositions joined by `and` or `or`, or values joined by words (`both` or `either`)."""

    family = "relation"
    op: str
    parts: tuple[Node, ...]


class Linear(_Node, frozen=True):
    """Formula with products of vectors or matrices. `names` are bold, hatted or under an arrow."""

    value: Node
    names: tuple[str, ...]


class NamedValue(_Node, frozen=True):
    """Value with its name: `x = 5`. Several names for one value are nested."""

    family = "named"
    name: Node
    value: Node


class Part(_Node, frozen=True):
    """Answer to one part of a question: `(b) 5`. `label` is the number of the part, starting at 1."""

    family = "part"
    label: int
    value: Node


class Builder(_Node, frozen=True):
    """Set-builder form: the set of all values of `head` for which `condition` holds."""

    family = "relation"
    head: Node
    condition: Node


class Matrix(_Node, frozen=True):
    family = "matrix"
    rows: tuple[tuple[Node, ...], ...]


class Cases(_Node, frozen=True):
    """Piecewise value: pairs of a value and the condition under which it holds."""

    family = "cases"
    rows: tuple[tuple[Node, Node], ...]


class Ratio(_Node, frozen=True):
    family = "ratio"
    parts: tuple[Node, ...]


class Time(_Node, frozen=True):
    """Clock time in minutes since midnight, or since noon if `meridiem` is `p`."""

    family = "time"
    minutes: int
    meridiem: str = ""


class Date(_Node, frozen=True):
    """Calendar date. `year` is None if it is missing."""

    family = "date"
    year: int | None
    month: int
    day: int


class Text(_Node, frozen=True):
    """Words that are not mathematics."""

    family = "text"
    text: str


Node = Union[  # noqa: UP007  (msgspec resolves this alias when it builds the recursive decoder)
    Num, Const, Sym, Add, Mul, Div, Pow, Fn, App, BigOp, Pm, Percent, Degree, Based, Quantity, Seq, SetOp,
    Rel, Logic, Linear, NamedValue, Part, Builder, Matrix, Cases, Ratio, Time, Date, Text,
]  # fmt: skip

MINUS_ONE = Num(-1)
NAMED_SETS = frozenset({"R", "Z", "N", "Q", "C", "empty"})


def number(value: Fraction | int) -> Num:
    """Return a rational number as an exact Num."""
    return Num(value.numerator, value.denominator)


def negate(node: Node) -> Node:
    if isinstance(node, Num):
        return Num(-node.num, node.den, node.places)
    if isinstance(node, (Percent, Degree)):
        return type(node)(negate(node.value))
    if isinstance(node, Based):
        return Based(node.digits[1:] if node.digits.startswith("-") else f"-{node.digits}", node.base)
    if isinstance(node, Quantity):
        return Quantity(negate(node.value), node.unit, node.bare)
    return Mul((MINUS_ONE, node))


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct children of a node, in reading order."""
    below = _CHILDREN.get(type(node))
    return below(node) if below is not None else ()


def _big_children(node: BigOp) -> tuple[Node, ...]:
    return tuple(part for part in (node.lower, node.upper, node.body) if part is not None)


_CHILDREN: dict[type, Callable[[Any], tuple[Node, ...]]] = {
    Add: attrgetter("terms"),
    Mul: attrgetter("factors"),
    Ratio: attrgetter("parts"),
    SetOp: attrgetter("parts"),
    Logic: attrgetter("parts"),
    Fn: attrgetter("args"),
    App: attrgetter("args"),
    Seq: attrgetter("items"),
    Rel: attrgetter("sides"),
    Div: attrgetter("top", "bottom"),
    Pow: attrgetter("base", "exponent"),
    Builder: attrgetter("head", "condition"),
    NamedValue: attrgetter("name", "value"),
    Part: lambda node: (node.value,),
    Linear: lambda node: (node.value,),
    Pm: lambda node: (node.value,),
    Percent: lambda node: (node.value,),
    Degree: lambda node: (node.value,),
    Quantity: lambda node: (node.value,),
    BigOp: _big_children,
    Cases: lambda node: tuple(part for row in node.rows for part in row),
    Matrix: lambda node: tuple(cell for row in node.rows for cell in row),
}


_WALKED = 16
"""Number of visited nodes after which their cost is deducted from the budget."""


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all its descendants without recursion."""
    pending = [node]
    seen = 0
    while pending:
        seen += 1
        if not seen % _WALKED:
            spend(_WALKED)
        current = pending.pop()
        yield current
        pending.extend(children(current))
    spend(seen % _WALKED)


def symbols(node: Node) -> frozenset[str]:
    """Return the names of the free variables and unknown functions in a tree."""
    bound = {n.var for n in walk(node) if isinstance(n, BigOp)}
    return frozenset(n.name for n in walk(node) if isinstance(n, (Sym, App)) and n.name not in bound)
