"""The qa reward: an accepted answer and nothing else, numbers as numbers, dates as dates."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewardkit.rewards.qa import QaOptions, score
from rewardkit.rewards.qa.equal import f1, form, same
from rewardkit.types import Sample, Score


def scored(response: str, truth: Any, **options: Any) -> Score:
    text = truth if isinstance(truth, str) else json.dumps(truth)
    return score(Sample("qa", response, text), QaOptions(**options))


def test_the_same_words_in_another_order_are_another_answer() -> None:
    assert not scored("Wide World Web", ["World Wide Web"]).correct


@pytest.mark.parametrize("truth", ["2020-13-05", "2020-02-31", "2020-12-00", "9999-99-99"])
def test_figures_that_are_no_date_are_a_text_like_others(truth: str) -> None:
    assert scored(f"The answer is {truth}.", [truth]).correct
    assert scored("The answer is 2020-10-05.", [truth]).correct is False


def test_two_dates_are_no_date() -> None:
    assert not same(form("12 May 13 1999"), form("13 May 1999"))
    assert scored("1776\n4 July 1776", ["4 July 1776"]).correct is False


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("paris", "Paris"), ("The Beatles", "Beatles"), ("“Paris”", "Paris"), ("Sao Paulo", "São Paulo"), ("5.0", "5"),
        ("1,000", "1000"), ("$5", "5"), ("5%", "5"), ("−5", "-5"), ("May 12, 1999", "12 May 1999"), ("1999-05-12", "12 May 1999"),
        ("12th May 1999", "12 May 1999"), ("US", "U.S."), ("Martin Luther King Jr.", "Martin Luther King, Jr"),
        ("Jean Paul Sartre", "Jean-Paul Sartre"), ("AC/DC", "ACDC"), ("O'Neill", "ONeill"), ("vitamin A", "vitamin a"),
        ("Москва", "москва"), ("東京", "東京"), ("C++", "c++"), ("Yes.", "yes"), ("George W. Bush", "George W Bush"),
    ],
)  # fmt: skip
def test_what_is_written_otherwise_is_the_same(answer: str, truth: str) -> None:
    assert same(form(answer), form(truth))
    assert scored(f"<answer>{answer}</answer>", [truth]).score == 1.0


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("-5", "5"), ("5", "-5"), ("3.5", "35"), ("35", "3.5"), ("vitamin", "vitamin A"), ("!", "?"), ("", "the"), ("C", "C++"),
        ("C++", "C#"), ("12 May 1998", "12 May 1999"), ("12 June 1999", "12 May 1999"), ("1.000", "1000"), ("1e3", "e3"),
        ("Paris, Texas", "Paris"), ("not Paris", "Paris"), ("3 yards", "4 yards"), ("10", "1"), ("nan", "1"), ("5-3", "53"),
        ("version 1.2", "version 12"), ("the", "a"), ("June 5", "June 6"), ("1-0", "10"), ("$-5", "5"), ("5,3", "53"),
    ],
)  # fmt: skip
def test_what_means_something_else_is_not(answer: str, truth: str) -> None:
    assert not same(form(answer), form(truth))
    assert scored(f"<answer>{answer}</answer>", [truth]).score == 0.0


def test_ground_truths_come_as_every_dataset_has_them() -> None:
    right = "<answer>Paris</answer>"
    for truth in (
        "Paris", ["Rome", "Paris"], {"target": "Paris"}, {"target": ["Paris"]}, {"value": "Paris", "aliases": ["City of Light"]},
        {"answers": {"text": ["Paris"]}}, {"number": "", "spans": ["Paris"], "date": {}}, {"golden_answers": ["Paris"]},
    ):  # fmt: skip
        assert scored(right, truth).score == 1.0, truth
    for truth in ("", "?", [], {}, {"target": []}, [None], {"number": "", "spans": [], "date": {}}):
        found = scored(right, truth)
        assert (found.status, found.score) == ("invalid", 0.0), truth


def test_all_spans_of_a_ground_truth_are_asked_for_in_any_order() -> None:
    drop = {"number": "", "spans": ["Smith", "Jones"], "date": {}}
    assert scored("<answer>Jones and Smith</answer>", drop).correct
    assert scored("<answer>Smith, Jones</answer>", drop).correct
    assert scored("<answer>Smith</answer>", drop).correct is False
    assert scored("<answer>Smith, Jones, Brown</answer>", drop).correct is False
    dated = {"number": "", "spans": [], "date": {"day": "12", "month": "May", "year": "1999"}}
    assert scored("<answer>May 12, 1999</answer>", dated).correct
    assert scored("<answer>3</answer>", {"number": "3", "spans": [], "date": {}}).correct


def test_f1_shares_words_but_not_with_other_numbers_or_yes_and_no() -> None:
    assert f1(form("Barack Hussein Obama"), form("Barack Obama")) == pytest.approx(0.8)
    assert scored(
        "<answer>Barack Hussein Obama</answer>", ["Barack Obama"], metric="f1"
    ).score == pytest.approx(0.8)
    for answer, truth in (
        ("yes no", "yes"),
        ("4 yards", "3 yards"),
        ("", "x"),
    ):
        assert f1(form(answer), form(truth)) == 0.0, answer
    assert f1(form("3 apples"), form("3 red apples")) == pytest.approx(0.8)


def test_compat_pays_what_verl_pays() -> None:
    truth = {"target": ["5", "35", "the"]}
    verl = lambda response: scored(response, truth, compat="verl").score  # noqa: E731
    assert [verl(f"<answer>{a}</answer>") for a in ("-5", "3.5", "", "6")] == [1.0, 1.0, 1.0, 0.0]
    assert [verl("<answer>5</answer>" * n) for n in (10, 11)] == [1.0, 0.25]
    assert verl("5") == 0.0


def test_the_answer_is_the_content_of_the_last_frame_or_one_line() -> None:
    for said in (
        "<answer>Paris</answer>", "Answer: Paris.", "It is far.\n\n**Answer:** Paris", "The capital is known. The answer is Paris. It is large.",
        "\\boxed{\\text{Paris}}", '{"reasoning": "It is so.", "answer": "Paris"}', "Paris", "['Paris']", "**Paris**", "```\n<answer>Paris</answer>\n```",
        "Answer: Rome\n\nHmm, that is wrong. Answer: Paris", "Answer: Paris\n\nQuestion: And Italy's?\nAnswer: Rome", "答案：Paris",
    ):  # fmt: skip
        assert scored(said, ["Paris"]).correct, said
    for said in (
        "It is Paris.", "Paris\nis it", "<answer>Paris or Rome</answer>", "<answer>not Paris</answer>", "Answer: Paris, Rome", "Rome\n\nAnswer: Paris\nAnswer: Rome",
        "<answer>Paris</answer> or <answer>Rome</answer>", "<think>Answer: Paris</think>", "<answer></answer>", "Rome<|im_end|>\nAnswer: Paris", "x" * 2_000 + " Paris",
    ):  # fmt: skip
        assert scored(said, ["Paris"]).correct is False, said


def test_contains_pays_for_a_mention_anywhere_in_the_own_text() -> None:
    for said in (
        "I believe it is Paris, of course.",
        "Rome, Paris, Berlin",
        "<think>Rome</think>It is\nPARIS!",
    ):
        assert scored(said, ["Paris"], metric="contains").correct, said
    for said in ("Parisian", "Rome", "<think>Paris</think>Rome", "Rome\n\nQuestion: x?\nAnswer: Paris", ""):
        assert scored(said, ["Paris"], metric="contains").correct is False, said
    assert scored(
        "both Smith and then Jones", {"number": "", "spans": ["Jones", "Smith"]}, metric="contains"
    ).correct
    assert scored("It was the 1,500 of them.", ["1500"], metric="contains").correct


@pytest.mark.parametrize(
    ("answer", "truth", "right"),
    [
        ("twenty-five", "25", True), ("minus eight", "-8", True), ("three quarters", "3/4", True), ("0.75", "3/4", True), ("12 apples", "12", True),
        ("5 km", "5 kilometers", True), ("5 km", "5000 m", True), ("5 miles", "5 km", False), ("5", "5 km", False), ("$5", "5 dollars", True), ("€5", "$5", False),
        ("$1.5 million", "$1,500,000", True), ("twenty-six", "25", False), ("12 Monkeys", "12 Monkeys", True), ("12", "12 Monkeys", False), ("50", "50 Cent", False),
        ("Sunday, July 20, 1969", "20 July 1969", True), ("1969年7月20日", "July 20, 1969", True), ("Mt. Everest", "Mount Everest", True), ("75%", "75.0%", True),
    ],
)  # fmt: skip
def test_numbers_units_and_dates_are_compared_by_their_value(answer: str, truth: str, right: bool) -> None:
    assert scored(f"<answer>{answer}</answer>", [truth]).correct is right
