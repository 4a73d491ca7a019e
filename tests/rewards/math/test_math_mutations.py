"""Wrong answers made from right ones, each certainly wrong by an evaluation of its own: none may be paid.

The families, the ground truths and the evaluation are those of `benchmarks/grader.py`, which runs them
over whole datasets; here they are generated, from a fixed seed.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from math_families import READINGS, TRAPS
from math_mutations import Pair, hunt, pairs, readings, rewrites
from math_truths import generated
from math_values import agree, differ, read

NO_DATA = Path("/nonexistent")


@pytest.fixture(scope="module")
def made() -> list[Pair]:
    return pairs(2_000, 20, NO_DATA)


def _shown(paid: list[Pair]) -> str:
    return "\n".join(f"{pair.family}: {pair.ground_truth!r} <- {pair.response!r}" for pair in paid)


def test_the_pairs_are_of_many_families(made: list[Pair]) -> None:
    assert len(set(made)) == 2_000
    assert len({pair.family for pair in made}) >= 45
    assert len({pair.family for pair in made} & set(TRAPS)) >= 15


@pytest.mark.slow
def test_no_wrong_answer_is_paid_under_the_strict_preset(made: list[Pair]) -> None:
    paid = hunt(made, "strict")
    assert not paid, _shown(paid)


def test_no_wrong_answer_is_paid_by_default(made: list[Pair]) -> None:
    paid = hunt(made, "default")
    assert not paid, _shown(paid)


def test_what_says_the_same_to_a_reader_is_paid_by_default_and_never_under_strict() -> None:
    same = readings(20, NO_DATA)
    assert {pair.family for pair in same} == {family.__name__ for family in READINGS}
    assert not hunt(same, "strict")
    assert len(hunt(same, "default")) > 0.98 * len(same)


def test_gsm8k_pays_for_no_wrong_number(made: list[Pair]) -> None:
    paid = hunt(made, "gsm8k")
    assert not paid, _shown(paid)


def test_rewrites_that_keep_the_value_are_paid() -> None:
    lost = [pair for pair in rewrites(500, 20, NO_DATA) if not hunt([pair], "default")]
    assert not lost, _shown(lost)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("1,000", "1,001", "differ"),
        ("1{,}000", "1000", "agree"),
        ("1\\frac12", "\\frac32", "agree"),
        ("14,16", "14.16", "refused"),
        ("x=-1", "x^3=-1", "open"),
        ("x^2+1=0", "x^2+4=0", "differ"),
        ("50\\%", "0.5", "open"),
        ("50\\%", "51\\%", "differ"),
        ("\\frac13", "0.333", "open"),
        ("4\\mathrm{~km}", "4000\\text{ m}", "open"),
        ("4\\mathrm{~km}", "4\\mathrm{~kg}", "differ"),
        ("\\sin^2 x", "1-\\cos^2 x", "agree"),
        ("(1,2)", "(1,2]", "differ"),
        ("\\{1,2\\}", "\\{2,1\\}", "agree"),
        ("V(0)", "0", "refused"),
        ("\\sin 2x\\cos x", "\\cos x\\sin 2x", "refused"),
    ],
)
def test_the_independent_reading_is_certain_or_says_nothing(one: str, other: str, expected: str) -> None:
    try:
        a, b = read(one), read(other)
    except ValueError:
        assert expected == "refused"
        return
    found = "differ" if differ(a, b) else "agree" if agree(a, b) else "open"
    assert found == expected


def test_every_generated_ground_truth_can_be_read() -> None:
    for truth in generated(400, random.Random(1)):
        if "_" in truth.text and "x" not in truth.text:
            continue  # a number's base, which only the families know
        assert not differ(read(truth.text), read(truth.text)), truth
