"""What points chosen once and for all cannot see: breaks, orders, parities, domains, constants far apart.

The pairs are those of `benchmarks/math_pairs.jsonl`, with numbers and letters from a fixed seed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rewardkit.rewards.math import MathOptions, compare
from rewardkit.rewards.math.guards import budget
from tests.rewards.math import inline

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from math_common import Row, own_pairs

STRICT = MathOptions(preset="strict")


@pytest.fixture(scope="module")
def pairs() -> list[Row]:
    return own_pairs(600, seed=34)


def test_no_function_or_constant_is_paid_that_is_the_same_at_most_points(pairs: list[Row]) -> None:
    for row in pairs:
        if not row["equal"] and row["class"] != "case of units":
            for options in (MathOptions(), STRICT):
                assert not inline.compare(row["gold"], row["answer"], options).equal, row


def test_what_breaks_at_the_same_places_is_paid(pairs: list[Row]) -> None:
    for row in pairs:
        if row["equal"]:
            assert inline.compare(row["gold"], row["answer"]).equal, row


def test_the_verdict_does_not_depend_on_the_order(pairs: list[Row]) -> None:
    for row in pairs[::5]:
        forward = inline.compare(row["gold"], row["answer"])
        assert forward.outcome == inline.compare(row["answer"], row["gold"]).outcome, row


def test_a_hole_of_a_function_is_no_other_ground() -> None:
    for one, other in (
        ("\\frac{x^2-4}{x-2}", "x+2"),
        ("\\frac{x|x|}{x}", "|x|"),
        ("\\frac{n!}{n}", "(n-1)!"),
    ):
        assert inline.compare(one, other).equal, (one, other)


def test_the_search_for_breaks_stays_within_the_budget() -> None:
    terms = "+".join(f"|x_{{{k}}}\\sin(y-{k})-\\lfloor e^{{x_{{{k}}}}}\\rfloor|" for k in range(12))
    with budget() as left:
        inline.compare(terms, f"{terms}+0\\cdot y")
        assert left.steps > -1_000


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (r"\sum_{k=0}^{n}\binom{n}{k}", "2^n"),
        (r"\sum_{k=0}^{n}3^k\binom nk", "4^n"),
        (r"\sum_{k=1}^{n}k", r"\frac{n(n+1)}2"),
        (r"\operatorname{arcsinh}x", r"\ln(x+\sqrt{x^2+1})"),
    ],
)
def test_points_that_nobody_means_deny_no_identity(a: str, b: str) -> None:
    """Bounds out of order, and places so far out that digits are lost."""
    assert compare(a, b).equal
    assert compare(b, a).equal


@pytest.mark.parametrize("name", ["cases", "aligned"])
def test_an_environment_that_holds_nothing_equals_nothing(name: str) -> None:
    for truth in ("no solution", r"\emptyset", r"\mathbb{R}", "x=2"):
        assert not compare(truth, rf"\begin{{{name}}}\end{{{name}}}").equal


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("|x-10^{15}|", "10^{15}-x"),
        (r"\max(x,10^{14})", "10^{14}"),
        (r"|\ln x-50|", r"50-\ln x"),
        (r"5^{n \bmod 65536}", "5^n"),
        (r"5^{|x^2-365x+1800|}", "5^{(x-360)(x-5)}"),
    ],
)
def test_a_break_far_out_tells_functions_apart(a: str, b: str) -> None:
    assert not compare(a, b).equal
    assert not compare(b, a).equal
