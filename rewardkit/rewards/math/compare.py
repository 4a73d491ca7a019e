"""Typed comparison of two trees: each pair of kinds has one rule, and order never matters.

The node of higher rank chooses the rule, so compare(a, b) and compare(b, a) run the same code. True, False,
or None when the rule could not tell. Symbolic algebra is not done here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from rewardkit.rewards.math import linear, realset, relations, scalar, units
from rewardkit.rewards.math.atoms import literal
from rewardkit.rewards.math.guards import MAX_TERMS, TooLarge
from rewardkit.rewards.math.policies import Options
from rewardkit.rewards.math.rational import Irrational, exact
from rewardkit.rewards.math.realset import NotASet
from rewardkit.rewards.math.text import fold, spelled_number
from rewardkit.rewards.math.tree import (
    Add,
    Based,
    Builder,
    Const,
    Degree,
    Div,
    Logic,
    Matrix,
    Mul,
    NAMED_SETS,
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


def equal(a: Node, b: Node, options: Options) -> bool | None:
    """Return whether two trees say the same; None when that stays open."""
    if a == b:
        return True
    if _has_pm(a) or _has_pm(b):
        return _with_signs(a, b, options)
    a, b = _settled(a), _settled(b)
    if _rank(a) < _rank(b):
        a, b = b, a
    return _RULES[_family(a)](a, b, options)


def _settled(node: Node) -> Node:
    """The tree with its matrix arithmetic done, and a set that names its members as the list of them."""
    if isinstance(node, (Add, Mul, Div, Pow)):
        return linear.fold(node)
    if isinstance(node, Builder) and isinstance(node.head, Sym):
        parts = node.condition.parts if isinstance(node.condition, Logic) else (node.condition,)
        if any(found is not None and found[0] == node.head for found in map(relations.assignment, parts)):
            return Seq("", "", parts)
    return node


def _family(node: Node) -> str:
    if isinstance(node, Const):
        return "set" if node.name in NAMED_SETS else "scalar"
    if isinstance(node, Add) and any(isinstance(t, Quantity) for t in node.terms):
        return "quantity"
    return _FAMILIES.get(type(node), "scalar")


def _rank(node: Node) -> int:
    return _ORDER.index(_family(node))


# Words.


def _text(a: Node, b: Node, options: Options) -> bool | None:
    assert isinstance(a, Text)
    if isinstance(b, Text):
        return fold(a.text, keep_case=options.text_case) == fold(b.text, keep_case=options.text_case)
    meaning = _MEANINGS.get(fold(a.text))
    if meaning is not None:
        return equal(meaning, b, options)
    spelled = spelled_number(a.text)
    if spelled is not None:
        return equal(number(spelled), b, options)
    if isinstance(b, Quantity) and isinstance(b.value, Sym):
        return fold(a.text) == fold(b.unit)
    return False


_MEANINGS: dict[str, Node] = {
    "no solution": Const("empty"),
    "infinity": Const("inf"),
    "negative infinity": negate(Const("inf")),
    "all real numbers": Const("R"),
}


# Plus or minus.


def _has_pm(node: Node) -> bool:
    return any(isinstance(part, Pm) for part in walk(node))


def _with_signs(a: Node, b: Node, options: Options) -> bool | None:
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


def _choose(node: Node, signs: itertools.repeat[int] | object) -> Node:
    """Return the tree with each sign taken from `signs`, in reading order."""
    if isinstance(node, Pm):
        sign = next(signs)  # type: ignore[call-overload]
        inner = _choose(node.value, signs)
        return inner if (sign > 0) != node.flipped else negate(inner)
    parts = tuple(_choose(c, signs) for c in children(node))
    return scalar.rebuild(node, parts) if parts else node


# Numbers with something attached.


def _percent(a: Node, b: Node, options: Options) -> bool | None:
    assert isinstance(a, Percent)
    if isinstance(b, Percent):
        return equal(a.value, b.value, options)
    if options.percent == "literal":
        return False
    found = equal(_hundredth(a.value), b, options)
    if found or options.percent == "fraction":
        return found
    plain = equal(a.value, b, options)
    return plain if plain is not False else found


def _hundredth(node: Node) -> Node:
    if isinstance(node, Num):
        return Num((node.value / 100).numerator, (node.value / 100).denominator, None)
    return Div(node, _HUNDRED)


def _degree(a: Node, b: Node, options: Options) -> bool | None:
    assert isinstance(a, Degree)
    if isinstance(b, Degree):
        return equal(a.value, b.value, options)
    radians = Mul((a.value, _PI_OVER_180))
    if any(part == Const("pi") for part in walk(b)):
        return equal(radians, b, options)
    return equal(a.value, b, options) if options.degrees == "optional" else False


def _quantity(a: Node, b: Node, options: Options) -> bool | None:
    first = _single_quantity(a)
    if first is None:
        return False
    if _family(b) == "quantity":
        second = _single_quantity(b)
        return _two_quantities(first, second, options) if second is not None else False
    unit = units.read(first.unit)
    spelled = _spelled_unit(first)
    if spelled is not None and symbols(b) and equal(spelled, b, options):
        return True
    if isinstance(b, (Degree, Percent)):
        return equal(first.value, b, options) if unit.droppable and unit.dimensions is None else False
    if not unit.droppable:
        return False
    if options.units == "required" and unit.dimensions is not None:
        return False
    return equal(first.value, b, options)


def _single_quantity(node: Node) -> Quantity | None:
    """One quantity; a sum of compatible ones (`5 ft 3 in`) in the unit of its first part."""
    if isinstance(node, Quantity):
        return node
    assert isinstance(node, Add)
    parts = [t for t in node.terms if isinstance(t, Quantity)]
    known = [units.read(p.unit) for p in parts]
    if len(parts) != len(node.terms) or len({u.dimensions for u in known}) != 1 or known[0].dimensions is None:
        return None
    terms = [Mul((number(u.factor / known[0].factor), p.value)) for u, p in zip(known, parts, strict=True)]
    return Quantity(Add(tuple(terms)), parts[0].unit)


def _two_quantities(a: Quantity, b: Quantity, options: Options) -> bool | None:
    first, second = units.read(a.unit), units.read(b.unit)
    if first.dimensions is not None and second.dimensions is not None:
        if first.dimensions != second.dimensions:
            return False
        if first.factor == second.factor:
            return equal(a.value, b.value, options)
        ratio = first.factor / second.factor
        return equal(Mul((number(ratio), a.value)), b.value, options)
    same_words = fold(first.folded) == fold(second.folded)
    if not same_words and not (first.droppable and second.droppable):
        return False
    return equal(a.value, b.value, options)


def _spelled_unit(quantity: Quantity) -> Node | None:
    """The unit read as variables: `144 \\text{ m}^3` as 144 m^3."""
    letters, _, power = quantity.unit.partition("^")
    if not (letters.isalpha() and letters.isascii() and len(letters) <= 3):
        return None
    factors: list[Node] = [Sym(letter) for letter in letters]
    if power.isdigit():
        factors[-1] = Pow(factors[-1], Num(int(power)))
    return Mul((quantity.value, *factors))


def _based(a: Node, b: Node, options: Options) -> bool | None:
    assert isinstance(a, Based)
    if isinstance(b, Based):
        return a.base == b.base and literal(a.digits).value == literal(b.digits).value
    return isinstance(b, Num) and b.value == literal(a.digits).value


def _time(a: Node, b: Node, options: Options) -> bool | None:
    if isinstance(a, Time) and isinstance(b, Time):
        if a.meridiem and b.meridiem and a.meridiem != b.meridiem:
            return False
        return a.minutes % 720 == b.minutes % 720 if a.meridiem or b.meridiem else a.minutes == b.minutes
    return False


# Relations.


def _relation(a: Node, b: Node, options: Options) -> bool | None:
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
    if isinstance(a, Logic) and isinstance(b, Logic) and a.op == b.op and _matched(a.parts, b.parts, options):
        return True
    return _sets(a, b, options)


_NO_RULE = object()


def _relation_value(a: Rel, b: Node, options: Options) -> object:
    """What a relation says of its subject, against a plain value or set."""
    if all(op in ("=", "~") for op in a.ops):
        if not symbols(a):
            value = relations.chain_value(a)
            return equal(value, b, options) if value is not None else False
        found = relations.assignment(a)
        if found is None:
            return None if _may_solve(a, b) else False
        return equal(found[1], b, options) if options.assignment else False
    if a.ops == ("mod", "modulus") and _family(b) == "scalar":
        return equal(a.sides[1], b, options) if options.assignment else False
    if a.ops == ("in",) and relations.is_label(a.sides[0]):
        return equal(a.sides[1], b, options)
    return _NO_RULE


def _may_solve(equation: Rel, answers: Node) -> bool:
    """Whether an equation in one unknown stands against a list that may be its solutions."""
    return equation.ops == ("=",) and len(symbols(equation)) == 1 and _labels_of(answers) <= {
        Sym(name) for name in symbols(equation)
    }


def _labels_of(node: Node) -> set[Node]:
    """The labels of a list whose every item is named; a label that matches nothing otherwise."""
    items = node.items if isinstance(node, Seq) else (node,)
    found = [relations.assignment(item) for item in items]
    return {f[0] for f in found if f is not None} if all(found) else {Text("")}


def _two_relations(a: Rel, b: Rel, options: Options) -> bool | None:
    first, second = relations.assignment(a), relations.assignment(b)
    if first and second and relations.same_label(first[0], second[0]):
        return equal(first[1], relations.rename_head(second[0], second[1], first[0]), options)
    if a.ops == b.ops == ("mod", "modulus"):
        return _congruent(a, b, options)
    if a.ops == b.ops == ("in",) and relations.same_label(a.sides[0], b.sides[0]):
        return equal(a.sides[1], b.sides[1], options)
    found = relations.same_relation(a, b, options)
    if found is None and first and second and isinstance(first[0], Sym) and isinstance(second[0], Sym):
        return False
    if found is None and a.ops == b.ops == ("=",):
        return False if symbols(a) != symbols(b) else None
    return found


def _congruent(a: Rel, b: Rel, options: Options) -> bool | None:
    if not (equal(a.sides[0], b.sides[0], options) and equal(a.sides[2], b.sides[2], options)):
        return False
    try:
        return (exact(a.sides[1]) - exact(b.sides[1])) % exact(a.sides[2]) == 0
    except (Irrational, TooLarge, ZeroDivisionError):
        return equal(a.sides[1], b.sides[1], options)


# Sets, lists, tuples.


def _sets(a: Node, b: Node, options: Options) -> bool | None:
    """Compare two sets of reals as spans, or one's spans with the other's truth."""
    if isinstance(b, Text):
        return _text(b, a, options)
    if _family(b) == "scalar":
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
        return _matched(a.parts, b.parts, options) if a.op != "minus" else _in_order(a.parts, b.parts, options)
    if isinstance(a, Builder) and isinstance(b, Builder):
        return equal(a.condition, b.condition, options)
    return None


def _spans(node: Node) -> realset.Spans | None:
    if isinstance(node, Seq) and node.opening == "":
        conditions = all(isinstance(i, Rel) for i in node.items)
        return _spans(Logic("and", node.items)) if conditions else None
    try:
        return realset.spans(node)
    except NotASet:
        return None


def _agrees(spans: realset.Spans, node: Node, name: str) -> bool | None:
    try:
        return realset.agrees(spans, node, name)
    except NotASet:
        return None


def _same_spans(a: realset.Spans, b: realset.Spans, options: Options) -> bool | None:
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


def _set(a: Node, b: Node, options: Options) -> bool | None:
    if isinstance(a, Const) and isinstance(b, Const):
        return a.name == b.name
    return _sets(a, b, options)


_BRACKETS = {"]": "("}
_CLOSINGS = {"[": ")"}


def _sequence(a: Node, b: Node, options: Options) -> bool | None:
    assert isinstance(a, Seq)
    if isinstance(b, Matrix):
        return _vector(a, b, options)
    if not isinstance(b, Seq):
        return equal(a.items[0], b, options) if len(a.items) == 1 and a.opening in ("", "{") else False
    loose = {s.opening for s in (a, b)} <= {"", "{"}
    if loose:
        return _lists(a, b, options)
    if "{" in (a.opening, b.opening) or len(a.items) != len(b.items):
        return False
    if "" not in (a.opening, b.opening) and options.brackets == "exact" and _brackets(a) != _brackets(b):
        return False
    return _in_order(a.items, b.items, options)


def _brackets(seq: Seq) -> tuple[str, str]:
    return _BRACKETS.get(seq.opening, seq.opening), _CLOSINGS.get(seq.closing, seq.closing)


def _lists(a: Seq, b: Seq, options: Options) -> bool | None:
    """Bare lists and sets: unordered, repetitions ignored; named values without names keep their order."""
    first, integers = _declared(a.items)
    second, more = _declared(b.items)
    if integers or more:
        return _with_integers(first, second, integers | more, options)
    labels = [_labels(first), _labels(second)]
    if labels[0] != labels[1] and (indexed := _indexed_values(first, second)) is not None:
        return _matched(*indexed, options)
    one_sided = (len(labels[0]) > 1) != (len(labels[1]) > 1) and min(map(len, labels)) == 0
    if one_sided or (options.list_order and a.opening == b.opening == ""):
        return _in_order(first, second, options) if len(first) == len(second) else False
    return _matched(first, second, options)


def _labels(items: Sequence[Node]) -> set[Node]:
    return {found[0] for item in items if (found := relations.assignment(item)) is not None}


def _indexed_values(first: Sequence[Node], second: Sequence[Node]) -> tuple[list[Node], list[Node]] | None:
    """The values of `x_1 = 2, x_2 = 3` and `x = 2 or x = 3`, whose one name carries no order."""
    bases, lists = set(), []
    for items in (first, second):
        values = []
        for item in items:
            found = relations.assignment(item)
            if found is not None:
                bases.add(relations.base_name(found[0]))
            values.append(item if found is None else found[1])
        lists.append(values)
    return (lists[0], lists[1]) if len(bases) == 1 and "" not in bases else None


def _declared(items: tuple[Node, ...]) -> tuple[tuple[Node, ...], frozenset[str]]:
    """Split off declarations like `k \\in \\mathbb{Z}`; return the rest and the declared names."""
    names, rest = set(), []
    for item in items:
        match item:
            case Rel(ops=("in",), sides=(Sym(name=name), target)) if len(items) > 1 and _is_integers(target):
                names.add(name)
            case _:
                rest.append(item)
    return tuple(rest), frozenset(names)


def _is_integers(node: Node) -> bool:
    return node in (Const("Z"), Const("N"), Sym("Z"), Sym("N")) or (isinstance(node, Sym) and node.name[:2] in ("Z^", "N^"))


def _with_integers(
    first: tuple[Node, ...], second: tuple[Node, ...], names: frozenset[str], options: Options
) -> bool | None:
    """Compare families in an integer parameter, whatever each side calls it."""
    left, right = ({n for item in items for n in symbols(item)} for items in (first, second))
    mine, others = left - right, right - left
    if len(mine) == len(others) == 1 and (mine | others) & names:
        old, new = others.pop(), Sym(mine.pop())
        second = tuple(scalar.substitute(item, old, new) for item in second)
    return _matched(first, second, options)


def _in_order(a: Sequence[Node], b: Sequence[Node], options: Options) -> bool | None:
    if len(a) != len(b):
        return False
    found: bool | None = True
    for x, y in zip(a, b, strict=True):
        verdict = equal(x, y, options)
        if verdict is False:
            return False
        found = None if verdict is None else found
    return found


def _matched(a: Sequence[Node], b: Sequence[Node], options: Options) -> bool | None:
    """Whether every item of each side has an equal on the other."""
    if len(a) > MAX_TERMS or len(b) > MAX_TERMS:
        raise TooLarge("a list")
    left, right = _exact_values(a), _exact_values(b)
    if left is not None and right is not None:
        return left == right
    if len(a) * len(b) > 2_500:
        return None
    open_verdict = False
    for one, other in ((a, b), (b, a)):
        for x in one:
            verdicts = [equal(x, y, options) for y in other] if x not in other else [True]
            if True not in verdicts:
                if None not in verdicts:
                    return False
                open_verdict = True
    return None if open_verdict else True


def _exact_values(items: Sequence[Node]) -> set[object] | None:
    """The values of a list of plain integers and fractions; None if there is anything else in it."""
    try:
        values = {exact(item) for item in items}
    except (Irrational, TooLarge):
        return None
    return None if any(isinstance(i, Percent) or scalar.as_decimal(i) for i in items) else set(values)


def _vector(a: Seq, matrix: Matrix, options: Options) -> bool | None:
    if (listed := linear.from_lists(a)) is not None:
        return _matrix(listed, matrix, options)
    column = all(len(row) == 1 for row in matrix.rows)
    cells = [row[0] for row in matrix.rows] if column else matrix.rows[0] if len(matrix.rows) == 1 else None
    return _in_order(a.items, cells, options) if cells is not None and a.opening != "{" else False


def _matrix(a: Node, b: Node, options: Options) -> bool | None:
    assert isinstance(a, Matrix)
    if not isinstance(b, Matrix):
        return equal(a.rows[0][0], b, options) if len(a.rows) == len(a.rows[0]) == 1 else False
    if len(a.rows) != len(b.rows) or len(a.rows[0]) != len(b.rows[0]):
        return False
    return _in_order([c for row in a.rows for c in row], [c for row in b.rows for c in row], options)


def _ratio(a: Node, b: Node, options: Options) -> bool | None:
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


def _scalar(a: Node, b: Node, options: Options) -> bool | None:
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


_FAMILIES: dict[type, str] = {
    Text: "text", Percent: "percent", Degree: "degree", Quantity: "quantity", Based: "based", Time: "time",
    Rel: "relation", Logic: "relation", Builder: "relation", SetOp: "set", Seq: "sequence",
    Matrix: "matrix", Ratio: "ratio",
}  # fmt: skip
_ORDER = (
    "scalar", "ratio", "matrix", "sequence", "set", "time", "based", "degree", "percent", "quantity", "text",
    "relation",
)  # fmt: skip
_RULES: dict[str, Callable[[Node, Node, Options], bool | None]] = {
    "text": _text, "percent": _percent, "degree": _degree, "quantity": _quantity, "based": _based,
    "time": _time, "relation": _relation, "set": _set, "sequence": _sequence, "matrix": _matrix,
    "ratio": _ratio, "scalar": _scalar,
}  # fmt: skip
