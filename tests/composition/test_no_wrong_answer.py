"""No wrong answer is paid more than a right one by a composition that `check` has nothing to say of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from rewardkit.composition import check, compose
from rewardkit.composition.combining import combine
from rewardkit.composition.tree import Combine, Member, compose_tree
from rewardkit.rewards.shaping import SPANS
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score

KNOWING = {"math": (0.0,), "gsm8k": (0.0, 0.1), "exact": (0.0,)}
"""What each pays wrong answers."""
SHAPING = ("think_format", "length_cosine", "repetition", "refusal")

weights = st.sampled_from([0.02, 0.1, 0.3, 0.5, 0.9, 1.0, 2.0, -0.2])
members = st.builds(
    lambda name, weight: {"reward": name, "weight": weight}, st.sampled_from([*KNOWING, *SHAPING]), weights
)


def _above(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(items, min_size=1, max_size=3)
    several = st.builds(
        lambda kind, inner, weight: {kind: inner, "weight": weight},
        st.sampled_from(["sum", "product", "min", "max", "all", "any", "first"]), lists, weights,
    )  # fmt: skip
    gates = st.builds(
        lambda condition, then, otherwise, weight: {"gate": {**condition, "then": then, "else": otherwise}, "weight": weight},
        items, st.lists(items, max_size=2), st.lists(items, max_size=1), weights,
    )  # fmt: skip
    return several | gates


trees = st.recursive(members, _above, max_leaves=7).filter(lambda tree: "reward" not in tree)


def _at_random(root: Member | Combine, right: bool, draw: Any) -> float:
    """What a tree pays when every part scores anything that it can."""
    known: dict[str, Score] = {}

    def lookup(member: Member) -> Score | None:
        if member.path not in known:
            known[member.path] = scored(member.reward.name)
        return known[member.path]

    def scored(name: str) -> Score:
        if name in KNOWING:
            return Score(1.0 if right else draw(st.sampled_from(KNOWING[name])), correct=right)
        return Score(draw(st.floats(*SPANS[name])))

    paid = combine(root, lookup)
    assert paid is not None and paid.status == "ok"
    return paid.score


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(tree=trees, data=st.data())
def test_where_check_is_silent_no_wrong_answer_is_paid_more(
    tree: dict[str, Any], data: st.DataObject
) -> None:
    tree.pop("weight")
    assume(not check(compose("silent", tree, ["silent"])))
    root = compose_tree(tree, "silent", ["silent"]).root
    wrong, right = (_at_random(root, answer, data.draw) for answer in (False, True))
    assert wrong <= right + 1e-9


RIGHT = (
    "#### 72",
    "<think>6 * 12</think>#### 72",
    "again and again and again and again\n#### 72",
    "I can't help with that. #### 72",
)
WRONG = ("#### 7", "<think>6 * 12</think>#### 7", "", "I can't help with that.", "72 " * 400, "#### 72 or 73")


numbers = count()


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer(workers=1) as opened:
        yield opened


@settings(max_examples=30, deadline=None)
@given(
    then=st.lists(st.tuples(st.sampled_from(SHAPING), st.floats(-1.0, 2.0)), max_size=3),
    otherwise=st.lists(st.tuples(st.sampled_from(SHAPING), st.floats(-1.0, 2.0)), max_size=3),
)
@example(then=[("length_cosine", 0.1), ("think_format", 0.1)], otherwise=[])
def test_a_gate_pays_no_wrong_response_more_than_a_right_one_or_is_warned_of(
    scorer: Scorer, then: list[tuple[str, float]], otherwise: list[tuple[str, float]]
) -> None:
    name = f"gated{next(numbers)}"
    items = [[{"reward": name, "weight": weight} for name, weight in parts] for parts in (then, otherwise)]
    made = compose(name, {"gate": {"reward": "gsm8k", "then": items[0], "else": items[1]}}, [name])
    found = scorer.score_batch([Sample(name, response, "72") for response in (*RIGHT, *WRONG)])
    right, wrong = found[: len(RIGHT)], found[len(RIGHT) :]
    assert all(score.correct for score in right) and not any(score.correct for score in wrong)
    if max(score.score for score in wrong) > min(score.score for score in right):
        assert check(made)
