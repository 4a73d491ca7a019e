"""The reward functions: scores, statuses, parts, options and presets."""

from __future__ import annotations

import importlib.util

import msgspec
import pytest

from rewardkit.errors import MissingDependencyError
from rewardkit.rewards.math import DapoOptions, MathOptions, compare, explain, score, score_dapo
from rewardkit.types import Sample


def scored(response: str, gold: str, **options: object) -> float:
    made = msgspec.convert(options, MathOptions, strict=False)
    return score(Sample("math", response, gold), made).score


def test_right_wrong_and_missing_answers() -> None:
    right = score(Sample("math", "so \\boxed{\\frac12}", "0.5"))
    assert (right.score, right.correct, right.extracted, right.parts) == (
        1.0,
        True,
        "\\frac12",
        {"format": 1.0, "undecided": 0.0},
    )
    wrong = score(Sample("math", "so it is 3", "0.5"))
    assert (wrong.score, wrong.correct, wrong.extracted, wrong.parts) == (
        0.0,
        False,
        "3",
        {"format": 0.0, "undecided": 0.0},
    )
    missing = score(Sample("math", "no idea", "0.5"))
    assert (missing.score, missing.status, missing.extracted) == (0.0, "ok", None)
    assert "no answer" in (missing.detail or "")


def test_an_empty_gold_cannot_be_scored() -> None:
    assert score(Sample("math", "\\boxed{1}", " ")).status == "invalid"


def test_a_json_list_of_golds_means_any_of_them() -> None:
    golds = '["1/2", "0.5 cm"]'
    assert scored("\\boxed{0.5}", golds) == 1.0
    assert scored("\\boxed{0.6}", golds) == 0.0


def test_scores_can_be_chosen_and_the_form_alone_can_be_worth_something() -> None:
    values = {"correct_score": 2.0, "wrong_score": -1.0, "format_score": 0.1}
    assert scored("\\boxed{5}", "5", **values) == 2.0
    assert scored("\\boxed{6}", "5", **values) == 0.1
    assert scored("it is 6", "5", **values) == -1.0


@pytest.mark.parametrize(
    "response",
    [
        "\\boxed{4, 5, 6}",
        "\\boxed{5 \\text{ is wrong}}",
        "\\boxed{\\text{not } 5}",
        "\\boxed{5 = 4}",
        "\\boxed{[4, 6]}",
        "\\boxed{5 \\pm 1}",
        "\\boxed{4}<!-- \\boxed{5} -->",
        "\\boxed{5}. On reflection: \\boxed{4}",
        "<think>= 5</think> \\boxed{4}",
        "\\boxed{NaN}",
    ],
)
def test_hedges_and_smuggled_answers_earn_nothing(response: str) -> None:
    assert scored(response, "5") == 0.0


@pytest.mark.parametrize(
    "answer",
    ["5", " 5 ", "5.", "5.0", "+5", "05", "$5$", "\\text{5}", "(5)", "x = 5", "５", "5 \\text{ cm}", "\\$5"],
)
def test_harmless_spelling_costs_nothing(answer: str) -> None:
    assert scored(f"Thus \\boxed{{{answer}}}.", "5") == 1.0


def test_each_policy_can_be_changed() -> None:
    def same(gold: str, answer: str, **options: object) -> bool:
        return compare(gold, answer, msgspec.convert(options, MathOptions, strict=False)).equal

    assert same("5 \\text{ cm}", "5") and not same("5 \\text{ cm}", "5", units="required")
    assert same("50\\%", "50") and not same("50\\%", "50", units="required")
    assert same("50\\%", "0.5") and same("50\\%", "0.5", units="required")
    assert same("90^\\circ", "90") and not same("90^\\circ", "90", units="required")
    assert same("\\pi", "3.142") and not same("\\pi", "3.142", rounding_digits=5)


def test_what_is_set_beside_a_preset_stays_even_at_the_default() -> None:
    assert compare("\\pi", "3.142", MathOptions(preset="strict", rounding_digits=4)).equal
    assert compare("5\\text{ cm}", "5", MathOptions(preset="strict", units="optional")).equal
    assert not compare("\\pi", "3.142", MathOptions(preset="strict")).equal


def test_the_strict_preset_demands_a_box_units_and_exactness() -> None:
    assert scored("The answer is 5.", "5", preset="strict") == 0.0
    assert scored("\\boxed{5}", "5 cm", preset="strict") == 0.0
    assert scored("\\boxed{0.333}", "1/3", preset="strict") == 0.0
    assert scored("\\boxed{1010}", "1010_2", preset="strict") == 0.0
    assert scored("\\boxed{1010_2}", "1010_2", preset="strict") == 1.0
    assert scored("\\boxed{5}", "5", preset="strict") == 1.0


def test_dapo_pays_plus_and_minus_one_and_reports_acc() -> None:
    right = score_dapo(Sample("math_dapo", "Answer: 34", "34"))
    wrong = score_dapo(Sample("math_dapo", "Answer: 35", "34"), DapoOptions())
    assert (right.score, right.parts, right.extracted) == (1.0, {"acc": 1.0, "undecided": 0.0}, "34")
    assert (wrong.score, wrong.parts) == (-1.0, {"acc": 0.0, "undecided": 0.0})


# What verl 0.8 and 0.9 answer, as observed: string equality after its own normalisation.
@pytest.mark.parametrize(
    ("response", "gold", "paid"),
    [
        ("\\boxed{\\frac12}", "\\frac{1}{2}", 1.0),
        ("\\boxed{0.5}", "\\frac{1}{2}", 1.0),
        ("\\boxed{x=3}", "3", 1.0),
        ("\\boxed{3\\text{ cm}}", "3", 1.0),
        ("\\boxed{1,000}", "1000", 0.0),
        ("\\boxed{0.50}", "\\frac{1}{2}", 0.0),
        ("\\boxed{\\frac36}", "\\frac{1}{2}", 0.0),
        ("\\fbox{3}", "3", 0.0),
        ("\\boxed 3$ and so on", "3", 1.0),
        ("\\boxed{3} then \\boxed{4", "3", 0.0),
    ],
)
def test_verl_math_reward_is_reproduced(response: str, gold: str, paid: float) -> None:
    assert scored(response, gold, compat="verl_math_reward") == paid


@pytest.mark.parametrize(
    ("response", "gold", "new", "old"),
    [
        ("Answer: 34", "34", 1.0, 1.0),
        ("answer : \\boxed{34}", "34", 1.0, 1.0),
        ("\\boxed{34}", "34", 1.0, -1.0),
        ("**Answer:** 34", "34", -1.0, -1.0),
        ("Answer: 34.", "34", -1.0, -1.0),
        ("Answer: 1,034", "1034", 1.0, 1.0),
        ("Answer: x = 5 cm", "5", 1.0, 1.0),
        ("Answer: 34" + " " * 400, "34", -1.0, -1.0),
    ],
)
def test_verl_math_dapo_is_reproduced_in_both_versions(
    response: str, gold: str, new: float, old: float
) -> None:
    assert scored(response, gold, compat="math_dapo") == new
    assert scored(response, gold, compat="math_dapo_0_8") == old


@pytest.mark.skipif(importlib.util.find_spec("math_verify") is not None, reason="math-verify is installed")
def test_a_missing_package_is_named_with_the_way_to_install_it() -> None:
    with pytest.raises(MissingDependencyError, match=r"pip install 'rewardkit\[math-verify\]'"):
        scored("\\boxed{1}", "1", compat="math_verify")


def test_an_explanation_shows_what_was_read_and_who_decided() -> None:
    shown = explain("[1,2)", "so \\boxed{1 \\le x < 2}")
    assert (shown.outcome, shown.tier, shown.method) == ("equal", "tree", "boxed")
    assert shown.answer_form == "1 <= x < 2"
    text = str(explain("5", "no idea"))
    assert "no answer in the response" in text
    assert "(2)^((10)^(9))" in str(explain("1", "\\boxed{2^{10^9}}"))  # and not what it comes to


@pytest.mark.parametrize(
    "ground_truth",
    [
        "", " ", "$$", "\\boxed{}", "\\text{}", "\\\\", "\\frac{1}{", "x^{2", "\\boxed{5", "\\{1,2", "\\left(1,2", '["a", "b"',
        "\\begin{pmatrix}1",
    ],
)  # fmt: skip
def test_a_ground_truth_that_nothing_can_equal_is_invalid_whatever_is_said(ground_truth: str) -> None:
    for response in ("\\boxed{5}", f"Answer: {ground_truth}", ""):
        found = score(Sample("math", response, ground_truth))
        assert found.status == "invalid", (response, found)
        assert found.detail and "ground truth" in found.detail


@pytest.mark.parametrize(
    "ground_truth", ["<", "(a) and b)", "[0,1)", "]0,1]", "even", "\\{1,2\\}", "x \\text{ if } y"]
)
def test_a_ground_truth_that_can_be_repeated_is_scored(ground_truth: str) -> None:
    assert score(Sample("math", f"\\boxed{{{ground_truth}}}", ground_truth)).correct
    assert score(Sample("math", "\\boxed{5}", ground_truth)).status == "ok"


@pytest.mark.parametrize("answer", ["x^2+", "\\frac{1}{", "3 \\unheardof 4", "\\begin{matrix} 1"])
def test_an_answer_that_cannot_be_read_is_undecided_and_a_wrong_one_is_not(answer: str) -> None:
    unread = score(Sample("math", f"<answer>{answer}</answer>", "34"))
    assert (unread.score, unread.correct, unread.parts["undecided"]) == (0.0, False, 1.0)
    for read in ("<answer>35</answer>", "no answer", "<answer>34</answer>"):
        assert score(Sample("math", read, "34")).parts["undecided"] == 0.0
