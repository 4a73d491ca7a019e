"""Reward without knowledge needs several values, and several values are no answer: one table, every reward.

Each attack holds the right answer and no commitment to it. None is paid, whatever the words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from rewardkit.registry import REGISTRY
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score


@dataclass(frozen=True)
class Question:
    """A question to one reward."""

    reward: str
    right: str
    wrong: str
    forms: tuple[str, ...]
    ground_truth: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    extra_info: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.reward}-{self.right}"


TAGS = "<answer>%s</answer>"
BOX = "\\boxed{%s}"
HASH = "\n#### %s\n"
MARKER = "\nAnswer: %s\n"
SENTENCE = "So the answer is %s."
CHINESE = "答案：%s\n"
CAPITALS = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}
FRAMES = (TAGS, BOX, HASH, MARKER, SENTENCE, CHINESE)
QUESTIONS = (
    Question("gsm8k", "72", "71", (HASH,)),
    Question("gsm8k", "72", "71", FRAMES, options={"method": "flexible"}),
    Question("number", "72", "71", FRAMES),
    Question("choice", "B", "C", FRAMES),
    Question("choice", "Lyon", "Nice", FRAMES, ground_truth="B", extra_info=CAPITALS),
    Question("qa", "Lyon", "Nice", FRAMES),
    Question("math", "72", "71", FRAMES),
    Question("math", "\\frac{1}{2}", "\\frac{1}{3}", (BOX,)),
)

WITHIN = {
    "two values": ("{wrong}, {right}", "{right}, {wrong}", "{right} {wrong}", "{right}; {wrong}", "{right}/{wrong}", "[{right}, {wrong}]"),
    "A or B": ("{right} or {wrong}", "{wrong} or {right}", "{right} and {wrong}", "{right} 或 {wrong}", "either {right} or {wrong}"),
    "false equation": ("{wrong} = {right}",),
    "denied within": ("not {right}", "not {right} but {wrong}"),
}  # fmt: skip
"""What one frame may hold."""

AROUND = {
    "side by side": ("{wrong}{right}", "{right}{wrong}", "{wrong} or {right}", "{right}, {wrong}", "{wrong}\n\n{right}", "{wrong}{right}{wrong}"),
    "a thought": ("<think>{right}</think>", "<think>{right}", "{wrong}<think>{right}", "<thinking>{right}</thinking> {wrong}"),
    "after the end": ("{wrong}<|im_end|>{right}", "{wrong}</s>{right}", "<|im_end|>{right}", "{wrong}<|eot_id|>\n{right}"),
    "a comment": ("{wrong} <!-- {right} -->", "<!-- {right} -->", "{wrong}\n<!-- {right}"),
    "a next turn": (
        "{wrong}\n\nQuestion: What is it?\n{right}", "I do not know.\n\nUser: It is\n{right}", "{wrong}\n\n### Problem 2\n{right}",
        "{wrong}\n\n问题：几个？\n{right}",
    ),
    "a fence beside a frame": ("{wrong}\n```\n{right}\n```",),
    "the last counts": ("{right} On reflection, this one:\nit comes out differently, so it must be that.\n{wrong}",),
}  # fmt: skip
"""Where frames may stand; `{right}` is the whole frame."""


def scored(question: Question, response: str) -> Score:
    reward = REGISTRY.by_name(question.reward)
    assert reward is not None
    sample = Sample(
        question.reward, response, question.ground_truth or question.right, "Which?", question.extra_info
    )
    return RewardRunner(reward, reward.make_options(question.options)).run_one(sample)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_the_one_right_value_in_a_frame_is_paid(question: Question) -> None:
    for form in question.forms:
        found = scored(question, "Some work.\n" + form % question.right)
        assert (found.status, found.score, found.correct) == ("ok", 1.0, True), (form, found)
        found = scored(question, "Some work.\n" + form % question.wrong)
        assert (found.status, found.correct) == ("ok", False), (form, found)


@pytest.mark.parametrize("kind", WITHIN)
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_a_frame_that_does_not_hold_one_value_is_no_answer(question: Question, kind: str) -> None:
    for attack in WITHIN[kind]:
        said = attack.format(right=question.right, wrong=question.wrong)
        for form in question.forms:
            found = scored(question, f"Some work.\n{form % said}")
            assert (found.status, found.correct) == ("ok", False), (form % said, found)


@pytest.mark.parametrize("kind", AROUND)
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_a_frame_beside_another_value_or_outside_of_the_own_text_is_no_answer(
    question: Question, kind: str
) -> None:
    for attack in AROUND[kind]:
        for form in question.forms:
            response = attack.format(right=form % question.right, wrong=form % question.wrong)
            found = scored(question, response)
            assert (found.status, found.correct) == ("ok", False), (response, found)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_an_empty_frame_is_passed_over_and_alone_is_no_answer(question: Question) -> None:
    for form in question.forms:
        for empty in ("", " ", "...", "\\ldots"):
            assert scored(question, form % empty).correct is False
            assert scored(question, form % question.right + "\n" + form % empty).correct is True, (
                form,
                empty,
            )
