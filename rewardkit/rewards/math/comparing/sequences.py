"""Comparison of composite values: lists, sets of values, tuples, vectors, matrices.

The function that compares the items is passed in as `equal`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.rewards.math.comparing import families, linear, names, scalar
from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.comparing.rounding import as_decimal
from rewardkit.rewards.math.comparing.rule import Rule
from rewardkit.rewards.math.guards import MAX_TERMS, TooLarge
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.listing import ANYTHING
from rewardkit.rewards.math.reading.text import is_truth
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Const,
    Degree,
    Div,
    Logic,
    Matrix,
    Mul,
    Node,
    Part,
    Percent,
    Pm,
    Rel,
    Seq,
    SetOp,
    Sym,
    Text,
    symbols,
    walk,
)
from rewardkit.rewards.math.tree.rebuild import substitute

_BOUNDS = {"<", ">", "<=", ">="}
_BRACKETS = {"]": "("}
_CLOSINGS = {"[": ")"}
_COUNTERS = frozenset("klmn")
"""Letters that usually count periods, even without a declaration."""


def sequence(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    assert isinstance(a, Seq)
    if isinstance(b, Matrix):
        return _vector(a, b, options, equal)
    if not isinstance(b, Seq):
        if len(a.items) == 1 and a.opening in ("", "{"):
            return not _is_set(a.items[0], b) and equal(a.items[0], b, options)
        return _family(a, b, options, equal)
    if (interval := _bounds_and_interval(a, b)) is not None:
        return equal(*interval, options)
    if {a.opening, b.opening} <= {"", "{"}:
        return _lists(a, b, options, equal)
    if {a.opening, b.opening} <= {"", "(", "{"} and _both_named(a.items, b.items):
        return matched(a.items, b.items, options, equal)
    if "{" in (a.opening, b.opening) or len(a.items) != len(b.items):
        return False
    if "" not in (a.opening, b.opening) and _brackets(a) != _brackets(b):
        return False
    if "" in (a.opening, b.opening) and any(map(_is_interval, (a, b))):
        return False
    return in_order(a.items, b.items, options, equal)


def is_point_for_list(ground_truth: Node, answer: Node) -> bool:
    """Return True if an answer puts brackets around the ground truth's bare list: `(-2, 2)` for `-2, 2`.

    Brackets with named values, points or plus-or-minus signs are lists and do not count: `(x = -2, 2)`,
    `((1,2), (3,4))`.
    """
    match answer:
        case Rel(sides=(Seq(), _)):
            return False  # An example is (x, y) = (1, 2).
        case Rel(sides=(name, value)) if names.is_label(name):
            answer = value
    if isinstance(ground_truth, Logic) and ground_truth.op in ("both", "either"):
        ground_truth = Seq("", "", ground_truth.parts)
    if not (isinstance(ground_truth, Seq) and isinstance(answer, Seq)) or ground_truth.opening:
        return False
    if len(names.labels(ground_truth.items)) > 1 or any(_is_bound(item) for item in ground_truth.items):
        return False  # Examples are x = 1, y = 2 and -2 < x, x < 2.
    return answer.opening == "(" and not any(
        isinstance(part, (Rel, Seq, Text, Pm, Part)) for item in answer.items for part in walk(item)
    )


def is_restated(ground_truth: Node, answer: Node, options: MathOptions, equal: Rule) -> bool:
    """Return True if an answer lists the right value in several notations: `1/2, 0.5`."""
    if isinstance(ground_truth, Seq) or not isinstance(answer, Seq) or answer.opening:
        return False
    return len(names.labels(answer.items)) < 2 and all(
        equal(ground_truth, item, options) for item in answer.items
    )


def _family(a: Seq, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    r"""Compare `\frac{\pi}{4} + n\pi, n \in \mathbb{Z}` with a formula whose letter is not declared."""
    rest, domains = declared(a.items)
    if not domains or not symbols(b):
        return False
    return _with_integers(rest, (b,), domains, {}, options, equal)


def _is_bound(node: Node) -> bool:
    return isinstance(node, Rel) and set(node.ops) <= _BOUNDS


def _bounds_and_interval(a: Seq, b: Seq) -> tuple[Node, Node] | None:
    """Return a list such as `x > -2, x < 2` as one condition, and the interval on the other side, or None."""
    for this, other in ((a, b), (b, a)):
        if (
            this.opening
            or other.opening not in ("(", "[", "]")
            or len(this.items) != 2
            or len(other.items) != 2
        ):
            continue
        if all(map(_is_bound, this.items)):
            unknowns = {symbols(item) for item in this.items}
            return (Logic("and", this.items), other) if len(unknowns) == 1 else None
    return None


def _is_interval(seq: Seq) -> bool:
    """Return True if square brackets enclose an interval: `[1,3]`, but not `[3,1]` or `[1,2,3]`."""
    if len(seq.items) != 2 or not {seq.opening, seq.closing} & {"[", "]"}:
        return False
    low, high = map(scalar.real_value, seq.items)
    return low is None or high is None or bool(low < high)


def _brackets(seq: Seq) -> tuple[str, str]:
    return _BRACKETS.get(seq.opening, seq.opening), _CLOSINGS.get(seq.closing, seq.closing)


def _lists(a: Seq, b: Seq, options: MathOptions, equal: Rule) -> bool | None:
    """Compare bare lists and sets, ignoring order and repetitions.

    Values are compared in order if only one side names them.
    """
    first, domains = declared(a.items)
    second, others = declared(b.items)
    if domains or others:
        return _with_integers(first, second, domains, others, options, equal)
    if same_families(first, second, counted=False):
        return True
    if all(map(_is_truth, (*first, *second))):
        return in_order(first, second, options, equal)  # The truth values belong to successive statements.
    labels = [names.labels(first), names.labels(second)]
    named = all(labels) and labels[0] != labels[1]
    if named and (indexed := _indexed_values(first, second)) is not None:
        return matched(*indexed, options, equal)
    one_sided = (len(labels[0]) > 1) != (len(labels[1]) > 1) and min(map(len, labels)) == 0
    if one_sided:
        return in_order(first, second, options, equal) if len(first) == len(second) else False
    return matched(first, second, options, equal)


def _is_truth(node: Node) -> bool:
    return node in (Sym("T"), Sym("F")) or (isinstance(node, Text) and is_truth(node.text))


def _both_named(first: tuple[Node, ...], second: tuple[Node, ...]) -> bool:
    """Return True if two tuples both name their values or consist of labelled parts."""
    if all(isinstance(item, Part) for item in (*first, *second)):
        return True
    return all(map(names.assignment, (*first, *second))) and len(names.labels(first)) > 1


def _indexed_values(first: Sequence[Node], second: Sequence[Node]) -> tuple[list[Node], list[Node]] | None:
    """Return the values in lists with a single name, or None for other lists. A single name implies no order.

    Examples are `x_1 = 2, x_2 = 3` and `x = 2, x = 3`.
    """
    bases = set()
    lists = []
    for items in (first, second):
        values = []
        for item in items:
            found = names.assignment(item)
            if found is not None:
                bases.add(names.base_name(found[0]))
            values.append(item if found is None else found[1])
        lists.append(values)
    return (lists[0], lists[1]) if len(bases) == 1 and "" not in bases else None


def declared(items: tuple[Node, ...]) -> tuple[tuple[Node, ...], dict[str, bool]]:
    r"""Separate declarations such as `k \in \mathbb{Z}` from the other items.

    Return the other items, and a mapping from each declared name to True if it may be any integer.
    """
    letters = {}
    rest = []
    for item in items:
        match item:
            case Rel(ops=("in",), sides=(Sym(name=name), target)) if len(items) > 1 and _is_integers(target):
                letters[name] = target in (Const("Z"), Sym("Z"))
            case _:
                rest.append(item)
    return tuple(rest), letters


def _is_integers(node: Node) -> bool:
    return node in (Const("Z"), Const("N"), Sym("Z"), Sym("N")) or (
        isinstance(node, Sym) and node.name[:2] in ("Z^", "N^")
    )


def _with_integers(
    first: tuple[Node, ...],
    second: tuple[Node, ...],
    domains: dict[str, bool],
    others_domains: dict[str, bool],
    options: MathOptions,
    equal: Rule,
) -> bool | None:
    """Compare two families of values that depend on an integer. Its name does not matter.

    Args:
        first: Items of the first side without its declarations.
        second: Items of the second side without its declarations.
        domains: Letters declared by the first side, each mapped to True if it may be any integer.
        others_domains: Letters declared by the second side, each mapped to True if it may be any integer.
        options: Options of the comparison.
        equal: Function that compares items.
    """
    if domains and others_domains and set(domains.values()) != set(others_domains.values()):
        return False
    if all((domains | others_domains).values()) and (found := same_families(first, second)) is not None:
        return found
    letters = domains | others_domains
    left, right = (
        {n for item in items for n in symbols(item)} - _names_of(names.labels(items))
        for items in (first, second)
    )
    mine, others = left - right, right - left
    if len(mine) == len(others) == 1 and (mine | others) & letters.keys():
        old = others.pop()
        new = Sym(mine.pop())
        second = tuple(substitute(item, old, new) for item in second)
        right = {new.name}
    return matched(first, second, options, equal)


def may_count(node: Node) -> bool:
    """Return True if a formula may be a family because its only letter usually counts periods."""
    return isinstance(node, (Add, Mul, Div)) and len(found := symbols(node)) == 1 and found <= _COUNTERS


def same_families(first: Sequence[Node], second: Sequence[Node], *, counted: bool = True) -> bool | None:
    """Compare residue classes and values counted by an integer, ignoring the name of the integer.

    Return None if one side is not a family, or nothing indicates that the letter is an integer.

    Args:
        first: Items of the first side.
        second: Items of the second side.
        counted: True if a side declares its letter as any integer. Otherwise the letter must be one that
            usually counts periods, in multiples of pi or degrees, and must not be a variable in the question.
    """
    labels = [_subjects(items) for items in (first, second)]
    if all(labels) and not any(names.same_label(x, y) for x in labels[0] for y in labels[1]):
        return None
    values = [[names.value_of(names.named(item)) for item in items] for items in (first, second)]
    letters = [{n for item in items if not _is_residue(item) for n in symbols(item)} for items in values]
    residues = any(_is_residue(item) for items in values for item in items)
    if any(len(found) > 1 for found in letters) or not (any(letters) or residues):
        return None
    one, other = ("".join(found) for found in letters)
    if not counted and not {one, other} <= _COUNTERS | {""}:
        return None
    counted = counted or residues
    if not counted and not all(_is_periodic(item) for items in values for item in items):
        return None
    classes = [families.family(items, letter) for items, letter in zip(values, (one, other), strict=True)]
    if classes[0] is None or classes[1] is None:
        return None
    if not counted:
        renamed = any(labels) and one != other
        shifted = all(families.is_shifted(found) for found in classes if found)
        if not renamed and not (shifted and (any(labels) or "n" not in (one, other))):
            return None
    return families.same(classes[0], classes[1])


def _is_residue(node: Node) -> bool:
    return isinstance(node, Rel) and node.ops == ("mod", "modulus")


def _subjects(items: Sequence[Node]) -> list[Node]:
    """Return the subjects of the congruences and the names of the named values among the items."""
    found = [item.sides[0] for item in items if isinstance(item, Rel) and _is_residue(item)]
    return [name for name in (*found, *names.labels(items)) if name != ANYTHING]


def _is_periodic(node: Node) -> bool:
    return any(isinstance(part, Degree) or part == Const("pi") for part in walk(node))


def _names_of(labels: set[Node]) -> set[str]:
    return {label.name for label in labels if isinstance(label, Sym)}


def in_order(a: Sequence[Node], b: Sequence[Node], options: MathOptions, equal: Rule) -> bool | None:
    if len(a) != len(b):
        return False
    found: bool | None = True
    for x, y in zip(a, b, strict=True):
        verdict = not _is_set(x, y) and equal(x, y, options)
        if verdict is False:
            return False
        found = None if verdict is None else found
    return found


def _is_set(x: Node, y: Node) -> bool:
    """Return True if one of two items is a set in braces and the other is a plain value."""
    first, second = (isinstance(item, Seq) and item.opening == "{" for item in (x, y))
    return first != second and not isinstance(
        y if first else x, (Seq, SetOp, Matrix, Text, Rel, Logic, Const)
    )


def matched(a: Sequence[Node], b: Sequence[Node], options: MathOptions, equal: Rule) -> bool | None:
    """Return True if every item of each side has an equal item on the other side, or None if undecided."""
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
            verdicts = (
                [not _is_set(x, y) and equal(x, y, options) for y in other] if x not in other else [True]
            )
            if True not in verdicts:
                if None not in verdicts:
                    return False
                open_verdict = True
    return None if open_verdict else True


def _exact_values(items: Sequence[Node]) -> set[object] | None:
    """Return the values of a list of integers and fractions, or None if the list has any other item."""
    try:
        values = {exact(item) for item in items}
    except (Irrational, TooLarge):
        return None
    return None if any(isinstance(i, Percent) or as_decimal(i) for i in items) else set(values)


def _vector(a: Seq, grid: Matrix, options: MathOptions, equal: Rule) -> bool | None:
    if (listed := linear.from_lists(a)) is not None:
        return matrix(listed, grid, options, equal)
    column = all(len(row) == 1 for row in grid.rows)
    cells = [row[0] for row in grid.rows] if column else grid.rows[0] if len(grid.rows) == 1 else None
    return in_order(a.items, cells, options, equal) if cells is not None and a.opening != "{" else False


def matrix(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    assert isinstance(a, Matrix)
    if not isinstance(b, Matrix):
        return equal(a.rows[0][0], b, options) if len(a.rows) == len(a.rows[0]) == 1 else False
    if len(a.rows) != len(b.rows) or len(a.rows[0]) != len(b.rows[0]):
        return False
    return in_order([c for row in a.rows for c in row], [c for row in b.rows for c in row], options, equal)
