"""No reward pays for what is not the answer, and none breaks on hostile text: every class, every reward."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import rewardkit.rewards  # noqa: F401  (registers the rewards)
from rewardkit.registry import REGISTRY
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score
from tests.rewards.attacks import ANSWER_FORMS, BARE, BOXED, HOSTILE, attacks


@dataclass(frozen=True)
class Target:
    """One question to one reward."""

    reward: str
    ground_truth: str
    right: str
    wrong: str
    others: tuple[str, ...] = ()
    forms: tuple[str, ...] = ANSWER_FORMS
    options: dict[str, Any] = field(default_factory=dict)
    extra_info: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.reward} {self.right}"


CAPITALS = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}
TARGETS = (
    Target("choice", "C", "C", "B", ("A", "D")),
    Target("choice", "0", "A", "B", ("C", "D"), extra_info=CAPITALS),
    Target("choice", '["A", "C"]', "A, C", "B", ("D",), extra_info=CAPITALS),
    Target("geometry3k", "5", "5", "6", ("7",), (BOXED,), {"format_weight": 0.0}),
    Target("exact", "Paris", "Paris", "Rome", forms=(BARE,)),
    Target("regex", "Par[i]s", "Paris", "Rome", forms=(BARE,)),
    Target("number", "72", "72", "73", ("71",)),
    Target("qa", '["Paris"]', "Paris", "Rome", ("Lyon",)),
    Target("qa", '{"target": ["5"]}', "5", "-5", ("50", "0.5")),
    Target("qa", "12 May 1999", "May 12, 1999", "May 12, 1998", ("May 1999",)),
)

ALSO_HOSTILE = (
    Target("json", '{"value": {"a": 1}}', '{"a": 1}', "{}"),
    Target("yaml", '{"value": {"a": 1}}', "a: 1", "a: 2"),
    Target("xml", '["think", "answer"]', "<think>a</think><answer>b</answer>", ""),
    Target("rouge_l", "zebras graze", "zebras graze", "horses"),
    Target("chrf", "zebras graze", "zebras graze", "horses"),
    Target("bleu", "zebras graze", "zebras graze", "horses"),
    Target("contains", "zebra", "A zebra", "A horse"),
    Target(
        "instructions",
        '{"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["zebra"]}]}',
        "A zebra.",
        "A horse.",
    ),
)


def score(target: Target, response: str) -> Score:
    reward = REGISTRY.by_name(target.reward)
    assert reward is not None
    sample = Sample(target.reward, response, target.ground_truth, "What is it?", target.extra_info)
    return RewardRunner(reward, reward.make_options(target.options)).run([sample])[0]


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_the_right_answer_is_paid_in_every_form(target: Target) -> None:
    for form in target.forms:
        found = score(target, form % target.right)
        assert (found.status, found.score, found.correct) == ("ok", 1.0, True), (form, found)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_no_attack_is_paid(target: Target) -> None:
    paid = []
    for kind, response in attacks(target.right, target.wrong, target.forms, target.others):
        found = score(target, response)
        assert found.status == "ok", (kind, response[:200], found)
        if found.score > 0 or found.correct:
            paid.append((kind, response[:200], found.detail))
    assert not paid


@pytest.mark.slow
@pytest.mark.parametrize("target", (*TARGETS, *ALSO_HOSTILE), ids=str)
def test_hostile_text_is_scored_and_not_paid(target: Target) -> None:
    """The first question to a reward meets all texts, each other one another third: each takes half a second."""
    place = [other for other in (*TARGETS, *ALSO_HOSTILE) if other.reward == target.reward].index(target)
    for response in HOSTILE[place % 3 :: 3] if place else HOSTILE:
        found = score(target, response)
        assert (found.status, bool(found.correct)) == ("ok", False), (response[:40], found)
