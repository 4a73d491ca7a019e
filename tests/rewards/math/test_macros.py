"""Macros of layout and fonts change nothing, around any expression and within one another."""

from __future__ import annotations

import itertools

import pytest

from rewardkit.math import verify

INNER = (r"\frac{7}{2}", r"\sqrt{2}", "x^{2}+1", r"\frac{\pi}{6}", "12", r"\{1,2\}", "(1,2)")
WRAPPERS = (
    "{{{0}}}", r"\mathbf{{{0}}}", r"\mathit{{{0}}}", r"\mathsf{{{0}}}", r"\mathrm{{{0}}}", r"\boldsymbol{{{0}}}",
    r"\textstyle {0}", r"{{\displaystyle {0}}}", r"\underline{{{0}}}", r"\color{{red}}{{{0}}}", r"\textcolor{{blue}}{{{0}}}",
    r"\colorbox{{yellow}}{{{0}}}", r"{0}\,", r"\;{0}\;", r"{0}{{}}", r"\ensuremath{{{0}}}", r"{0}\tag{{1}}", r"{0}\label{{e}}",
    r"\hspace{{2pt}}{0}", r"\phantom{{x}}{0}", r"{0}\ \checkmark", r"{0}\quad\blacksquare", "${0}$", r"\( {0} \)",
)  # fmt: skip


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_macro_of_layout_changes_nothing(wrapper: str) -> None:
    for inner, other in itertools.product(INNER, ("{0}", r"\mathbf{{{0}}}", r"\textcolor{{red}}{{{0}}}")):
        answer = wrapper.format(other.format(inner))
        assert verify(inner, answer), answer
        wrong = next(one for one in INNER if one != inner)
        assert not verify(wrong, answer), answer


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\[4pt]2\end{pmatrix}"),
        (r"\begin{cases}x&x>0\\0&x\le0\end{cases}", r"\begin{cases}x&x>0\\[6pt]0&x\le0\end{cases}"),
        (r"A \cup B", r"A \bigcup B"),
        (r"A\cap B", r"A\bigcap B"),
        (r"\sqrt3", r"\surd 3"),
        (r"\mathbb{R}", r"\R"),
        ("x^{2}", r"x\textsuperscript{2}"),
        (r"\binom52", r"{5\choose2}"),
    ],
)
def test_spellings_of_one_macro(gold: str, answer: str) -> None:
    assert verify(gold, answer)


def test_hostile_nesting_of_layout_is_read_quickly() -> None:
    for text in (r"\color{" * 2_000, r"\textcolor{red}{" * 500 + "5" + "}" * 500, r"\\[4pt]" * 2_000):
        assert not verify("34", text)
