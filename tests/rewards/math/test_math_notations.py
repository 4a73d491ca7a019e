"""Equal values in other notation: integrals, sets of integers, bases, probabilities, lengths, values by cases."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from family_pairs import ALL as FAMILIES
from list_pairs import ALL as LISTS
from name_pairs import ALL as NAMES

from rewardkit.math import verify
from rewardkit.rewards.math import MathOptions, compare, score
from rewardkit.types import Sample

PRESETS = (MathOptions(), MathOptions(preset="strict"))

PAIRS = [
    ("x^2+C", "x^2+3+C", True),
    ("x^2+C", "x^2+C_1", True),
    ("x^2+C", "x^2", False),
    ("x^2+C", "2x^2+C", False),
    ("x^2", "x^2+C", False),
    ("\\ln|x|+C", "\\ln|2x|+C", True),
    ("\\frac{\\sin^2x}{2}+C", "-\\frac{\\cos 2x}{4}+C", True),
    ("\\frac{\\sin^2x}{2}+C", "-\\frac{\\cos^2x}{2}+C", True),
    ("\\frac{\\sin^2x}{2}+C", "\\frac{\\cos^2x}{2}+C", False),
    ("A+B+C", "A+B+C+3", False),
    ("a+b+c", "a+b+c+5", False),
    ("F=\\frac95C+32", "F=\\frac95C", False),
    ("\\arctan x+C", "-\\arctan\\frac1x+C", False),
    ("F(x)=x^3+C", "F(x)=x^3-7+C", True),
    ("y=x^2+C", "x^2+C", True),
    ("e^x+x+C", "x+e^x+C+\\ln 2", True),
    ("K+C", "K+C+1", False),
    ("\\{n\\in\\mathbb{Z}: 0<n<4\\}", "\\{1,2,3\\}", True),
    ("\\{n\\in\\mathbb{Z}: 0<n<4\\}", "\\{0,1,2,3\\}", False),
    ("\\{n\\in\\mathbb{Z}: 0\\le n<4\\}", "\\{0,1,2,3\\}", True),
    ("\\{2k : k\\in\\mathbb{Z}, 0\\le k\\le3\\}", "\\{0,2,4,6\\}", True),
    ("\\{2k \\mid k\\in\\mathbb{Z}, 0\\le k\\le3\\}", "\\{0,2,4\\}", False),
    ("\\{x\\in\\mathbb{N}: x<5\\}", "\\{1,2,3,4\\}", False),
    ("\\{x\\in\\mathbb{N}: 1\\le x<5\\}", "1,2,3,4", True),
    ("\\{x : x\\in\\mathbb{Z}, -2<x<2\\}", "-1,0,1", True),
    ("\\{x\\in\\mathbb{Z} : |x|<2\\}", "\\{-1,0,1\\}", True),
    ("\\{x\\in\\mathbb{Z}^+ : x\\le 3\\}", "\\{1,2,3\\}", True),
    ("\\{x\\in\\mathbb{Z}: 0<x<4\\}", "\\{x\\in\\mathbb{Z}: 1\\le x\\le 3\\}", True),
    ("\\{x\\in\\mathbb{Z}: 0<x<4\\}", "(0,4)", False),
    ("\\{k^2 : k\\in\\mathbb{Z}, |k|\\le2\\}", "\\{0,1,4\\}", True),
    ("\\{x\\in\\mathbb{R}: 0<x<4\\}", "(0,4)", True),
    ("11_2", "(11)_2", True),
    ("1A_{16}", "(1A)_{16}", True),
    ("1A_{16}", "1B_{16}", False),
    ("1011_2", "1011\\text{ (base 2)}", True),
    ("1011_2", "1011_{\\text{two}}", True),
    ("1011_2", "1011_3", False),
    ("1011_2", "001011_2", True),
    ("1011_2", "1011 base 2", True),
    ("FF_{16}", "FE_{16}", False),
    ("12_3, 21_3", "(12)_3, (21)_3", True),
    ("P(A)=\\frac12", "\\Pr(A)=\\frac12", True),
    ("P(A)=\\frac12", "\\mathbb{P}(A)=0.5", True),
    ("P(A)=\\frac12", "P(B)=\\frac12", False),
    ("P(A|B)=\\frac13", "\\Pr[A\\mid B]=\\frac13", True),
    ("P(A|B)=\\frac13", "P(B|A)=\\frac13", False),
    ("\\mathbb{E}[X]=3", "3", True),
    ("E[X]=3", "E(X)=3", True),
    ("E[X]=3", "E[Y]=3", False),
    ("P(X>1)=\\frac12", "\\frac12", True),
    ("P(A)=\\frac12, P(B)=\\frac13", "P(B)=\\frac12, P(A)=\\frac13", False),
    ("P(A)=\\frac12, P(B)=\\frac13", "\\Pr(B)=\\frac13, \\Pr(A)=\\frac12", True),
    ("P(A\\cup B)=\\frac12", "P(A\\cap B)=\\frac12", False),
    ("5'3''", "63\\text{ inches}", True),
    ("5'3''", "5'3\"", True),
    ("5'3''", "5'4''", False),
    ("6'", "6\\text{ ft}", True),
    ("5\\text{ feet }3\\text{ inches}", "5'3''", True),
    ("5\\text{ feet and }3\\text{ inches}", "5'3''", True),
    ("2\\text{ hours and }30\\text{ minutes}", "2.5\\text{ hours}", True),
    ("2\\text{ hours and }30\\text{ minutes}", "2\\text{ hours and }3\\text{ minutes}", False),
    ("5\\text{ cm and }3\\text{ cm}", "3\\text{ cm and }5\\text{ cm}", True),
    ("5\\text{ cm and }3\\text{ cm}", "8\\text{ cm}", False),
    ("f'", "f''", False),
    ("f'(5)", "f'(5)", True),
    ("36^\\circ 52' 12''", "36^\\circ 52'", False),
    ("f(x)=\\begin{cases}x&x\\ge0\\\\-x&x<0\\end{cases}", "|x|", True),
    ("\\begin{cases}x&x\\ge0\\\\-x&x<0\\end{cases}", "\\begin{cases}x&x>0\\\\-x&x\\le0\\end{cases}", True),
    ("\\begin{cases}1&x\\ge0\\\\-1&x<0\\end{cases}", "\\begin{cases}1&x>0\\\\-1&x\\le0\\end{cases}", False),
    ("\\begin{cases}x&x\\ge0\\\\-x&x<0\\end{cases}", "x", False),
    ("\\begin{cases}x+1&x<1\\\\2&x\\ge1\\end{cases}", "\\min(x+1,2)", True),
    (
        "\\begin{cases}1&x=0\\\\0&\\text{otherwise}\\end{cases}",
        "\\begin{cases}0&x\\ne0\\\\1&x=0\\end{cases}",
        True,
    ),
    (
        "\\begin{cases}x^2&\\text{if }x<0\\\\x&\\text{if }0\\le x<1\\\\1&\\text{if }x\\ge 1\\end{cases}",
        "\\begin{cases}1&x\\ge1\\\\x&0\\le x<1\\\\x^2&x<0\\end{cases}",
        True,
    ),
    ("\\begin{cases}x^2&x<0\\\\x&x\\ge 0\\end{cases}", "\\begin{cases}x^2&x<0\\\\x&x>0\\end{cases}", False),
]


@pytest.mark.parametrize(("first", "second", "same"), PAIRS)
def test_other_notation_is_paid_and_other_values_are_not(first: str, second: str, same: bool) -> None:
    for truth, answer in ((first, second), (second, first)):
        for options in PRESETS:
            assert compare(truth, answer, options).equal == same, f"{truth!r} <- {answer!r} {options.preset}"


@pytest.mark.parametrize("pairs", [*NAMES, *FAMILIES, *LISTS])
def test_default_never_denies_what_strict_pays(
    pairs: Callable[[random.Random, int], Iterator[tuple[str, str, bool]]],
) -> None:
    for truth, answer, _ in pairs(random.Random(8), 15):
        found = [score(Sample("math", f"\\boxed{{{answer}}}", truth), options).correct for options in PRESETS]
        assert found[0] or not found[1], f"{truth!r} <- {answer!r}"


@pytest.mark.parametrize(
    ("truth", "answer"),
    [
        ("\\$5", "US\\$5"),
        ("20\\%", "20\\text{\\%}"),
        ("\\frac72", "\\frac72{}"),
        ("105\\text{ minutes}", "1\\text{ hour and }45\\text{ minutes}"),
        ("105\\text{ minutes}", "1 hour and 45 minutes"),
    ],
)
def test_what_is_written_round_a_value_does_not_hide_it(truth: str, answer: str) -> None:
    for options in PRESETS:
        assert compare(truth, answer, options).equal


def test_an_improper_fraction_behind_a_whole_number_is_neither_a_mixed_number_nor_a_product() -> None:
    for answer in ("1 5/3", r"1\frac{5}{3}"):
        for gold in ("8/3", "5/3"):
            assert not verify(gold, answer)
    assert verify("4/3", r"1\frac{1}{3}")


@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        ("11_2", r"(11)_{\text{base 2}}", True),
        ("11_2", "11_3", False),
        (r"\frac12", r"\operatorname{Pr}(A)=\frac{1}{2}", True),
        (r"\frac{x^2}{2}+C", r"\int x\,dx=\frac{x^2}{2}+C", True),
        (r"\frac12", r"\int_0^1 x\,dx=\frac12", True),
        (r"\frac12", r"\int_0^1 x\,dx=\frac13", False),
        (r"A\text{ or }C", r"C\text{ or }A", True),
        (r"A\text{ or }C", r"C\text{ and }A", False),
        (r"\langle1,2\rangle", r"\left<1,2\right>", True),
        (r"\langle1,2\rangle", "<2,1>", False),
        (r"x\equiv3\pmod7", r"x\equiv 3 \bmod 7", True),
        (r"x\equiv3\pmod7", r"x\equiv3(\bmod 7)", True),
        (r"x\equiv3\pmod7", r"x\bmod7=3", True),
        (r"x\equiv3\pmod7", r"x\bmod7=4", False),
        (r"x\equiv3,5\pmod7", r"x\equiv3\text{ or }5\pmod7", True),
        (r"x\equiv3,5\pmod7", r"x\equiv3\pmod7\text{ or }x\equiv5\pmod7", True),
        (r"x\equiv3,5\pmod7", r"x\equiv3\pmod7\text{ or }x\equiv4\pmod7", False),
        (r"x\equiv1\pmod2\text{ and }x\equiv2\pmod3", r"x\equiv1\pmod2\text{ or }x\equiv2\pmod3", False),
        (r"\mathbb{R}-\{3\}", r"\mathbb{R}\setminus\{3\}", True),
        (r"\mathbb{R}-\{3\}", r"x\ne3", True),
        (r"\mathbb{R}-\{3\}", r"\mathbb{R}-\{4\}", False),
        (r"12\text{ years ago}", "12 years ago", True),
        (r"12\text{ years ago}", "12 years from now", False),
        ("230 min", "3 h 50 min", True),
        ("3 hours 50 minutes", "3 h 50 min", True),
        ("3 hours 50 minutes", "3 h 51 min", False),
        ("USD 15", r"\$15", True),
        ("USD 15", r"\$16", False),
        ("1010", "1010_2", False),
        ("1010_2", "1010", True),
    ],
)
def test_spellings_of_one_thing_are_equal_and_of_another_are_not(gold: str, answer: str, equal: bool) -> None:
    assert verify(gold, answer) is equal


def test_space_behind_a_row_is_not_the_start_of_a_displayed_formula() -> None:
    matrix = r"\begin{bmatrix} 23 & 8 \\[2pt] 1 & 0 \end{bmatrix}"
    assert verify(matrix, rf"\textcolor{{blue}}{{{matrix}}}")
    assert verify(matrix, rf"The matrix is \[{matrix}\]")


def test_labelled_lines_are_one_answer() -> None:
    assert verify("(a) 33, (b) 38", "(a) 33\n(b) 38")
    assert not verify("(a) 33, (b) 38", "(a) 38\n(b) 33")
    assert verify("38", "First, 33.\nThen the answer is 38")


def test_negations_numerals_under_a_line_and_conditions_in_words_are_read() -> None:
    assert verify(r"p \vee \neg q", r"\lnot q\vee p")
    assert not verify(r"p \vee \neg q", r"\neg p\vee q")
    assert verify(r"\overline{2002}_3", "2002_3")
    assert not verify(r"\overline{2002}_3", "2001_3")
    assert verify(
        r"\begin{cases}9 & t\le-56\\ t^2+9 & t>-56\end{cases}",
        r"\begin{cases}9 & \text{if $t\leqslant -56$}\\ t^2+9 & \text{if $t>-56$}\end{cases}",
    )
