"""Whether a composition can pay a wrong answer more than a right one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from rewardkit.composition.combining import combine
from rewardkit.composition.tree import Combine, Composition, CompositionNode, Member, walk
from rewardkit.rewards.shaping import SPANS
from rewardkit.types import Score

_MAX_TRIED = 8
"""Shaping parts of which every combination of ends is tried; the others are taken at their worst."""


def warnings(composition: Composition) -> list[str]:
    """Return one line for each place where what knows nothing of right and wrong can outweigh what does.

    Rewards that score right and wrong are taken to lie between 0 and 1, shaping parts where they say.
    """
    found = [
        line
        for node in walk(composition.root)
        if isinstance(node, Combine)
        for line in (_sum(node) if node.kind == "sum" else _gate(node) if node.kind == "gate" else ())
    ]
    return found or _in_all(composition)


def _in_all(composition: Composition) -> list[str]:
    """Try the tree with right and with wrong answers, each part at either end of what it can score."""
    shaping = [member for member in composition.members if not knows_right(member)]
    if len(shaping) == len(composition.members):
        return [f"{composition.root.path}: nothing in it knows right from wrong"]
    few, rest = shaping[:_MAX_TRIED], shaping[_MAX_TRIED:]
    paid: dict[bool, list[float]] = {True: [], False: []}
    for right in paid:
        for ends in product((0, 1), repeat=len(few)):
            scores = {m.path: Score(_member_span(m)[end]) for m, end in zip(few, ends, strict=True)}
            scores |= {m.path: Score(_member_span(m)[not right]) for m in rest}
            paid[right].append(_paid(composition.root, right, scores))
    most, least, best = max(paid[False]), min(paid[True]), max(paid[True])
    if most > least or most >= best:
        path = composition.root.path
        return [f"{path}: a wrong answer may be paid {most:g}, a right one {least:g} to {best:g}"]
    return []


def _paid(root: CompositionNode, right: bool, scores: Mapping[str, Score]) -> float:
    def lookup(node: Member | Combine) -> Score | None:
        if isinstance(node, Combine):
            return combine(node.items[0], lookup)
        worst = -1.0 if node.reward.name == "math_dapo" else 0.0
        return scores.get(node.path) or Score(1.0 if right else worst, correct=right)

    found = combine(root, lookup)
    return found.score if found is not None else 0.0


def _sum(node: Combine) -> list[str]:
    shaping = sum(_swing(item) for item in node.items if not knows_right(item))
    worth = [abs(item.weight) for item in node.items if knows_right(item)]
    if shaping and not worth:
        return [f"{node.path}: nothing in it knows right from wrong"]
    if worth and shaping and shaping >= min(worth):
        return [
            f"{node.path}: shaping can move the score by {shaping:g}, a right answer by {min(worth):g}; a "
            "wrong answer may be paid more than a right one: lower the weights, or put it behind a gate"
        ]
    return []


def _gate(node: Combine) -> list[str]:
    least = node.items[0].weight + sum(_span(item)[0] for item in node.then)
    most = sum(_span(item)[1] for item in node.otherwise)
    if (node.then and most > least) or (node.otherwise and most >= least):
        return [f"{node.path}: a wrong answer may be paid {most:g}, a right one {least:g}"]
    return []


def knows_right(node: CompositionNode) -> bool:
    """Return True when a node's score depends on whether the answer is right."""
    if isinstance(node, Member):
        return node.reward.name not in SPANS
    return any(map(knows_right, node.items))


def _swing(node: CompositionNode) -> float:
    low, high = _span(node)
    return high - low


def _span(node: CompositionNode) -> tuple[float, float]:
    """Between which values a node lies, its weight included."""
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
    low, high = SPANS.get(member.reward.name, (0.0, 1.0))
    ends = [low, high]
    for name in ("penalty", "shortest", "longest"):
        if name in member.reward.presets:
            ends.append(float(member.reward.presets[name]))
    return min(ends), max(ends)
