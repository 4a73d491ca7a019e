"""Standard errors and tests against figures worked by hand, and the cover of intervals by simulation."""

from __future__ import annotations

import random

import pytest

from rewardkit.evaluation.intervals import (
    difference,
    estimate,
    mcnemar,
    sign_flips,
    standard_error,
    t_quantile,
    wilson,
)


def bits(text: str) -> list[list[float]]:
    return [[float(c) for c in group] for group in text.split()]


def test_the_standard_error_is_clustered_by_prompt() -> None:
    assert standard_error(bits("1111 0000 1010 0001 1110")) == pytest.approx(0.176777, abs=1e-6)
    assert standard_error(bits("1111 00 101 0 11")) == pytest.approx(0.196419, abs=1e-6)
    assert standard_error(bits("1")) is None


def test_student_s_t() -> None:
    """From the tables."""
    for freedom, expected in ((1, 12.7062), (2, 4.3027), (5, 2.5706), (30, 2.0423), (100_000, 1.9600)):
        assert t_quantile(freedom) == pytest.approx(expected, abs=1e-4)


def test_wilson_by_hand() -> None:
    z = 1.959963985
    assert wilson(0.0, 10, z) == pytest.approx((0.0, 0.277533), abs=1e-6)
    assert wilson(0.1, 10, z) == pytest.approx((0.017876, 0.404150), abs=1e-6)
    assert wilson(0.602, 1000, z) == pytest.approx((0.571327, 0.631892), abs=1e-6)


def test_an_interval_of_a_share_stays_within_0_and_1_and_is_wide_where_nothing_varies() -> None:
    none = estimate(bits("0000 " * 10), share=True)
    assert none is not None and none.low == 0.0 and none.high is not None and none.high > 0.2
    few = estimate(bits("1000 " + "0000 " * 9), share=True)
    assert few is not None and few.low is not None and few.low > 0.0


def test_an_interval_of_single_responses_is_wilson_s_and_shrinks_towards_1() -> None:
    widths = []
    for right in (90, 98, 99, 100):
        found = estimate([[1.0]] * right + [[0.0]] * (100 - right), share=True)
        assert found is not None and found.low is not None and found.high is not None
        assert (found.low, found.high) == pytest.approx(wilson(right / 100, 100, t_quantile(99)))
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)


def test_scores_that_hardly_vary_have_a_narrow_interval() -> None:
    found = estimate([[0.5 + 0.01 * (i % 3 - 1)] for i in range(99)], share=True)
    assert found is not None and found.low is not None and found.high is not None
    assert found.high - found.low < 0.01


def test_no_interval_of_a_difference_of_shares_is_beyond_what_shares_can_differ_by() -> None:
    found = difference(bits("0 0"), bits("1 0"))
    assert (found.low, found.high) == (-1.0, 1.0)  # two prompts say nothing
    scores = difference([[0.0], [0.0]], [[2.0], [0.0]])
    assert scores.low is not None and scores.low < -1.0


def test_one_prompt_has_no_interval_and_no_value_no_estimate() -> None:
    one = estimate([[1.0, 0.0]])
    assert one is not None and one.mean == 0.5 and one.low is None
    assert estimate([[], []]) is None


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "correlation"), [(0.02, 0.7), (0.5, 0.3), (0.98, 0.3)])
def test_intervals_hold_a_simulated_truth_as_often_as_they_say(mean: float, correlation: float) -> None:
    """100 prompts with 8 responses each; rates of prompts are drawn from a Beta with this correlation."""
    generator = random.Random(1)
    scale = (1 - correlation) / correlation
    runs = 800
    held = 0
    for _ in range(runs):
        groups = []
        for _ in range(100):
            rate = generator.betavariate(mean * scale, (1 - mean) * scale)
            right = (
                generator.binomialvariate(8, rate)
                if hasattr(generator, "binomialvariate")
                else sum(generator.random() < rate for _ in range(8))
            )
            groups.append([1.0] * right + [0.0] * (8 - right))
        found = estimate(groups, share=True)
        assert found is not None and found.low is not None and found.high is not None
        held += found.low <= mean <= found.high
    assert 0.93 <= held / runs <= 0.975  # within two standard errors of the simulation, 0.93 to 0.97


def test_paired_differences_by_hand() -> None:
    a, b = bits(" ".join("1101011011")), bits(" ".join("1001001101"))
    found = difference(a, b)
    assert (found.mean, found.standard_error) == (pytest.approx(-0.2), pytest.approx(0.2))
    assert (found.better, found.worse, found.test) == (1, 3, "McNemar")
    assert found.p_value == pytest.approx(0.625)


@pytest.mark.parametrize(
    ("b", "c", "p"),
    [(3, 1, 0.625), (25, 10, 0.016674), (0, 6, 0.03125), (0, 0, 1.0)],
)
def test_mcnemar_by_hand(b: int, c: int, p: float) -> None:
    assert mcnemar(b, c) == pytest.approx(p, abs=1e-6)
    assert mcnemar(c, b) == mcnemar(b, c)


def test_sign_flips_are_exact_for_few_prompts_and_near_it_for_many() -> None:
    assert sign_flips([0.25] * 6) == pytest.approx(2 / 2**6)
    assert sign_flips([0.5, -0.5, 0.0]) == 1.0
    assert sign_flips([0.25] * 12 + [-0.25] * 2) == pytest.approx(mcnemar(12, 2), abs=0.005)
    state = random.getstate()
    sign_flips([0.1] * 20)
    assert random.getstate() == state


@pytest.mark.parametrize("score", [0.1, 0.3, 0.5, 1 / 3, 0.7])
def test_equal_scores_have_one_interval_however_they_are_rounded(score: float) -> None:
    found = estimate([[score] * 4] * 6, share=True)
    assert (found.low, found.high) == pytest.approx(wilson(score, 6, t_quantile(5)))
