"""Warnings about compositions that can give a wrong answer as high a score as a right answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from rewardkit.composition.combining import combine
from rewardkit.composition.tree import Combine, Composition, CompositionNode, Member, walk
from rewardkit.rewards.shaping import SPANS
from rewardkit.types import Score, failure

_MAX_TRIED = 10
"""Maximum number of parts for which every combination of lowest and highest scores is tried.

The check fixes all other parts at one end of their range.
"""
_FORMAT_SCORES = {"gsm8k": 0.1, "geometry3k": 0.1}
"""Default score of a wrong answer in the right format, by reward."""
_FAILED = failure("error", "tried")

Ends = Sequence[Score]
"""Lowest and highest scores of a part, and a failure if the part may fail."""


def warnings(composition: Composition) -> list[str]:
    """Return a warning for each node where shaping can outweigh the difference between a right and a wrong
    answer.

    A reward that scores answers is assumed to give 1 for right answers and 0 for wrong answers, unless its
    options set other scores. The score of a shaping part is assumed to be within its declared bounds.
    """
    found = [
        line
        for node in walk(composition.root)
        if isinstance(node, Combine)
        for line in (_sum(node) if node.kind == "sum" else _gate(node) if node.kind == "gate" else ())
    ]
    return found or _in_all(composition)


def _in_all(composition: Composition) -> list[str]:
    """Return warnings found by evaluating the tree for right and wrong answers with extreme part scores."""
    path = composition.root.path
    parts = composition.members
    if not any(map(knows_right, parts)):
        return [f"{path}: no reward in this composition distinguishes right answers from wrong answers"]
    right = list(_paid(composition.root, {part.path: _ends(part, right=True) for part in parts}, lowest=True))
    wrong = list(
        _paid(composition.root, {part.path: _ends(part, right=False) for part in parts}, lowest=False)
    )
    if not right or not wrong:
        return []
    most, least, best = max(wrong), min(right), max(right)
    if most > least or most >= best:
        return [f"{path}: a wrong answer may score {most:g}, a right answer scores {least:g} to {best:g}"]
    return []


def _paid(root: CompositionNode, ends: Mapping[str, Ends], *, lowest: bool) -> Iterator[float]:
    """Yield the tree's score for each combination of the parts' lowest and highest scores.

    Args:
        root: Root of the tree.
        ends: Lowest and highest scores of each part, by path.
        lowest: True to use the lowest scores of the parts beyond `_MAX_TRIED`; False to use the highest.
    """
    open_ = [path for path, several in ends.items() if len(several) > 1]
    tried, rest = open_[:_MAX_TRIED], open_[_MAX_TRIED:]
    fixed = {path: several[0] for path, several in ends.items() if len(several) == 1}
    fixed |= {path: (min if lowest else max)(ends[path], key=lambda score: score.score) for path in rest}
    for chosen in product(*(ends[path] for path in tried)):
        scores = fixed | dict(zip(tried, chosen, strict=True))

        def lookup(member: Member, scores: Mapping[str, Score] = scores) -> Score | None:
            return scores.get(member.path)

        found = combine(root, lookup)
        if found is not None and found.status == "ok":
            yield found.score


def _ends(node: Member, *, right: bool) -> Ends:
    """Return a member's lowest and highest scores, for right or for wrong answers.

    For wrong answers, the result includes a failure if `on_failure` tolerates failures.
    """
    failed = [] if right or node.on_failure == "fail" else [_FAILED]
    if not knows_right(node):
        return [*(Score(end) for end in _member_span(node)), *failed]
    if right:
        return [Score(_option(node, ("correct_score", "score"), 1.0), correct=True)]
    usual = _FORMAT_SCORES.get(node.reward.name, 0.0)
    other = {
        _option(node, (name,), usual)
        for name in ("format_score", "wrong_score", "neither_score", "valid_score")
    }
    return [*(Score(value, correct=False) for value in sorted({min(other), max(other)})), *failed]


def _sum(node: Combine) -> list[str]:
    shaping = sum(_swing(item) for item in node.items if not knows_right(item))
    worth = [abs(item.weight) for item in node.items if knows_right(item)]
    if shaping and not worth:
        return [f"{node.path}: no reward in this sum distinguishes right answers from wrong answers"]
    if worth and shaping and shaping >= min(worth):
        return [
            (
                f"{node.path}: shaping can change the score by {shaping:g}, a right answer by "
                f"{min(worth):g}, so a wrong answer may score more than a right answer; lower the "
                "weights of the shaping, or put the shaping behind a gate"
            )
        ]
    return []


def _gate(node: Combine) -> list[str]:
    least = node.items[0].weight + sum(_span(item)[0] for item in node.then)
    most = sum(_span(item)[1] for item in node.otherwise)
    if (node.then and most > least) or (node.otherwise and most >= least):
        return [f"{node.path}: a wrong answer may score {most:g}, a right answer only {least:g}"]
    return []


def knows_right(node: CompositionNode) -> bool:
    """Return True if a node's score depends on the correctness of the answer."""
    if isinstance(node, Member):
        ranked = node.options.reward if node.reward.name == "rank" else node.reward.name
        return ranked not in SPANS
    return any(map(knows_right, node.items))


def _swing(node: CompositionNode) -> float:
    low, high = _span(node)
    return high - low


def _span(node: CompositionNode) -> tuple[float, float]:
    """Return the lowest and the highest score of a node, multiplied by its weight."""
    if isinstance(node, Member):
        low, high = _member_span(node)
    elif node.kind == "sum":
        spans = [_span(item) for item in node.items]
        low, high = sum(s[0] for s in spans), sum(s[1] for s in spans)
    else:
        spans = [_span(item) for item in (*node.items, *node.then, *node.otherwise)]
        low, high = min(s[0] for s in spans), max(s[1] for s in spans)
    ends = (low * node.weight, high * node.weight)
    return min(ends), max(ends)


def _member_span(member: Member) -> tuple[float, float]:
    """Return the lowest and the highest score of a member, taken from its options if they set bounds."""
    low, high = SPANS.get(member.reward.name, (0.0, 1.0))
    if hasattr(member.options, "penalty"):
        low, high = 0.0, member.options.penalty
    elif hasattr(member.options, "shortest"):
        low, high = member.options.shortest, member.options.longest
    return min(low, high), max(low, high)


def _option(member: Member, names: Sequence[str], usual: float) -> float:
    """Return the value of the first of these options that is a number, or `usual` if the member sets none."""
    found = (getattr(member.options, name, None) for name in names)
    return float(next((value for value in found if isinstance(value, int | float)), usual))
