"""Geometry3K: the answer in the box, the format part, and verl's rule on request."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.rewards.geometry3k import GeometryOptions, score
from rewardkit.rewards.geometry3k.compat import accurate
from rewardkit.types import Sample, Score


def scored(response: str, truth: str = "5", **options: Any) -> Score:
    return score(Sample("hiyouga/geometry3k", response, truth), GeometryOptions(**options))


def test_answer_and_format_are_weighed_nine_to_one() -> None:
    thought = "<think>Angles add up.</think> "
    assert scored(thought + "\\boxed{5}").score == pytest.approx(1.0)
    assert scored("\\boxed{5}").score == pytest.approx(0.9)
    assert scored(thought + "\\boxed{6}").score == pytest.approx(0.1)
    assert scored(thought + "\\boxed{6}", format_needs_answer=True).score == 0.0
    assert scored(thought + "5").score == 0.0
    assert scored(thought + "\\boxed{5}", format_weight=0.0).score == 1.0
    assert scored(thought + "\\boxed{5}").parts == {"acc": 1.0, "format": 1.0, "undecided": 0.0}


@pytest.mark.parametrize(
    "response", ["", "no box", "\\boxed{", "\\boxed{}", "<think></think>\\boxed{}", "None"]
)
def test_no_box_is_wrong_whatever_the_ground_truth(response: str) -> None:
    for truth in ("None", "5"):
        found = scored(response, truth)
        assert (found.status, found.score, found.correct) == ("ok", 0.0, False), (truth, found)
    for malformed in ("", "\\boxed{}", "\\frac{1}{"):
        assert scored("\\boxed{5}", malformed).status == scored(response, malformed).status == "invalid"


@pytest.mark.parametrize(
    ("response", "truth", "paid"),
    [
        ("<think>x</think> \\boxed{5}", "5", 1.0), ("\\boxed{5}", "5", 0.9), (" <think>x</think>\\boxed{5}", "5", 0.9),
        ("<think>x</think>\\boxed{6}", "5", 0.1), ("<think>x</think>\\boxed{5} \\boxed{6}", "5", 0.1), ("\\boxed{5 cm}", "5", 0.9),
        ("\\boxed{5^\\circ}", "5", 0.9), ("\\boxed{x=5}", "5", 0.9), ("\\boxed{50\\%}", "50", 0.9), ("\\boxed{0.5}", "\\frac{1}{2}", 0.9),
        ("\\boxed{\\frac{3}{6}}", "\\frac{1}{2}", 0.0), ("\\boxed{(5,6)}", "5,6", 0.0), ("\\boxed{", "5", 0.0), ("\\boxed{}", "", 0.9),
        ("no box", "None", 0.9), ("\\boxed{3\\sqrt{2}}", "\\sqrt{18}", 0.9), ("\\boxed{2\\pi}", "2 \\pi", 0.9), ("\\boxed{1,000}", "1000", 0.9),
    ],
)  # fmt: skip
def test_compat_pays_what_verl_pays(response: str, truth: str, paid: float) -> None:
    """The values that shared/reference/rewards.md records of verl 0.9.1 with mathruler 0.1.0."""
    assert scored(response, truth, compat="verl").score == pytest.approx(paid)


@pytest.mark.parametrize(
    ("answer", "ground_truth", "right"),
    [
        ("50\\quad", "50", True), ("50\\;", "50", True), ("72\\degree", "72", True), ("12\\rm cm", "12", True), ("2\\pi\\mbox{cm}", "2\\pi", True),
        ("\\displaystyle2x", "2x", True), ("\\color{red}72", "72", True), ("\\sqrt{18}\\mid", "\\sqrt{18}|", True), ("\\frac12", "\\frac{1}{2}", True),
        ("\\frac{\\sqrt{3}}{2}", "\\sqrt3/2", True), ("\\text{ cm}\\frac{3}{2}", "\\frac{3}{2}", True), ("\\frac{x^{2}}{3}", "x^2/3", True),
        ("A\\right)", "A", False), ("\\left(A", "A", False), ("*5", "x=5", False), ("3,5", "3.5", False), (",1/2", "0.5", False), ("3.5 ~", "3.5", False),
        ("\\times 0.5", "0.5", False), ("3\\sqrt{=2}", "3\\sqrt{2}", False), ("0.\\frac12", "0.5", False), ("b!", "b", False), ("5\\approx", "5", False),
        ("\\frac{1}{2}  or", "\\frac{1}{2}", False), ("\\mathbf{A}", "A", False), ("5\\\\6", "56", False),
    ],
)  # fmt: skip
def test_compat_reads_macros_as_verls_grader_does(answer: str, ground_truth: str, right: bool) -> None:
    assert accurate(answer, ground_truth) is right
