"""What the `math` reward promises about equality: our own labelled pairs, and properties of all answers."""

from __future__ import annotations

import builtins
import random
import string
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from math_examples import EXAMPLES

from rewardkit.rewards.math import compare
from rewardkit.rewards.math.explanation import explain
from rewardkit.rewards.math.guards import budget
from tests.rewards.math import inline

PAIRS = [pair for pairs in EXAMPLES.values() for pair in pairs]


@pytest.mark.slow
@pytest.mark.parametrize("topic", EXAMPLES)
def test_labelled_pairs_are_scored_as_labelled_in_both_directions(topic: str) -> None:
    for one, other, same in EXAMPLES[topic]:
        forward, backward = compare(one, other), compare(other, one)
        assert forward.equal == same, f"{one!r} and {other!r}: {forward}"
        assert forward.outcome == backward.outcome, f"{one!r} and {other!r} depend on their order"


def test_one_value_in_several_notations_is_that_value() -> None:
    for answer in ("\\frac{3}{4}, 0.75", "x=\\frac{3}{4}, 0.75", "0.75, 75\\%"):
        assert compare("\\frac{3}{4}", answer).equal, answer
    for answer in ("\\frac{3}{4}, 0.7", "0.75, 0.25", "(0.75, 0.75)", "x=0.75, y=0.75"):
        assert not compare("\\frac{3}{4}", answer).equal, answer
    assert not compare("1, 1", "1").equal


def test_a_point_or_an_interval_is_paid_for_no_bare_list() -> None:
    for answer in ("(-2,2)", "x=(-2,2)", "x\\in(-2,2)", "\\langle -2,2\\rangle", "\\left(-2,2\\right)"):
        assert not compare("-2, 2", answer).equal, answer
        assert not compare("x=-2,x=2", answer).equal, answer
    assert compare("1, 2", "(x,y)=(1,2)").equal
    for answer in ("x=-2, 2", "(x=-2, 2)", "(x=-2,x=2)", "\\{-2,2\\}", "2,-2"):
        assert compare("-2, 2", answer).equal, answer
    assert compare("x=1, y=2", "(1,2)").equal
    assert compare("x>-2, x<2", "(-2,2)").equal
    assert compare("(1,2),(3,4)", "((1,2),(3,4))").equal
    assert compare("(1,3)", "1,3").equal


def test_every_answer_equals_itself() -> None:
    for text in {side for one, other, _ in PAIRS for side in (one, other)}:
        assert compare(text, text).equal, text


def test_nothing_equals_an_empty_answer() -> None:
    for text in ("", "  ", "$$", "\\boxed{}", "\u200b"):
        assert not compare("5", text).equal
        assert not compare(text, text).equal


@given(st.integers(-(10**12), 10**12), st.integers(1, 9))
def test_another_digit_or_sign_makes_a_number_unequal(value: int, change: int) -> None:
    assert not compare(str(value), str(value + change)).equal
    assert value == 0 or not compare(str(value), str(-value)).equal


@given(st.integers(1000, 10**12))
def test_reformatting_an_integer_keeps_it_equal(value: int) -> None:
    latex_groups = f"{value:,}".replace(",", "{,}")
    thin_groups = f"{value:,}".replace(",", "\\,")
    for text in (
        f"{value:,}",
        latex_groups,
        thin_groups,
        f"${value}$",
        f"{value}.0",
        f"\\boxed{{{value}}}",
        f"x={value}",
    ):
        assert compare(str(value), text).equal, text


@given(st.integers(-999, 999), st.integers(1, 999))
def test_fractions_compare_by_value_in_every_notation(top: int, bottom: int) -> None:
    gold = f"\\frac{{{top}}}{{{bottom}}}"
    for text in (f"{top}/{bottom}", f"\\dfrac{{{3 * top}}}{{{3 * bottom}}}", f"{top} \\div {bottom}"):
        assert inline.compare(gold, text).equal, text
    assert not inline.compare(gold, f"\\frac{{{top + 1}}}{{{bottom}}}").equal


@settings(max_examples=300)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_strings_compare_without_raising_and_in_either_order(a: str, b: str) -> None:
    assert inline.compare(a, b).outcome == inline.compare(b, a).outcome


@pytest.mark.slow
def test_random_strings_of_notation_raise_nothing() -> None:
    line = (
        "\\frac { } ( ) [ ] \\sqrt ^ _ 1 23 x + - / = < \\le \\cup \\text{ and , ; $ % \\pi i \\infty ! | & "
        "\\\\ \\pm \\begin{pmatrix} \\end{pmatrix} \\sin \\log \\sum \\int \\{ \\} . \\circ ： 或 ① ½ \\ "
        "\x00 \ud800 \\in \\mathbb{R} \\pmod cm \\overline{ 12:99 a.m."
    )
    pieces = line.split(" ")
    draw = random.Random(5)
    for _ in range(3_000):
        a, b = ("".join(draw.choices(pieces, k=draw.randrange(1, 20))) for _ in "ab")
        assert inline.compare(a, b).outcome == inline.compare(b, a).outcome
        with budget(0.0):
            str(explain(a, f"\\boxed{{{b}}}"))


def test_huge_integers_are_compared_exactly_without_being_written_out() -> None:
    assert inline.compare("2^{10^7}", "2^{10^7}").equal
    assert inline.compare("2^{10^7}", "4^{5000000}").equal
    assert not inline.compare("2^{10^7}", "2^{10^7}+1").equal
    assert not inline.compare("\\frac{1}{2004!}", "\\frac{1}{2006!}").equal
    assert not inline.compare("10^{100}", "10^{100}+1").equal
    assert inline.compare("7^{10^8} \\bmod 13", "9").equal  # 7^12 = 1 and 10^8 = 4 modulo 12: 7^4 = 9


def test_a_number_too_large_to_work_out_is_undecided_and_says_so() -> None:
    verdict = inline.compare("1", "9^{9^{9^9}}")
    assert verdict.outcome == "undecided"
    assert "too large" in verdict.reason


def test_text_that_our_grammar_does_not_cover_is_never_equal_by_its_beginning() -> None:
    for text in ("4 \\foo{2}", "4)", "4 +", "4 }{", "4 \\sqrt"):
        assert not inline.compare("4", text).equal, text


def test_answer_text_is_never_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("answer text was about to be executed")

    inline.compare("x+1", "1+x")  # imports happen before the patch
    monkeypatch.setattr(builtins, "eval", forbidden)
    monkeypatch.setattr(builtins, "exec", forbidden)
    payloads = ("__import__('os').system('true')", "open('x','w')", "(lambda: 1)()", "exec('1') or 3*\\pi")
    for payload in payloads:
        inline.compare("1", payload)
        inline.compare("\\begin{pmatrix}1\\end{pmatrix}", f"\\begin{{pmatrix}}{payload}\\end{{pmatrix}}")
    for one, other, _ in PAIRS:
        inline.compare(one, other)


@pytest.mark.slow
def test_sympy_is_never_imported_into_our_process() -> None:
    program = (
        "import sys; from rewardkit.rewards.math import compare; "
        "assert 'mpmath' not in sys.modules; "
        "assert compare('x+1', '1+x').equal; "
        "assert compare(r'\\sum_{k=0}^{\\infty} 2^{-k}', '2').tier == 'symbolic'; "
        "assert 'sympy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_a_text_longer_than_any_answer_is_only_compared_as_it_stands() -> None:
    long = "+".join(string.ascii_lowercase * 200)
    assert compare(long, long).equal
    assert compare(long, long + "+1").tier == "string"


def test_a_date_is_read_as_a_date_and_shown_as_one() -> None:
    found = explain("March 5, 2020", "\\boxed{5 March 2020}")
    assert (found.ground_truth_form, found.answer_form) == ("2020-03-05", "2020-03-05")


def test_equations_that_share_their_points_are_not_refuted() -> None:
    for one, other in (("xy=1", "y=\\frac1x"), ("\\sqrt{x}=2", "x=4"), ("x^3=8", "2x=4"), ("|x|=y", "y=|x|")):
        assert inline.compare(one, other).outcome != "not_equal", (one, other)
