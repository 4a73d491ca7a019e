"""One number as people write it; several, and one that is changed, are no value."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.rewards.answers.number import last_number, number_in


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("72", 72), ("-3", -3), ("−3", -3), ("$1,234.50", "1234.50"), ("1{,}234", 1234), ("72 apples", 72), ("72apples", 72), ("5km", 5), ("3pm", 3), ("72USD", 72), ("14 sacks per day", 14),
        ("25%", 25), ("25\\%", 25), ("1/2", "0.5"), ("\\frac{1}{2}", "0.5"), ("2\\frac{1}{2}", "2.5"), ("1 1/2", "1.5"), ("1e3", 1000),
        ("5 \\times 10^{3}", 5000), ("5 million dollars", 5_000_000), ("x = 72", 72), ("9*8 = 72", 72), ("9*8=<<9*8=72>>72", 72),
        ("72 = 72.0", 72), ("7２", 72), ("\\boxed{3} apples", 3), ("$3$", 3), ("**3**", 3), ("3 m^2", 3), ("18. She makes 18 dollars", 18),
        ("\\text{5 cm}", 5), ("3 (three)", 3),
        ("½", "0.5"), ("2½", "2.5"), ("2½ cups", "2.5"), ("2 ½", "2.5"), ("3 m²", 3), ("1\u202f234", 1234),
    ],
)  # fmt: skip
def test_a_number_with_its_unit_has_a_value(text: str, value: int | str) -> None:
    found = number_in(text)
    assert found is not None and found.value is not None
    assert found.value == Decimal(value)


@pytest.mark.parametrize(
    "text",
    [
        "71 = 72", "5 or 6", "5, 6", "5-10", "5:30", "5!", "5x", "5^2", "5 + 1", "5 ± 1", "3/0", "1,2,3", "6 ft 2", "72 is wrong",
        "72 if it rains", "72, not 73", "5 > 4", "12,50", "72, 72", "5 kg CO2", "72 ٧٣", "123abc", "7qq", "5xy",
        "101₂", "5²", "x <= 5", "x != 5", "x ≥= 5",
    ],
)  # fmt: skip
def test_several_numbers_a_changed_one_and_a_sentence_have_none(text: str) -> None:
    found = number_in(text)
    assert found is not None and found.value is None


@pytest.mark.parametrize("text", ["", "not 5 or 6", "about 5 or so", "seventy-two", "x", "no 5", "٧٢"])
def test_words_before_a_number_make_it_none(text: str) -> None:
    assert number_in(text) is None


def test_behind_a_marker_words_may_stand_before_the_one_number() -> None:
    for text in ("that she has 5 apples", "therefore 5", "5, which is what was asked", "x = 5 dollars"):
        found = number_in(text, in_sentence=True)
        assert found is not None and found.value == 5, text
    for text in ("not 5", "between 5 and 6", "5 or 6", "never 5"):
        found = number_in(text, in_sentence=True)
        assert found is None or found.value is None, text


def test_the_last_number_of_a_text_is_found_wherever_it_stands() -> None:
    found = last_number("First 5, then it comes to $1,234.50!")
    assert found is not None and found.value == Decimal("1234.50")
    assert last_number("none") is None


@given(st.fractions(max_denominator=10**6), st.sampled_from(("", "$", "x = ", "**")))
def test_every_fraction_is_itself(value: Fraction, before: str) -> None:
    found = number_in(f"{before}{value.numerator}/{value.denominator}")
    assert found is not None and found.value is not None and found.value == value


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for of in (text, "5" + text, text + "5"):
        number_in(of)
        number_in(of, in_sentence=True)
        last_number(of)
