"""Rules for combining the scores of a composition's members.

This module reads the members' scores and does not run the members. A score that is not yet known is None. A
node that depends on an unknown score also has the score None, which is computed again later. The same rules
therefore work for a single sample and for a batch whose members run in workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from rewardkit.composition.tree import Combine, CompositionNode, Member
from rewardkit.rewards.shaping import SPANS
from rewardkit.types import UNDECIDED, Score, failure

Lookup = Callable[[Member], Score | None]
"""Function that returns the score of a member, or requests the score and returns None if it is not known."""


def combine(node: CompositionNode, lookup: Lookup) -> Score | None:
    """Return the score of a node, or None if a score that it needs is not yet known.

    If the node fails and its `on_failure` is a number, this number is its score. The node's parent handles
    `fail` and `drop`.
    """
    if isinstance(node, Member):
        found = lookup(node)
    else:
        found = _KINDS[node.kind](node, lookup)
    if found is not None and found.status != "ok" and not isinstance(node.on_failure, str):
        says = isinstance(node, Combine) or node.reward.name not in SPANS
        correct = False if says else None  # a failed shaping reward does not make an answer wrong
        return Score(float(node.on_failure), correct=correct, detail=f"{node.path} failed: {found.status}")
    return found


def is_right(score: Score, threshold: float) -> bool:
    """Return True if a score is correct or, if correctness is not decided, reaches the threshold."""
    return score.correct if score.correct is not None else score.score >= threshold


def is_decided(score: Score) -> bool:
    """Return True if a score reports correctness, and its reward could read and compare the answer."""
    return score.correct is not None and not score.parts.get(UNDECIDED)


def _parts(correct: bool | None, found: Sequence[tuple[CompositionNode, Score]]) -> dict[str, float]:
    """Return the part `undecided` if a node is wrong only because some of its items are undecided."""
    wrong = [score for _, score in found if score.correct is False]
    return {UNDECIDED: 1.0} if correct is False and wrong and not any(map(is_decided, wrong)) else {}


def _below(
    nodes: Sequence[CompositionNode], lookup: Lookup
) -> list[tuple[CompositionNode, Score]] | Score | None:
    """Return the items that did not fail, with their scores.

    Failed items whose `on_failure` is `drop` are left out. The result is a failure if an item whose
    `on_failure` is `fail` failed or if all items failed, and None if a score is not yet known.
    """
    # All scores are requested before the code waits for any of them.
    found = [(node, combine(node, lookup)) for node in nodes]
    if any(score is None for _, score in found):
        return None
    kept = [(node, score) for node, score in found if score is not None]
    for node, score in kept:
        if score.status != "ok" and node.on_failure == "fail":
            return failure(score.status, f"{node.path}: {score.detail or score.status}")
    passed = [(node, score) for node, score in kept if score.status == "ok"]
    if not passed and kept:
        node, score = kept[0]
        why = f"{node.path} and all other items failed: {score.detail or score.status}"
        return failure(score.status, why)
    return passed


def _correct(found: Sequence[tuple[CompositionNode, Score]]) -> bool | None:
    """Return True if all items that decide correctness are correct, or None if no item decides it."""
    said = [score.correct for _, score in found if score.correct is not None]
    return all(said) if said else None


def _score(
    value: float, correct: bool | None, found: Sequence[tuple[CompositionNode, Score]], detail: str
) -> Score:
    """Return the score of a node with the first extracted answer of its items."""
    return Score(value, "ok", correct, _extracted(found), _parts(correct, found), detail)


def _sum(node: Combine, lookup: Lookup) -> Score | None:
    found = _below(node.items, lookup)
    if not isinstance(found, list):
        return found
    total = sum(item.weight * score.score for item, score in found)
    return _score(total, _correct(found), found, f"sum of {len(found)}")


def _product(node: Combine, lookup: Lookup) -> Score | None:
    found = _below(node.items, lookup)
    if not isinstance(found, list):
        return found
    value = prod(item.weight * score.score for item, score in found)
    return _score(value, _correct(found), found, f"product of {len(found)}")


def _min(node: Combine, lookup: Lookup) -> Score | None:
    return _extreme(node, lookup, largest=False)


def _max(node: Combine, lookup: Lookup) -> Score | None:
    return _extreme(node, lookup, largest=True)


def _extreme(node: Combine, lookup: Lookup, *, largest: bool) -> Score | None:
    found = _below(node.items, lookup)
    if not isinstance(found, list):
        return found
    item, score = (max if largest else min)(found, key=lambda pair: pair[0].weight * pair[1].score)
    value = item.weight * score.score
    return Score(
        value,
        correct=score.correct,
        extracted=score.extracted,
        parts=_parts(score.correct, [(item, score)]),
        detail=f"{item.path} decided",
    )


def _all(node: Combine, lookup: Lookup) -> Score | None:
    found = _below(node.items, lookup)
    if not isinstance(found, list):
        return found
    wrong = next((item.path for item, score in found if not is_right(score, node.threshold)), None)
    detail = f"{wrong} is wrong" if wrong else "all items are right"
    return _score(float(wrong is None), wrong is None, found, detail)


def _any(node: Combine, lookup: Lookup) -> Score | None:
    found = _below(node.items, lookup)
    if not isinstance(found, list):
        return found
    right = next(((i, s) for i, s in found if is_right(s, node.threshold)), None)
    if right is None:
        return _score(0.0, False, found, "no item is right")
    return Score(1.0, correct=True, extracted=right[1].extracted, detail=f"{right[0].path} is right")


def _vote(node: Combine, lookup: Lookup) -> Score | None:
    """Return a score of 1.0 if the right items have more weight than the other items, or else 0.0."""
    found = _below(node.items, lookup)
    if not isinstance(found, list):
        return found
    votes = sum(item.weight for item, score in found if is_right(score, node.threshold))
    total = sum(item.weight for item, _ in found)
    right = votes > total - votes
    return _score(float(right), right, found, f"{votes:g} of {total:g} votes for right")


def _first(node: Combine, lookup: Lookup) -> Score | None:
    last: Score | None = None
    for item in node.items:
        score = combine(item, lookup)
        if score is None:
            return None
        if score.status != "ok":
            last = (
                last
                if last is not None and last.status == "ok"
                else failure(score.status, f"{item.path}: {score.detail or score.status}")
            )
            if item.on_failure == "fail" and item is node.items[-1]:
                return failure(score.status, f"{item.path}: {score.detail or score.status}")
            continue
        last = Score(
            item.weight * score.score,
            correct=score.correct,
            extracted=score.extracted,
            parts=_parts(score.correct, [(item, score)]),
            detail=f"{item.path} decided",
        )
        if score.correct or (node.until == "decided" and is_decided(score)):
            return last
    return last


def _gate(node: Combine, lookup: Lookup) -> Score | None:
    condition = node.items[0]
    score = combine(condition, lookup)
    if score is None or score.status != "ok":
        if score is None:
            return None
        return failure(score.status, f"{condition.path}: {score.detail or score.status}")
    right = is_right(score, node.threshold)
    found = _below(node.then if right else node.otherwise, lookup)
    if not isinstance(found, list):
        return found
    total = condition.weight * score.score + sum(item.weight * inner.score for item, inner in found)
    detail = f"{condition.path} is {'right' if right else 'wrong'}"
    return Score(total, correct=right, extracted=score.extracted, detail=detail)


def _extracted(found: Sequence[tuple[CompositionNode, Score]]) -> str | None:
    return next((score.extracted for _, score in found if score.extracted is not None), None)


_KINDS: dict[str, Callable[[Combine, Lookup], Score | None]] = {
    "sum": _sum,
    "product": _product,
    "min": _min,
    "max": _max,
    "all": _all,
    "any": _any,
    "vote": _vote,
    "first": _first,
    "gate": _gate,
}
