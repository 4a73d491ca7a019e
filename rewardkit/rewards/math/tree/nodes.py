"""The typed, immutable tree of an answer. Plain data: no evaluation, no parsing.

The nodes are msgspec structs, so that a tree can be sent to the SymPy worker as JSON and is checked against
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
    """Base of all nodes; the tag in JSON is the class name."""

    family: ClassVar[str] = "scalar"
    """Family that selects the rule of comparison, see `comparing/equality.py`."""


class Num(_Node, frozen=True):
    """An exact rational. `places` is the number of decimals as written, None if written exactly."""

    num: int
    den: int = 1
    places: int | None = None

    @property
    def value(self) -> Fraction:
        return Fraction(self.num, self.den)


class Const(_Node, frozen=True):
    """`pi`, `e`, `i`, `inf`, or a named set: `R`, `Z`, `N`, `Q`, `C`, `empty`."""

    name: str


class Sym(_Node, frozen=True):
    """A variable, with its subscript and primes in the name: `x`, `x_1`, `f'`."""

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
    """A known function: `sin`, `ln`, `log` (value, base), `root` (value, degree), `abs`, `factorial`, ..."""

    name: str
    args: tuple[Node, ...]


class App(_Node, frozen=True):
    """An unknown function applied: `f(x)`."""

    name: str
    args: tuple[Node, ...]


class BigOp(_Node, frozen=True):
    """`sum`, `prod`, `int` or `lim` over a bound variable. A limit has its point in `lower`."""

    op: str
    var: str
    lower: Node | None
    upper: Node | None
    body: Node


class Pm(_Node, frozen=True):
    """Plus or minus `value`; `flipped` for minus or plus, tied to the other signs of the same answer."""

    value: Node
    flipped: bool = False


class Percent(_Node, frozen=True):
    family = "percent"
    value: Node


class Degree(_Node, frozen=True):
    family = "degree"
    value: Node


class Based(_Node, frozen=True):
    """Digits in a stated base: `1010_2`."""

    family = "based"
    digits: str
    base: int


class Quantity(_Node, frozen=True):
    """A value and the words after it: a unit of measure or a noun."""

    family = "quantity"
    value: Node
    unit: str
    bare: bool = False
    """True if the unit is plain letters, which may also be variables: `5 J`."""


class Seq(_Node, frozen=True):
    """Items in brackets. `opening` is `(`, `[`, `]`, `{`, or empty for a bare list."""

    family = "sequence"
    opening: str
    closing: str
    items: tuple[Node, ...]


class SetOp(_Node, frozen=True):
    """`cup`, `cap` or `minus` of sets."""

    family = "set"
    op: str
    parts: tuple[Node, ...]


class Rel(_Node, frozen=True):
    """A chain of relations: `sides[0] ops[0] sides[1] ops[1] ...` with = != < <= > >= ~ in notin mod."""

    family = "relation"
    ops: tuple[str, ...]
    sides: tuple[Node, ...]


class Logic(_Node, frozen=True):
    """`and` or `or` of relations and propositions; `both` or `either` of values that words join."""

    family = "relation"
    op: str
    parts: tuple[Node, ...]


class Linear(_Node, frozen=True):
    """A formula with products of vectors or matrices, named in `names`: bold, hatted or under an arrow."""

    value: Node
    names: tuple[str, ...]


class NamedValue(_Node, frozen=True):
    """A value with its name: `x = 5`; several names of one value are nested."""

    family = "named"
    name: Node
    value: Node


class Part(_Node, frozen=True):
    """The answer to one part of a question: `(b) 5`. `label` is the number of the part, from 1."""

    family = "part"
    label: int
    value: Node


class Builder(_Node, frozen=True):
    """A set given by a condition: the x such that ..."""

    family = "relation"
    head: Node
    condition: Node


class Matrix(_Node, frozen=True):
    family = "matrix"
    rows: tuple[tuple[Node, ...], ...]


class Cases(_Node, frozen=True):
    """A value by cases: pairs of a value and the condition under which it holds."""

    family = "cases"
    rows: tuple[tuple[Node, Node], ...]


class Ratio(_Node, frozen=True):
    family = "ratio"
    parts: tuple[Node, ...]


class Time(_Node, frozen=True):
    """A clock time in minutes since midnight (or noon when `meridiem` is given)."""

    family = "time"
    minutes: int
    meridiem: str = ""


class Date(_Node, frozen=True):
    """A calendar date; `year` is None if it is missing."""

    family = "date"
    year: int | None
    month: int
    day: int


class Text(_Node, frozen=True):
    """Words that are not mathematics, folded to the form used for comparison."""

    family = "text"
    text: str


Node = Union[  # noqa: UP007  (msgspec resolves this alias when it builds the recursive decoder)
    Num, Const, Sym, Add, Mul, Div, Pow, Fn, App, BigOp, Pm, Percent, Degree, Based, Quantity, Seq, SetOp,
    Rel, Logic, Linear, NamedValue, Part, Builder, Matrix, Cases, Ratio, Time, Date, Text,
]  # fmt: skip

MINUS_ONE = Num(-1)
NAMED_SETS = frozenset({"R", "Z", "N", "Q", "C", "empty"})


def number(value: Fraction | int) -> Num:
    """Return the exact Num of a rational."""
    return Num(value.numerator, value.denominator)


def negate(node: Node) -> Node:
    if isinstance(node, Num):
        return Num(-node.num, node.den, node.places)
    if isinstance(node, (Percent, Degree)):
        return type(node)(negate(node.value))
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
"""Number of nodes that are counted towards the budget at once; nodes of many small trees add up too."""


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, without recursion."""
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
    """Return the names of the free variables and unknown functions."""
    bound = {n.var for n in walk(node) if isinstance(n, BigOp)}
    return frozenset(n.name for n in walk(node) if isinstance(n, (Sym, App)) and n.name not in bound)
