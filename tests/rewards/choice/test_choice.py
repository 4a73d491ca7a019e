"""The choice reward: one option and no other, however it is written."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from rewardkit.rewards.choice import Options, score
from rewardkit.types import Sample, Score

SETS = (
    "fresh",
    "held_out",
    "held_out_2",
    "held_out_3",
    "held_out_4",
    "held_out_5",
    "held_out_6",
    "held_out_7",
    "held_out_8",
    "held_out_9",
    "held_out_10",
    "combined",
)
CAPITALS = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}


def judge(response: str, truth: str = "B", info: dict[str, Any] | None = None, **options: Any) -> Score:
    return score(Sample("choice", response, truth, None, info or {}), Options(**options))


@pytest.mark.parametrize("templates", ["choice", *(f"choice_{name}" for name in SETS)])
def test_responses_of_templates_are_paid_as_their_authors_said(templates: str) -> None:
    missed = 0
    cases = list(import_module(f"tests.rewards.templates.{templates}").generate(1_000, seed=2))
    for case in cases:
        correct = judge(case.response, case.ground_truth, case.extra_info).correct
        assert case.right or not correct, case
        missed += case.right and not correct
    assert missed <= len(cases) / 100, missed


SETTLED = [
    "Since %s does not apply, the answer must be Lyon.", "As it cannot be %s, the correct answer is B.", "Because %s isn't near the sea, the answer is (B) Lyon.",
    "Given that %s can't be right, the only possible answer is B.", "While %s is not absurd, the best answer is B.", "%s does not fit, so the answer is B.",
    "%s does not fit, therefore the answer is B.", "%s is not it, which means the answer is B.", "%s is not right – the answer is B.",
    "It isn't %s: the answer is B.", "So since neither %s nor Lille fits, the answer is B.", "Although %s is never mentioned, the answer is B.",
]  # fmt: skip
UNSETTLED = [
    "I do not think, as %s does, the answer is B.", "If it is not %s, the answer is B.", "As nobody but %s would say, the answer is B.",
    "Since I do not believe that, as some say, the answer is B.", "It is not true that, because of %s, the answer is B.", "I doubt it: the answer is B.",
    "Unless it is not %s, the answer is B.", "Since it is not clear that the answer is B, I say nothing.", "I never said the answer is B.",
    "It is not, as %s has it, the case that the answer is B.", "Nobody thinks so, and the answer is B?", "Whether or not it is %s, the answer is B or C.",
]  # fmt: skip


@pytest.mark.parametrize("said", SETTLED)
def test_what_is_denied_before_the_answer_is_stated_leaves_it_stated(said: str) -> None:
    assert judge(said.replace("%s", "Nice"), "B", CAPITALS).correct is True
    assert judge(said.replace("%s", "Nice"), "C", CAPITALS).correct is False


@pytest.mark.parametrize("said", UNSETTLED)
def test_what_denies_the_answer_itself_leaves_none(said: str) -> None:
    assert judge(said.replace("%s", "Nice"), "B", CAPITALS).correct is False


@pytest.mark.parametrize(
    ("response", "truth", "right"),
    [
        ("Answer: (B)", "B", True),
        ("**Answer:** B", "B", True),
        ("\\boxed{B}", "B", True),
        ("answer: b", "B", True),
        ("Answer: Because it is so", "B", False),
        ("The answer is Democracy", "D", False),
        ("Answer: A or B", "A", False),
        ("Answer: !B", "B", False),
        ("\\boxed{!B}", "B", False),
        ("**!B**", "B", False),
        ("Answer: B!", "B", True),
        ("The answer is A. No wait. The answer is B.", "B", True),
        ("The answer is A. No wait. The answer is B.", "A", False),
        ("I think B. In conclusion I am sure.", "I", False),
        ("(B) is right, not (A)", "B", True),
        ("(B) is right, not (A)", "A", False),
        ("Answer seems unclear", "S", False),
        ("Let's see", "L", False),
        ("The answer is a matter of taste.", "A", False),
        ("I don't think the answer is B.", "B", False),
        ("Is the answer B?", "B", False),
        ("The answer is B, C, and D.", "B", False),
    ],
)
def test_what_deceives_others_does_not_deceive_us(response: str, truth: str, right: bool) -> None:
    """The failures of simple-evals, MMLU-Pro and lm-eval that shared/reference/rewards.md lists."""
    if truth in "ABCDEFGHIJ":
        assert judge(response, truth).correct is right
    else:
        assert judge(response, truth).status == "invalid"


def test_an_options_text_counts_as_its_letter() -> None:
    assert judge("The answer is Lyon.", "B", CAPITALS).correct
    assert judge("It is Paris, not Lyon", "B", CAPITALS).correct is False
    assert judge("Partly yes", "D", {"choices": ["x", "y", "z", "Par"]}).correct is False
    assert judge("The answer is B. Paris", "B", CAPITALS).correct is False
    assert judge("The answer is B. Lyon", "B", CAPITALS).correct


def test_the_truth_may_be_a_letter_an_index_a_text_or_several() -> None:
    for truth in ("B", "b", "(B)", "1", "Lyon", '["B"]', "[1]"):
        assert judge("B", truth, CAPITALS).correct, truth
    assert judge("A, B", '["A", "B"]').correct
    assert judge("AB", '["A", "B"]').correct
    assert judge("A", '["A", "B"]').correct is False
    assert judge("A", '["A", "B"]', several="any").correct
    assert judge("A, B", '["A", "B"]', several="any").correct
    assert judge("A, C", '["A", "B"]', several="any").correct is False
    for truth in ("", "K", "Berlin", "[", "[]", "7", "-1"):
        assert judge("B", truth, CAPITALS).status == "invalid", truth


def test_options_come_as_list_mapping_or_labels_and_texts() -> None:
    arc = {"choices": {"label": ["1", "2"], "text": ["wood", "iron"]}}
    assert judge("(2)", "2", arc).extracted == "2"
    assert judge("The answer is iron.", "2", arc).correct
    assert judge("wood", "A", {"options": {"A": "wood", "B": "iron"}}).correct
    assert judge("He eats.", "1", {"endings": ["He sleeps.", "He eats."]}).correct


def test_shuffled_options_are_put_back() -> None:
    shown = {"choices": ["Lyon", "Lille", "Paris", "Nice"], "permutation": [1, 3, 0, 2]}
    assert judge("C", "A", shown).correct  # Paris, option A originally, is shown third
    assert judge("A", "A", shown).correct is False
    assert judge("C", "A", {**shown, "permutation": [1, 3]}).status == "invalid"


def test_the_values_are_options_and_format_pays_only_what_was_stated() -> None:
    values = {"score": 2.0, "wrong_score": -1.0, "format_score": 0.1}
    responses = ("\\boxed{B}", "\\boxed{C}", "nothing", "\\boxed{B or C}")
    assert [judge(r, **values).score for r in responses] == [2.0, 0.1, -1.0, -1.0]
    assert [judge(r).parts for r in ("\\boxed{C}", "C")] == [{"format": 1.0}, {"format": 0.0}]


def test_options_that_differ_by_a_sign_are_told_apart() -> None:
    lines = {"choices": ["y = x - 2", "y = x / 2", "y = x + 2", "A only", "x-2"]}
    assert judge("The answer is y = x - 2.", "A", lines).correct
    assert judge("The answer is y = x / 2.", "A", lines).correct is False
    assert judge("The answer is (A) y = x / 2.", "A", lines).correct is False
    assert judge("**D)** A only", "D", lines).correct


def test_the_options_of_a_prepared_row_are_read_from_its_metadata() -> None:
    info = {"metadata": '{"choices": ["Paris", "Lyon", "Nice", "Lille"], "subject": "x"}'}
    assert judge("The answer is Lyon.", "B", info).correct
    assert not judge("The answer is (B) Nice.", "B", info).correct
    assert judge("The answer is (B).", "B", {"metadata": "no JSON"}).correct
