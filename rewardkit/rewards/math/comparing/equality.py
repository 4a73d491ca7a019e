"""Typed comparison of two trees: each pair of kinds has one rule, and order never matters.

The node of higher rank chooses the rule, so compare(a, b) and compare(b, a) run the same code. True, False,
or None when the rule could not tell. Symbolic algebra is not done here.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

from rewardkit.rewards.counted import harmless
from rewardkit.rewards.math.comparing import (
    builders,
    linear,
    quantities,
    realset,
    relations,
    scalar,
    sequences,
)
from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.comparing.realset import NotASet
from rewardkit.rewards.math.comparing.rule import Rule
from rewardkit.rewards.math.guards import TooLarge, spend
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.atoms import literal
from rewardkit.rewards.math.reading.parse import ANYTHING
from rewardkit.rewards.math.reading.spelled import leading_number, spelled_number
from rewardkit.rewards.math.reading.text import fold
from rewardkit.rewards.math.tree.nodes import (
    NAMED_SETS,
    Add,
    Based,
    Builder,
    Cases,
    Const,
    Date,
    Degree,
    Div,
    Logic,
    Matrix,
    Mul,
    Node,
    Num,
    Percent,
    Pm,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    Text,
    Time,
    children,
    negate,
    number,
    symbols,
    walk,
)

_PI_OVER_180 = Div(Const("pi"), Num(180))
_HUNDRED = Num(100)


def equal(a: Node, b: Node, options: MathOptions) -> bool | None:
    """Return whether two trees say the same; None when that stays open."""
    spend(20)
    if a == b:
        return True
    if _has_pm(a) or _has_pm(b):
        return _with_signs(a, b, options)
    a, b = _settled(a), _settled(b)
    if _rank(a) < _rank(b):
        a, b = b, a
    return _RULES[family(a)](a, b, options)


def _settled(node: Node) -> Node:
    """The tree with its matrix arithmetic done, and a set that names its members as the list of them."""
    if isinstance(node, Pow) and node.exponent == Sym("T"):
        return linear.transpose(node.base) or node
    if isinstance(node, (Add, Mul, Div, Pow)):
        return linear.fold(node)
    if isinstance(node, Builder) and isinstance(node.head, Sym):
        parts = node.condition.parts if isinstance(node.condition, Logic) else (node.condition,)
        if any(found is not None and found[0] == node.head for found in map(relations.assignment, parts)):
            return Seq("", "", parts)
    return node


def family(node: Node) -> str:
    if isinstance(node, Const):
        return "set" if node.name in NAMED_SETS else "scalar"
    if quantities.is_quantity(node):
        return "quantity"
    return _FAMILIES.get(type(node), "scalar")


def _rank(node: Node) -> int:
    return _ORDER.index(family(node))


# Words.


def _text(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Text)
    if isinstance(b, Text):
        return fold(a.text, keep_case=options.text_case) == fold(b.text, keep_case=options.text_case)
    meaning = _MEANINGS.get(fold(a.text))
    if meaning is not None:
        return equal(meaning, b, options)
    spelled = spelled_number(a.text)
    if spelled is not None:
        return equal(number(spelled), b, options)
    counted = leading_number(a.text)
    if counted is not None and harmless(counted[1]):
        return equal(Quantity(number(counted[0]), counted[1]), b, options)
    if isinstance(b, (Sym, Const)) and len(a.text) == 1:
        return a.text == b.name
    if isinstance(b, Quantity) and isinstance(b.value, Sym):
        return fold(a.text) == fold(b.unit)
    return False


_MEANINGS: dict[str, Node] = {
    "no solution": Const("empty"),
    "infinity": Const("inf"),
    "negative infinity": negate(Const("inf")),
    "all real numbers": Const("R"),
    "all integers": Const("Z"),
}


# Plus or minus.


def _has_pm(node: Node) -> bool:
    return any(isinstance(part, Pm) for part in walk(node))


def _with_signs(a: Node, b: Node, options: MathOptions) -> bool | None:
    """Write both signs out; several signs in one answer may be tied or free, so either reading will do."""
    found: bool | None = False
    for x, y in itertools.product(_signed(a), _signed(b)):
        verdict = equal(x, y, options)
        if verdict:
            return True
        found = None if verdict is None else found
    return found


def _signed(node: Node) -> list[Node]:
    """The readings of a tree with its signs written out as a list."""
    if not _has_pm(node):
        return [node]
    if isinstance(node, Seq) and node.opening in ("", "{"):
        items: list[Node] = []
        for item in node.items:
            reading = _signed(item)[0]
            bare = isinstance(reading, Seq) and reading.opening == "" and _has_pm(item)
            items.extend(reading.items if bare and isinstance(reading, Seq) else [reading])
        return [Seq(node.opening, node.closing, tuple(items))]
    count = sum(isinstance(p, Pm) for p in walk(node))
    tied = [_choose(node, itertools.repeat(sign)) for sign in (1, -1)]
    readings: list[Node] = [Seq("", "", tuple(tied))]
    if 1 < count <= 6:
        free = [_choose(node, iter(signs)) for signs in itertools.product((1, -1), repeat=count)]
        readings.append(Seq("", "", tuple(free)))
    return readings


def write_signs(node: Node) -> Node:
    """Return the tree with plus-or-minus written out as a list, its signs tied."""
    return _signed(node)[0]


def _choose(node: Node, signs: Iterator[int]) -> Node:
    """Return the tree with each sign taken from `signs`, in reading order."""
    if isinstance(node, Pm):
        sign = next(signs)
        inner = _choose(node.value, signs)
        return inner if (sign > 0) != node.flipped else negate(inner)
    parts = tuple(_choose(c, signs) for c in children(node))
    return scalar.rebuild(node, parts) if parts else node


# Numbers with something attached.


def _percent(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Percent)
    if isinstance(b, Percent):
        return equal(a.value, b.value, options)
    if options.percent == "literal" or isinstance(b, Degree):
        return False
    found = equal(_hundredth(a.value), b, options)
    if found or options.percent == "fraction":
        return found
    plain = equal(a.value, b, options) if not isinstance(a.value, Percent) else False
    return plain if plain is not False else found


def _hundredth(node: Node) -> Node:
    if isinstance(node, Num):
        value = node.value / 100
        return Num(value.numerator, value.denominator, None if node.places is None else node.places + 2)
    return Div(node, _HUNDRED)


def _degree(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Degree)
    if isinstance(b, Degree):
        return equal(a.value, b.value, options)
    radians = Mul((a.value, _PI_OVER_180))
    if any(part == Const("pi") for part in walk(b)):
        return equal(radians, b, options)
    return equal(a.value, b, options) if options.degrees == "optional" else False


def _based(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Based)
    if any(int(digit) >= a.base for digit in a.digits if digit.isdigit()):
        return False  # 72_2 is no number
    if isinstance(b, Based):
        return a.base == b.base and literal(a.digits).value == literal(b.digits).value
    return options.units == "optional" and isinstance(b, Num) and b.value == literal(a.digits).value


def _time(a: Node, b: Node, options: MathOptions) -> bool | None:
    if isinstance(a, Time) and isinstance(b, Time):
        if a.meridiem and b.meridiem and a.meridiem != b.meridiem:
            return False
        if bool(a.meridiem) == bool(b.meridiem):
            return a.minutes == b.minutes
        marked, plain = (a, b) if a.meridiem else (b, a)
        if 60 <= plain.minutes < 780:
            return plain.minutes % 720 == marked.minutes  # 3:00 may be either
        return plain.minutes == marked.minutes + (720 if marked.meridiem == "p" else 0)
    return False


def _date(a: Node, b: Node, options: MathOptions) -> bool | None:
    """A date equals only itself, which was seen before this was asked; a year left out is not any year."""
    return False


def _cases(a: Node, b: Node, options: MathOptions) -> bool | None:
    """Values by cases: each under the same condition, in any order of the cases."""
    if not (isinstance(a, Cases) and isinstance(b, Cases)) or len(a.rows) != len(b.rows):
        return False
    first, second = ([Seq("(", ")", row) for row in side.rows] for side in (a, b))
    return sequences.matched(first, second, options, equal)


# Relations.


def _relation(a: Node, b: Node, options: MathOptions) -> bool | None:
    """A relation, a condition of several, or a set-builder form, against anything."""
    if isinstance(a, Logic) and a.op == "and" and all(relations.assignment(p) for p in a.parts):
        return equal(Seq("", "", a.parts), b, options)
    if isinstance(a, Rel) and not isinstance(b, (Rel, Logic, Builder)):
        found = _relation_value(a, b, options)
        if found is not _NO_RULE:
            return found  # type: ignore[return-value]
    if isinstance(a, Rel) and isinstance(b, Rel):
        found = _two_relations(a, b, options)
        if found is not None:
            return found
    if _other_unknowns(a, b):
        return False
    if (product := _alternatives(a, b)) is not None:
        return relations.same_relation(*product, options)
    if (
        isinstance(a, Logic)
        and isinstance(b, Logic)
        and a.op == b.op
        and sequences.matched(a.parts, b.parts, options, equal)
    ):
        return True
    if isinstance(a, Logic) and not all(isinstance(part, (Rel, Logic, Builder)) for part in a.parts):
        return False  # propositions: no set is theirs
    return _sets(a, b, options)


def _other_unknowns(a: Node, b: Node) -> bool:
    """Whether one of two conditions restricts an unknown besides those of the other: `x < 3` and `y < 3`."""
    if isinstance(a, Builder) or not all(_is_condition(side) for side in (a, b)):
        return False
    first = symbols(a)
    second = symbols(b)
    return first != second and (first < second or second < first)


def _is_condition(node: Node) -> bool:
    parts = node.items if isinstance(node, Seq) else node.parts if isinstance(node, Logic) else (node,)
    return all(isinstance(part, (Rel, Logic)) for part in parts)


def _alternatives(a: Node, b: Node) -> tuple[Rel, Rel] | None:
    """`a = 0 or b = 0` as the one equation `ab = 0`, beside an equation it is compared with."""
    for this, other in ((a, b), (b, a)):
        if isinstance(this, Logic) and this.op == "or" and isinstance(other, Rel) and other.ops == ("=",):
            parts = [p for p in this.parts if isinstance(p, Rel) and p.ops == ("=",)]
            if len(parts) == len(this.parts):
                factors = tuple(Add((p.sides[0], negate(p.sides[1]))) for p in parts)
                return Rel(("=",), (Mul(factors), Num(0))), other
    return None


_NO_RULE = object()


def _relation_value(a: Rel, b: Node, options: MathOptions) -> object:
    """What a relation says of its subject, against a plain value or set."""
    if all(op in ("=", "~") for op in a.ops):
        if not symbols(a):
            value = relations.chain_value(a)
            return equal(value, b, options) if value is not None else False
        found = relations.assignment(a)
        if found is None:
            return None if _may_solve(a, b) else False
        if isinstance(b, Seq) and not isinstance(found[1], Seq) and len(b.items) == len(a.sides) - 1 > 1:
            return sequences.in_order(
                [found[1]] * len(b.items), b.items, options, equal
            )  # x = y = z = 1 and (1, 1, 1)
        return equal(found[1], b, options) if options.assignment else False
    if a.ops == ("mod", "modulus") and family(b) == "scalar":
        return equal(a.sides[1], b, options) if options.assignment and _is_residue(a) else False
    if a.ops == ("in",) and relations.is_label(a.sides[0]):
        return equal(a.sides[1], b, options)
    return _NO_RULE


def _may_solve(equation: Rel, answers: Node) -> bool:
    """Whether an equation in one unknown stands against a list that may be its solutions."""
    return (
        equation.ops == ("=",)
        and len(symbols(equation)) == 1
        and _labels_of(answers) <= {Sym(name) for name in symbols(equation)}
    )


def _labels_of(node: Node) -> set[Node]:
    """The labels of a list whose every item is named; a label that matches nothing otherwise."""
    items = node.items if isinstance(node, Seq) else (node,)
    found = [relations.assignment(item) for item in items]
    return {f[0] for f in found if f is not None} if all(found) else {Text("")}


def _two_relations(a: Rel, b: Rel, options: MathOptions) -> bool | None:
    first, second = relations.assignment(a), relations.assignment(b)
    if first and second and relations.same_label(first[0], second[0]):
        if relations.captures(*second, first[0]) or relations.captures(*first, second[0]):
            return False
        return equal(first[1], relations.rename_head(second[0], second[1], first[0]), options)
    if a.ops == b.ops == ("mod", "modulus"):
        return _congruent(a, b, options)
    if a.ops == b.ops == ("in",) and relations.same_label(a.sides[0], b.sides[0]):
        return equal(a.sides[1], b.sides[1], options)
    if not symbols(a) and not symbols(b):
        return relations.same_statement(a, b)
    found = relations.same_relation(a, b, options)
    if found is None and first and second and isinstance(first[0], Sym) and isinstance(second[0], Sym):
        return False
    if found is None and a.ops == b.ops == ("=",):
        return False if symbols(a) != symbols(b) or relations.refuted(a, b) else None
    return found


def _is_residue(congruence: Rel) -> bool:
    """Whether `3 (mod 5)` may stand for 3: `72 (mod 5)` may not stand for 72."""
    try:
        return 0 <= exact(congruence.sides[1]) < exact(congruence.sides[2])
    except (Irrational, TooLarge):
        return False


def _congruent(a: Rel, b: Rel, options: MathOptions) -> bool | None:
    named = ANYTHING not in (a.sides[0], b.sides[0])
    if (named and not equal(a.sides[0], b.sides[0], options)) or not equal(a.sides[2], b.sides[2], options):
        return False
    try:
        return (exact(a.sides[1]) - exact(b.sides[1])) % exact(a.sides[2]) == 0
    except (Irrational, TooLarge, ZeroDivisionError):
        return equal(a.sides[1], b.sides[1], options)


# Sets, lists, tuples.


def _sets(a: Node, b: Node, options: MathOptions) -> bool | None:
    """Compare two sets of reals as spans, or one's spans with the other's truth."""
    if isinstance(b, Text):
        return _text(b, a, options)
    if family(b) == "scalar":
        return None if isinstance(a, SetOp) else False
    first, second = realset.variable(a), realset.variable(b)
    if first is not None and second is not None and first != second:
        return False
    left, right = _spans(a), _spans(b)
    if left is not None and right is not None:
        return _same_spans(left, right, options)
    name = first or second
    if name is not None and left is not None:
        return _agrees(left, b, name)
    if name is not None and right is not None:
        return _agrees(right, a, name)
    if isinstance(a, SetOp) and isinstance(b, SetOp) and a.op == b.op:
        return (
            sequences.matched(a.parts, b.parts, options, equal)
            if a.op != "minus"
            else sequences.in_order(a.parts, b.parts, options, equal)
        )
    if isinstance(a, Builder) and isinstance(b, Builder):
        return builders.same_builder(a, b, options, equal)
    return None


def _spans(node: Node) -> realset.Spans | None:
    if isinstance(node, Seq) and node.opening == "":
        if not all(isinstance(i, Rel) for i in node.items):
            return None
        return _spans(Logic("and", node.items)) or _spans(Logic("or", node.items))
    try:
        return realset.spans(node)
    except NotASet:
        return None


def _agrees(spans: realset.Spans, node: Node, name: str) -> bool | None:
    """False when a point tells them apart; a few points prove nothing, so the rest is left to SymPy."""
    try:
        return False if realset.agrees(spans, node, name) is False else None
    except NotASet:
        return None


def _same_spans(a: realset.Spans, b: realset.Spans, options: MathOptions) -> bool | None:
    if len(a) != len(b):
        return False
    found: bool | None = True
    for x, y in zip(a, b, strict=True):
        if (x.low_closed, x.high_closed) != (y.low_closed, y.high_closed) and options.brackets == "exact":
            return False
        for one, other in ((x.low, y.low), (x.high, y.high)):
            verdict = equal(one, other, options)
            if verdict is False:
                return False
            found = None if verdict is None else found
    return found


def _set(a: Node, b: Node, options: MathOptions) -> bool | None:
    if isinstance(a, Const) and isinstance(b, Const):
        return a.name == b.name
    return _sets(a, b, options)


def _ratio(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Ratio)
    if isinstance(b, Ratio):
        if len(a.parts) != len(b.parts):
            return False
        crossed = [
            equal(Mul((x, b.parts[0])), Mul((y, a.parts[0])), options)
            for x, y in zip(a.parts[1:], b.parts[1:], strict=True)
        ]
        return False if False in crossed else None if None in crossed else True
    return equal(Div(*a.parts), b, options) if len(a.parts) == 2 else False


def _scalar(a: Node, b: Node, options: MathOptions) -> bool | None:
    infinite = _infinite(a), _infinite(b)
    if any(infinite):
        return infinite[0] == infinite[1]
    return scalar.equal(a, b, options)


def _infinite(node: Node) -> int:
    match node:
        case Const(name="inf"):
            return 1
        case Mul(factors=(Num(num=num), Const(name="inf"))):
            return 1 if num > 0 else -1
    return 0


_quantity = functools.partial(quantities.quantity, equal=equal)
_sequence = functools.partial(sequences.sequence, equal=equal)
_matrix = functools.partial(sequences.matrix, equal=equal)

_FAMILIES: dict[type, str] = {
    Text: "text", Percent: "percent", Degree: "degree", Based: "based",
    Time: "time", Date: "date", Rel: "relation", Logic: "relation", Builder: "relation", SetOp: "set",
    Seq: "sequence", Matrix: "matrix", Cases: "cases", Ratio: "ratio",
}  # fmt: skip
_ORDER = (
    "scalar", "ratio", "matrix", "cases", "sequence", "set", "time", "date", "based", "degree", "percent",
    "quantity", "text", "relation",
)  # fmt: skip
_RULES: dict[str, Rule] = {
    "text": _text, "percent": _percent, "degree": _degree, "quantity": _quantity, "based": _based,
    "time": _time, "date": _date, "relation": _relation, "set": _set, "sequence": _sequence,
    "matrix": _matrix, "cases": _cases, "ratio": _ratio, "scalar": _scalar,
}  # fmt: skip
