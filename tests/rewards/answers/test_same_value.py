"""Two short texts have the same value in any notation, and symbols and units count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.rewards.answers.same_value import same_value, text_key

SAME = (
    ("Paris", "the paris."),
    ("Paris (France)", "Paris France"),
    ("well-being", "well being"),
    ("1/2", "\\frac12"),
    ("0.5", "1/2"),
    ("1,200", "1200"),
    ("12 cm", "0.12 m"),
    ("50%", "50 percent"),
    ("x \\ge 2", "x ≥ 2"),
    ("\\sqrt{2}", "√2"),
    ("sin(x)", "sin x"),
    ("a^2+b^2", "b^2+a^2"),
    ("−2", "-2"),
    ("\\{1,2\\}", "{1,2}"),
    ("(-∞, 2]", "(-\\infty,2]"),
    ("½", "1/2"),
    ("2½", "$2\\tfrac12$"),
    ("2½ cups", "2 1/2 cups"),
    ("x²", "x^2"),
    ("x⁻¹⁰", "$x^{-10}$"),
    ("H₂O", "H2O"),
    ("H₂O", "\\text{H}_2\\text{O}"),
    ("Ca(OH)₂", "\\mathrm{Ca(OH)_2}"),
    ("Ca²⁺", "\\text{Ca}^{2+}"),
    ("Ca²⁺", "Ca2+"),
    ("NH₄⁺", "NH4+"),
    ("5 m/s²", "5 m/s^2"),
    ("5 m/s²", "$5\\ \\mathrm{m/s^{2}}$"),
    ("5 m·s⁻²", "5 m/s^2"),
    ("25 °C", "$25^\\circ\\text{C}$"),
    ("30°", "30 degrees"),
    ("6.02×10²³", "6.02e23"),
    ("$5", "\\$5"),
    ("€5", "5 euros"),
    ("A price of €5 per unit", "a price of 5 € per unit"),
    ("25%", "25\\%"),
    ("CO₂ and H₂O", "$CO_2$ and $H_2O$"),
    ("It needs O(n²) time", "It needs $O(n^{2})$ time."),
    ("x ≥ 2 for all runs", "$x \\geq 2$ for all runs"),
    ("p → q", "p \\rightarrow q"),
    ("p → q", "p -> q"),
    ("p ⊕ q", "p \\oplus q"),
    ("the β particle", "the $\\beta$ particle"),
    ("f′(x)", "f'(x)"),
    ("**n**", "n"),
    ("y = 5", "\\(y=5\\)"),
)
DIFFERENT = (
    ("x ≥ 2", "x ≤ 2"),
    ("x \\ge 2", "x \\le 2"),
    ("A ∪ B", "A ∩ B"),
    ("A \\cup B", "A \\cap B"),
    ("n!", "n"),
    ("n! + 1", "n + 1"),
    ("[1,2]", "(1,2)"),
    ("{1,2}", "(1,2)"),
    ("(-∞, 2]", "(-∞, 2)"),
    ("\\frac1{12}", "\\frac{11}2"),
    ("√2", "2"),
    ("±2", "2"),
    ("-2", "2"),
    ("∞", "-∞"),
    ("x < 2", "x > 2"),
    ("12 cm", "12 m"),
    ("50%", "50"),
    ("0.5", "0.5%"),
    ("5!", "5"),
    ("x = 5", "y = 5"),
    ("B-", "B"),
    ("A and C", "A or C"),
    ("C++", "C"),
    ("3:1", "31"),
    ("f(x)=x^2", "f(x)=x^3"),
    ("½", "12"),
    ("1½", "11/2"),
    ("x²", "x2"),
    ("x²", "x³"),
    ("x^{n+1}", "x^n+1"),
    ("10²", "102"),
    ("x₁₂", "x₁2"),
    ("log₂ 8", "log 28"),
    ("H₂O", "H₂O₂"),
    ("Na⁺", "Na"),
    ("Cl-", "Cl"),
    ("Fe²⁺", "Fe³⁺"),
    ("5 m/s²", "5 m/s"),
    ("25 m/s^2", "25 kg/m^2"),
    ("$25 \\text{ m}^2$", "$25 \\text{ m}^3$"),
    ("$5", "€5"),
    ("\\$5", "￥5"),
    ("A price of €5 per unit", "a price of £5 per unit"),
    ("25 °C", "25 °F"),
    ("\\(x = 5\\)", "\\(y = 5\\)"),
    ("x_1 = 5", "x_2 = 5"),
    ("x <= 2 for all runs", "x >= 2 for all runs"),
    ("\\left[1, 2\\right)", "\\left(1, 2\\right)"),
    ("p → q", "p ← q"),
    ("f'(x)", "f(x)"),
    ("f''(x)", "f'(x)"),
    ("A'", "A"),
    ("TT", "tt"),
    ("a b", "b"),
    ("", "?"),
)


@pytest.mark.parametrize(("first", "second"), SAME)
def test_notations_of_one_value_are_the_same(first: str, second: str) -> None:
    assert same_value(first, second) and same_value(second, first)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_texts_that_differ_by_a_symbol_or_a_unit_differ(first: str, second: str) -> None:
    assert not same_value(first, second) and not same_value(second, first)


@given(st.text(alphabet="abx12 +-/^=<>≤≥∪∩!√()[]{}\\$.,%"), st.text(alphabet="abx12 +-/^=<>≤≥!√()[]{}\\$.,%"))
def test_the_order_does_not_matter_and_nothing_raises(first: str, second: str) -> None:
    assert same_value(first, second) == same_value(second, first)
    assert same_value(first, first) == bool(text_key(first)) or same_value(first, first)


def test_long_texts_are_compared_as_texts() -> None:
    long = "(" * 10_000 + "1" + ")" * 10_000
    assert same_value(long, long) and not same_value(long, "1")
