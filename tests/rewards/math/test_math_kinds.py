"""One value in notations that differ in kind is the same, and its neighbours are not."""

from __future__ import annotations

import random

import pytest
from kind_pairs import ALL, Maker

from rewardkit.rewards.math import MathOptions, compare

PRESETS = (MathOptions(), MathOptions(preset="strict"))


@pytest.mark.parametrize("pairs", ALL)
def test_generated_notations_are_paid_as_labelled(pairs: Maker) -> None:
    for first, second, right in pairs(random.Random(7), 60):
        for truth, answer in ((first, second), (second, first)):
            for options in PRESETS:
                assert compare(truth, answer, options).equal == right, f"{truth!r} <- {answer!r}"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("x\\equiv 1 \\pmod 8", "\\{8k+1 : k\\in\\mathbb{N}\\}", False),
        ("x\\equiv 1 \\pmod 8", "\\{x\\in\\mathbb{N} : x\\equiv 1\\pmod 8\\}", False),
        ("x\\equiv 1,3 \\pmod 8", "y\\in\\{1,3\\}\\pmod 8", False),
        ("x\\equiv 1,3 \\pmod 8", "x\\in\\{1,3\\}", False),
        ("x=2k, k\\in\\mathbb{Z}", "x\\text{ is even}", True),
        ("x=2k, k\\in\\mathbb{Z}", "\\text{all even integers}", True),
        ("x=2k, k\\in\\mathbb{Z}", "\\text{all odd integers}", False),
        ("x=2k, k\\in\\mathbb{Z}", "\\text{all positive even integers}", False),
        ("\\text{even}", "\\text{all even integers}", False),
        ("14 \\pmod{16}", "30 \\bmod 16", True),
        ("14 \\pmod{16}", "14", False),
        ("[3]_7", "10 \\pmod 7", True),
        ("[3]_7", "3_7", False),
        ("[101]_2", "101_2", True),
        ("\\mathbb{Z}", "7\\mathbb{Z}", False),
        ("3\\mathbb{Z}\\cap 5\\mathbb{Z}", "3\\mathbb{Z}\\cup 5\\mathbb{Z}", False),
        (
            "-\\frac{2\\pi}3+2k\\pi, 2k\\pi-\\frac{\\pi}3, k\\in\\mathbb{Z}",
            "(-1)^{n+1}\\frac{\\pi}3+n\\pi",
            True,
        ),
        (
            "\\{\\frac{\\pi}4+n\\pi : n\\in\\mathbb{Z}\\}\\cup\\{n\\pi : n\\in\\mathbb{Z}\\}",
            "\\frac{5\\pi}4+k\\pi, k\\pi, k\\in\\mathbb{Z}",
            True,
        ),
        ("(a,b)=(1,2)", "\\begin{array}{l}b=2\\\\a=1\\end{array}", True),
        ("(a,b)=(1,2)", "\\begin{array}{l}a=2\\\\b=1\\end{array}", False),
        ("\\max=5", "\\min=5", False),
        ("EB_{\\text{sixteen}}", "\\text{EB (base 16)}", True),
        ("5D45_{16}", "\\text{5D45}_{\\text{hex}}", True),
        ("12_3, 21_3", "12\\text{ (base 3)}, 22\\text{ (base 3)}", False),
        ("10110_2", "10, 110_2", False),
        ("(1,2)", "\\begin{array}{l}1\\\\2\\end{array}", True),
        ("\\tfrac{55}{3}\\%", "55/3~\\%", True),
        ("\\tfrac{55}{3}\\%", "55/4~\\%", False),
        ("0.\\overline{1}", "0.\\overline1", True),
        ("0.\\overline{1}", "0.\\overline2", False),
        ("\\exp(-4y)", "\\text{e}^{-4y}", True),
        ("\\exp(-4y)", "\\text{e}^{4y}", False),
        ("(t-8)^3", "\\left\\{t-8\\right\\}^3", True),
        ("(t-8)^3", "\\left\\{t-7\\right\\}^3", False),
        ("€313", "313\\,€", True),
        ("€313", "314\\,€", False),
        ("12'3''", "12^\\prime 3^{\\prime\\prime}", True),
        ("12'3''", "12^\\prime 4^{\\prime\\prime}", False),
        ("f'(x)", "f^{\\prime\\prime}(x)", False),
        ("10:39\\text{ a.m.}", "10:39~AM", True),
        ("10:39\\text{ a.m.}", "10:39~PM", False),
        ("\\{1,2,4,\\dots,64\\}", "\\{1,2,\\dots,64\\}", False),
        ("\\{1,2,\\dots\\}", "\\{1,2\\}", False),
        ("\\{1,2,\\dots,9\\}", "[1,9]", False),
        ("\\{n^2 : n\\in\\{1,2,3\\}\\}", "\\{1,4,9\\}", True),
        ("\\{n^2 : n\\in\\{1,2,3\\}\\}", "\\{1,2,3\\}", False),
        ("\\{5,6,7\\}", "\\{k: k\\text{ is a real number and }5\\le k\\le 7\\}", False),
        ("(5,4)", "5+4i", False),
        ("(0,1)", "j", False),
        ("\\vec{F}=(8,14)", "F_x=8, F_z=14", False),
        ("(5,4)", "5x+4y", False),
        ("\\nabla f=\\langle yz, xz, xy\\rangle", "yz\\,\\vec{i} + xz\\,\\vec{j} + xy\\,\\vec{k}", True),
        ("\\nabla f=\\langle yz, xz, xy\\rangle", "yz\\,\\vec{i} - xz\\,\\vec{j} + xy\\,\\vec{k}", False),
        (
            "\\vec{r}(t) = (2t, t^2, -3)",
            "\\mathbf{r}(t) = 2t\\,\\hat{i} + t^{2}\\,\\hat{j} - 3\\,\\hat{k}",
            True,
        ),
        (
            "\\vec{r}(t) = (2t, t^2, -3)",
            "\\mathbf{r}(t) = 2t\\,\\hat{i} + t^{2}\\,\\hat{j} + 3\\,\\hat{k}",
            False,
        ),
    ],
)
def test_values_in_other_notations(first: str, second: str, same: bool) -> None:
    for truth, answer in ((first, second), (second, first)):
        for options in PRESETS:
            assert compare(truth, answer, options).equal == same, f"{truth!r} <- {answer!r}"
