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
    ],
)
def test_values_in_other_notations(first: str, second: str, same: bool) -> None:
    for truth, answer in ((first, second), (second, first)):
        for options in PRESETS:
            assert compare(truth, answer, options).equal == same, f"{truth!r} <- {answer!r}"
