"""Sets of numbers as students write them: in words, as two bounds, as families in an integer of any name."""

from __future__ import annotations

import pytest

from rewardkit.rewards.math import MathOptions, score
from rewardkit.types import Sample

INTEGERS = r"n\in\mathbb{Z}"
QUARTERS = rf"\frac{{\pi}}{{4}}+n\pi, {INTEGERS}"
TWO = rf"x=\frac{{\pi}}{{6}}+2n\pi, x=\frac{{5\pi}}{{6}}+2n\pi, {INTEGERS}"

RIGHT = [
    (r"\text{all positive real numbers}", r"(0,\infty)"), ("all positive reals", "x>0"), ("all negative real numbers", r"(-\infty,0)"),
    ("all non-negative real numbers", r"[0,\infty)"), ("all nonzero real numbers", r"x\neq 0"), ("all non-zero real numbers", r"(-\infty,0)\cup(0,\infty)"),
    (r"(0,\infty)", r"\text{all positive real numbers}"), ("x<=0", r"\text{all nonpositive real numbers}"), ("all real numbers except 2", r"x\neq 2"),
    ("x>-2, x<2", "(-2,2)"), (r"x\ge -2, x<2", "[-2,2)"), ("(-2,2)", "x>-2, x<2"), (r"-2<x \text{ and } x<2", "(-2,2)"), (r"2x>-4, x\le 2", "(-2,2]"),
    (r"x=\frac{\pi}{4}+k\pi", QUARTERS), (r"\frac{\pi}{4}+k\pi", QUARTERS), (r"\frac{\pi}{4}+m\pi, m\in\mathbb{Z}", QUARTERS),
    (r"x=\frac{\pi}{4}+\pi n", QUARTERS), (r"\frac{(4k+1)\pi}{4}", QUARTERS),
    (r"x=\frac{5\pi}{6}+2k\pi, x=\frac{\pi}{6}+2k\pi, k\in\mathbb{Z}", TWO),
    (r"3k+1, k\in\mathbb{Z}", r"3n+1, n\in\mathbb{Z}"), (r"x = 3k+1", r"x = 3n+1, n\in\mathbb{Z}"),
]  # fmt: skip

WRONG = [
    *((words, r"(0,\infty)") for words in (
        "all negative real numbers", "all nonnegative real numbers", "all real numbers", "all positive integers", "positive", "no positive real numbers",
        "all positive real numbers except 1", "some positive real numbers", "all positive rational numbers", "not all positive real numbers", "all positive real numbers or 0",
    )),
    *((words, r"x\neq 2") for words in (
        "all real numbers except -2", "all real numbers except 2 and 3", "all integers except 2", "only 2", "all real numbers greater than 2",
        "no real numbers except 2", "x=2",
    )),
    *((words, r"[0,\infty)") for words in ("all positive real numbers", "all nonpositive real numbers", "all nonnegative integers", "all real numbers")),
    *((bounds, "(-2,2)") for bounds in (
        "x<-2, x>2", r"x>-2 \text{ or } x<2", "x>-2, y<2", r"x\ge -2, x<2", r"x>-2, x\le 2", "x>-2", "x<2", "x>-2, x<2, x<1", r"x\ne -2, x\ne 2", "x>-2, x>2",
    )),
    *((bounds, r"(-\infty,-2)\cup(2,\infty)") for bounds in ("x>-2, x<2", "x<-2", "x>2")),
    *((family, QUARTERS) for family in (
        r"\frac{\pi}{4}+2k\pi", r"x=\frac{\pi}{4}+\frac{k\pi}{2}", r"\frac{\pi}{3}+k\pi", r"\frac{\pi}{4}+k\pi, k\in\mathbb{N}",
        r"\frac{\pi}{4}", r"\frac{k\pi}{4}", r"\frac{\pi}{4}+k^2\pi", r"\frac{\pi}{4}+k\pi+m\pi", r"\frac{\pi}{4}+\pi", r"\frac{\pi}{4}+k\pi, k\in\mathbb{R}",
        r"x=\frac{\pi}{4}+3.14k", r"\frac{\pi}{4}\pm k\pi, \frac{\pi}{3}", r"\frac{\pi}{4}+k\pi, k=0", r"\frac{\pi}{4}+x\pi+k\pi, k\in\mathbb{Z}", r"\frac{\pi}{4.0000001}+k\pi",
        r"\frac{\pi}{4}+k\pi, \frac{\pi}{2}+k\pi, k\in\mathbb{Z}", r"\frac{5\pi}{4}+k\pi, k\in\mathbb{N}", r"y=\frac{\pi}{4}+k\pi, z=k, k\in\mathbb{Z}",
    )),
    *((family, TWO) for family in (
        r"x=\frac{\pi}{6}+2k\pi, k\in\mathbb{Z}", r"x=\frac{\pi}{6}+2k\pi, x=\frac{7\pi}{6}+2k\pi, k\in\mathbb{Z}", r"x=\frac{\pi}{6}+k\pi, x=\frac{5\pi}{6}+k\pi, k\in\mathbb{Z}",
    )),
    *((family, r"3n+1, n\in\mathbb{N}") for family in (r"3k+4, k\in\mathbb{N}", r"3k+1, k\in\mathbb{Z}", r"3k-2", r"1-3k, k\in\mathbb{N}")),
]  # fmt: skip


def paid(answer: str, ground_truth: str) -> float:
    return score(Sample("math", f"\\boxed{{{answer}}}", ground_truth), MathOptions()).score


@pytest.mark.parametrize(("answer", "ground_truth"), RIGHT)
def test_a_set_in_other_writing_is_paid(answer: str, ground_truth: str) -> None:
    assert paid(answer, ground_truth) == 1.0


@pytest.mark.parametrize(("answer", "ground_truth"), WRONG)
def test_another_set_is_not(answer: str, ground_truth: str) -> None:
    assert paid(answer, ground_truth) == 0.0
