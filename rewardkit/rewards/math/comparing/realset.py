"""Sets of real numbers: intervals, unions, inequalities and set-builder forms as `Span`s.

A set is a tuple of `Span`s, sorted and merged. A condition that cannot be written as spans is tested at, next
to and between the ends of the other side's spans.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from rewardkit.rewards.math.comparing.breaks import breaks
from rewardkit.rewards.math.comparing.numeric import Undefined, as_fraction, context, evaluate
from rewardkit.rewards.math.comparing.scalar import real_value, same_constant
from rewardkit.rewards.math.guards import TooLarge, spend
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    Builder,
    Const,
    Div,
    Logic,
    Node,
    Num,
    Rel,
    Seq,
    SetOp,
    Sym,
    Text,
    negate,
    number,
    symbols,
    walk,
)
from rewardkit.rewards.math.tree.rebuild import substitute

INFINITY = Const("inf")
_REALS = (Const("R"), Sym("R"))
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


class NotASet(Exception):
    """Raised if a tree is not a set of reals that can be written as spans."""


class Span(NamedTuple):
    low: Node
    low_closed: bool
    high: Node
    high_closed: bool


Spans = tuple[Span, ...]
ALL: Spans = (Span(negate(INFINITY), False, INFINITY, False),)


def spans(node: Node) -> Spans:
    """Return the set of real numbers that a tree represents.

    Raises:
        NotASet: The set cannot be written as spans, or the ends of its spans cannot be ordered.
    """
    match node:
        case Seq(opening="(" | "[" | "]" as opening, closing=closing, items=(low, high)):
            return _normal([Span(low, opening == "[", high, closing == "]")])
        case Seq(opening="{", items=items):
            return _normal([Span(x, True, x, True) for x in items])
        case Const(name="R"):
            return ALL
        case Const(name="empty"):
            return ()
        case SetOp(op=op, parts=parts):
            return _combine(op, [spans(p) for p in parts])
        case Logic(op=op, parts=parts):
            if len({variable(part) for part in parts}) > 1:
                raise NotASet("conditions on several variables")
            return _combine("cap" if op == "and" else "cup", [spans(p) for p in parts])
        case Builder():
            head, condition = _whole_condition(node)
            if not isinstance(head, Sym):
                raise NotASet("the values of an expression")
            return spans(condition)
        case Rel():
            return _relation(node)
        case _:
            raise NotASet(type(node).__name__)


def _whole_condition(node: Builder) -> tuple[Node, Node]:
    """Return the head and the condition of a set-builder form.

    The head of `{x in D | ...}` is x, and membership in D is added to the condition unless D is the reals.
    """
    match node.head:
        case Rel(ops=("in",), sides=(Sym() as name, domain)):
            if domain in _REALS:
                return name, node.condition
            condition = node.condition
            parts = (
                condition.parts if isinstance(condition, Logic) and condition.op == "and" else (condition,)
            )
            return name, Logic("and", (*parts, node.head))
    return node.head, node.condition


_INTEGERS = {"Z": None, "Z^+": 1, "Z^*+": 1, "Z_+": 1, "N^*": 1, "N^+": 1, "N_+": 1, "Z^{+}": 1, "N": 0}
"""Smallest member of each set of integers, or None for Z. N is listed with 0 but may begin at 1."""
_MOST_MEMBERS = 500
_PROBED = 50
_FAR = (*range(51, 70), 100, 200, 1_000, 10_000, 10**6, 10**9)
"""Sizes of integers beyond the probed range. A set with unsolved bounds must contain none of them."""


def integers(node: Builder) -> tuple[Node, ...]:
    """Return the members of a bounded set of integers or of values at integers, such as `{2k : 0 < k < 4}`.

    Raises:
        NotASet: The set has another form, or membership of 0 is unclear.
    """
    head, condition = _whole_condition(node)
    parts = condition.parts if isinstance(condition, Logic) and condition.op == "and" else (condition,)
    name, domain = "", ""
    rest: list[Node] = []
    for part in parts:
        match part:
            case Rel(ops=("in",), sides=(Sym(name=found), Const(name=target) | Sym(name=target))) if (
                target in _INTEGERS and not name
            ):
                name, domain = found, target
            case _:
                rest.append(part)
    if not name or not rest or symbols(head) != {name} or any(symbols(part) != {name} for part in rest):
        raise NotASet("no set of integers")
    if (first := _INTEGERS[domain]) is not None:
        rest.append(Rel((">=",), (Sym(name), number(first))))
    bounds = Logic("and", tuple(rest)) if len(rest) > 1 else rest[0]
    try:
        members = _between_ends(spans(bounds))
    except NotASet:
        members = [n for n in range(-_PROBED, _PROBED + 1) if holds(bounds, name, Fraction(n))]
        if any(holds(bounds, name, Fraction(sign * n)) for n in _FAR for sign in (1, -1)):
            raise NotASet("without bounds") from None
    if domain == "N" and 0 in members:
        raise NotASet("0 may be in it")
    return tuple(substitute(head, name, number(n)) for n in dict.fromkeys(members))


def enumerated(items: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """Return the members of a list of integers with dots, `1, 3, 5, ..., 99`, or None for other lists.

    At least two members with one step come before the dots, and exactly one after them.
    """
    if len(items) < 4 or items[-2] != Text("..."):
        return None
    known = [item.num for item in items if isinstance(item, Num) and item.den == 1 and item.places is None]
    if len(known) != len(items) - 1:
        return None
    *shown, last = known
    step = shown[1] - shown[0]
    if not step or shown != list(range(shown[0], shown[0] + len(shown) * step, step)):
        return None
    hidden, rest = divmod(last - shown[-1], step)
    if rest or not 0 < hidden < _MOST_MEMBERS:
        return None
    return tuple(number(shown[0] + place * step) for place in range(len(shown) + hidden))


def images(node: Builder) -> tuple[Node, ...] | None:
    r"""Return the values of an expression on a listed set: `\{k^2 : k \in \{1,2,3\}\}`, `k=1,2,\ldots,5`."""
    match node.condition:
        case Rel(ops=("in",), sides=(Sym(name=name), Seq(opening="{", items=items))):
            values = enumerated(items) or items
        case Logic(op="and", parts=(Rel(ops=("=",), sides=(Sym(name=name), first)), *rest)):
            found = enumerated((first, *rest))
            if found is None:
                return None
            values = found
        case _:
            return None
    if symbols(node.head) != {name} or any(map(symbols, values)) or Text("...") in values:
        return None
    return tuple(substitute(node.head, name, value) for value in values)


def among_integers(node: SetOp) -> Builder | None:
    r"""Return the set-builder form of an intersection such as `[1,5] \cap \mathbb{Z}`, or None."""
    domains = [part for part in node.parts if isinstance(part, (Const, Sym)) and part.name in _INTEGERS]
    if node.op != "cap" or len(domains) != 1 or any(map(symbols, node.parts)):
        return None
    member = Sym("n")
    conditions = tuple(Rel(("in",), (member, part)) for part in node.parts if part not in domains)
    return Builder(Rel(("in",), (member, domains[0])), Logic("and", conditions))


def _between_ends(items: Spans) -> list[int]:
    """Return the integers in the spans."""
    found: list[int] = []
    mp = context(30)
    for span in items:
        low, high = real_value(span.low), real_value(span.high)
        if low is None or high is None or not high - low < _MOST_MEMBERS:
            raise NotASet("without bounds")
        near = range(int(mp.ceil(low)) - 1, int(mp.floor(high)) + 2)
        found += [n for n in near if inside((span,), mp.mpf(n))]
    return found


def variable(node: Node) -> str | None:
    """Return the only free variable that a condition restricts, or None for sets and other conditions."""
    match node:
        case Rel() | Logic():
            names = symbols(node)
            calls = {part for part in walk(node) if isinstance(part, App)}
            if calls:  # f(3) and f(4) are different unknowns.
                return repr(calls.pop()) if len(names) == len(calls) == 1 else None
            return next(iter(names)) if len(names) == 1 else None
    return None


def _combine(op: str, parts: list[Spans]) -> Spans:
    if op == "cup":
        return _normal([s for part in parts for s in part])
    result = parts[0]
    for part in parts[1:]:
        result = _intersect(result, part if op == "cap" else _complement(part))
    return result


def _relation(node: Rel) -> Spans:
    """Return the intersection of the sets given by the links of a chain, or the set of a membership."""
    if len(node.ops) == 1 and node.ops[0] in ("in", "notin"):
        target = spans(node.sides[1])
        if not symbols(node.sides[0]) or symbols(node.sides[1]):
            raise NotASet("membership of a constant")
        return target if node.ops[0] == "in" else _complement(target)
    result: Spans = ALL
    for op, left, right in zip(node.ops, node.sides, node.sides[1:], strict=False):
        if op not in _FLIPPED:
            raise NotASet(op)
        result = _intersect(result, _link(op, left, right))
    return result


def _link(op: str, left: Node, right: Node) -> Spans:
    if not symbols(left):
        left, right, op = right, left, _FLIPPED[op]
    names = symbols(left) | symbols(right)
    if len(names) != 1 and not (isinstance(left, App) and not symbols(right)):
        raise NotASet("other than one variable")
    if not isinstance(left, (Sym, App)) or symbols(right):
        op, right = _solve_linear(op, left, right, next(iter(names)))
    closed = op in ("<=", ">=", "=")
    if op in ("<", "<="):
        return _normal([Span(negate(INFINITY), False, right, closed)])
    if op in (">", ">="):
        return _normal([Span(right, closed, INFINITY, False)])
    point = _normal([Span(right, True, right, True)])
    return point if op == "=" else _complement(point)


def _solve_linear(op: str, left: Node, right: Node, name: str) -> tuple[str, Node]:
    """Solve `left op right` for a variable in which the difference of the sides is linear.

    Return the operator and the right-hand side of the solved relation.

    Raises:
        NotASet: The difference is not linear.
    """
    difference = Add((left, negate(right)))
    if any(breaks(walk(difference))):
        raise NotASet("not linear")
    values = [_at(difference, name, Fraction(k, 2)) for k in _LINEAR_PROBES]
    if any(v is None for v in values):
        raise NotASet("not linear")
    start = values[0]
    slope = (values[1] - values[0]) / (_LINEAR_PROBES[1] - _LINEAR_PROBES[0])
    for k, value in zip(_LINEAR_PROBES, values, strict=True):
        expected = start + slope * (k - _LINEAR_PROBES[0])
        if slope == 0 or abs(value - expected) > (abs(value) + abs(slope)) * 1e-20:
            raise NotASet("not linear")
    at = [substitute(difference, name, number(k)) for k in (0, 1)]
    solution = Div(negate(at[0]), Add((at[1], negate(at[0]))))
    return (op if slope > 0 else _FLIPPED[op]), solution


_LINEAR_PROBES = (0, 2, 5, 14, -3, -20)
"""Doubled values of the variable at which linearity is tested. They reveal a kink near the origin."""


def _normal(items: list[Span]) -> Spans:
    """Return the spans sorted, without empty spans and with touching spans merged."""
    if len(items) == 1 and (symbols(items[0].low) or symbols(items[0].high)):
        return tuple(items)
    keyed: list[tuple[Any, Any, Span]] = []
    for item in items:
        low, high = real_value(item.low), real_value(item.high)
        if low is None or high is None:
            raise NotASet("an end that is no number")
        if low > high:
            raise NotASet("ends out of order")
        if low < high or (item.low_closed and item.high_closed):
            keyed.append((low, high, item))
    keyed.sort(key=lambda k: (k[0], not k[2].low_closed))
    merged: list[tuple[Any, Any, Span]] = []
    for low, high, item in keyed:
        if merged:
            last_low, last_high, last = merged[-1]
            same = _same(low, last_high, item.low, last.high)
            if low < last_high or (same and (item.low_closed or last.high_closed)):
                ends_alike = _same(high, last_high, item.high, last.high)
                if high > last_high and not ends_alike:
                    last = last._replace(high=item.high, high_closed=item.high_closed)
                    last_high = high
                elif ends_alike:
                    last = last._replace(high_closed=last.high_closed or item.high_closed)
                merged[-1] = (last_low, last_high, last)
                continue
        merged.append((low, high, item))
    return tuple(item for _, _, item in merged)


def _same(a: Any, b: Any, one: Node, other: Node) -> bool:
    """Return True if two interval endpoints are equal. Each is given as a value and as a tree."""
    if not _true("=", a, b):
        return False
    if one != other and not same_constant(one, other):
        raise NotASet("ends too near each other to be told apart")
    return True


def complement(node: Node) -> Spans:
    """Return the complement of the set that a tree represents.

    Raises:
        NotASet: The set cannot be written as spans, as in `spans`.
    """
    return _complement(spans(node))


def _complement(items: Spans) -> Spans:
    result: list[Span] = []
    low = negate(INFINITY)
    closed = False
    for item in items:
        if item.low != negate(INFINITY):
            result.append(Span(low, closed, item.low, not item.low_closed))
        low = item.high
        closed = not item.high_closed
    if low != INFINITY:
        result.append(Span(low, closed, INFINITY, False))
    return _normal(result)


def _intersect(first: Spans, second: Spans) -> Spans:
    if first == ALL:
        return second
    if second == ALL:
        return first
    return _complement(_normal([*_complement(first), *_complement(second)]))


# --- conditions tested at points ---


def holds(node: Node, name: str, x: Any) -> bool | None:
    """Return True if a real x satisfies a condition or belongs to a set, or None if a value is undefined."""
    match node:
        case Logic(op=op, parts=parts):
            found = [holds(p, name, x) for p in parts]
            if None in found:
                return None
            return all(found) if op == "and" else any(found)
        case Builder():
            head, condition = _whole_condition(node)
            if not isinstance(head, Sym):
                raise NotASet("the values of an expression")
            return holds(condition, name, x)
        case Rel(ops=("in" | "notin" as op,), sides=(head, target)):
            value = _at(head, name, x)
            found_in = None if value is None else inside(spans(target), value)
            return found_in if op == "in" or found_in is None else not found_in
        case Rel(ops=ops, sides=sides):
            values = [_at(s, name, x) for s in sides]
            if any(v is None for v in values):
                return None
            return all(_true(op, a, b) for op, a, b in zip(ops, values, values[1:], strict=False))
        case _:
            return inside(spans(node), x)


def _at(node: Node, name: str, x: Any) -> Any:
    spend(10)
    bound = real_value(node)
    if bound is not None:
        return bound
    try:
        mp = context(30)
        env = {name: x if isinstance(x, Fraction) else as_fraction(x)}
        value = evaluate(node, env, 30)
        return mp.re(value) if abs(mp.im(value)) <= abs(value) * 1e-20 else None
    except (Undefined, TooLarge):
        return None


def _true(op: str, a: Any, b: Any) -> bool:
    finite = context(30).isfinite(a) and context(30).isfinite(b)
    same = a == b or (finite and (abs(a - b) <= (abs(a) + abs(b)) * 1e-20 or abs(a - b) < 1e-22))
    match op:
        case "<":
            return bool(a < b and not same)
        case ">":
            return bool(a > b and not same)
        case "<=":
            return bool(a < b or same)
        case ">=":
            return bool(a > b or same)
        case "=":
            return bool(same)
        case "!=":
            return not same
    raise NotASet(op)


def inside(items: Spans, x: Any) -> bool | None:
    """Return True if a real number is in one of the spans, or None if an end of a span has no value."""
    for item in items:
        low, high = real_value(item.low), real_value(item.high)
        if low is None or high is None:
            return None
        if _true(">=" if item.low_closed else ">", x, low) and _true(
            "<=" if item.high_closed else "<", x, high
        ):
            return True
    return False


def agrees(items: Spans, node: Node, name: str) -> bool | None:
    """Return True if a condition holds exactly on the spans, as tested at, near and between their ends.

    Return None if the spans have no finite ends or an end has no value.
    """
    mp = context(30)
    ends = [
        v for s in items for end in (s.low, s.high) if (v := real_value(end)) is not None and mp.isfinite(v)
    ]
    probes = [mp.mpf(k) * 7 / 3 for k in (-1000, -40, -9, -4, -2, -1, 0, 1, 2, 4, 9, 40, 1000)]
    for end in ends:
        step = (abs(end) + 1) / mp.mpf(1 << 20)
        probes += [end, end - step, end + step, -end, end * 2]
    ordered = sorted(ends)
    probes += [(a + b) / 2 for a, b in pairwise(ordered)]
    decided = 0
    for x in probes:
        found = holds(node, name, x)
        if found is None:
            found = False
        within = inside(items, x)
        if within is None:
            return None
        if found != within:
            return False
        decided += 1
    return True if decided and ends else None
