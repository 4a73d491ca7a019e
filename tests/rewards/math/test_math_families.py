"""Families that an integer counts and classes of residues are compared modulo their period."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from family_pairs import ALL, Labelled

from rewardkit.rewards.math import MathOptions, compare

PRESETS = (MathOptions(), MathOptions(preset="strict"))


@pytest.mark.parametrize("pairs", ALL)
def test_generated_families_are_paid_as_labelled(
    pairs: Callable[[random.Random, int], Iterator[Labelled]],
) -> None:
    for truth, answer, right in pairs(random.Random(5), 40):
        for options in PRESETS:
            assert compare(truth, answer, options).equal == right, f"{truth!r} <- {answer!r}"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("\\frac{7\\pi}6+2k\\pi", "\\frac{19\\pi}6+2k\\pi", True),
        ("\\frac{7\\pi}6+2k\\pi", "\\frac{\\pi}6+k\\pi", False),
        (
            "(-1)^k\\frac{\\pi}6+k\\pi, k\\in\\mathbb{Z}",
            "\\frac{\\pi}6+2n\\pi, \\frac{5\\pi}6+2n\\pi, n\\in\\mathbb{Z}",
            True,
        ),
        ("\\ln 5+2n\\pi i, n\\in\\mathbb Z", "\\ln 5+2k\\pi i, k\\in\\mathbb Z", True),
        ("\\ln 5+2n\\pi i, n\\in\\mathbb Z", "\\ln 5+3k\\pi i, k\\in\\mathbb Z", False),
        ("\\arctan 2+k\\pi, k\\in\\mathbb{Z}", "\\arctan 2-\\pi+k\\pi, k\\in\\mathbb{Z}", True),
        ("\\arctan 2+k\\pi, k\\in\\mathbb{Z}", "\\arctan 3+k\\pi, k\\in\\mathbb{Z}", False),
        ("30^\\circ+360^\\circ k", "\\frac{\\pi}{6}+2k\\pi", True),
        ("x\\equiv3\\pmod7", "x=7k+10", True),
        ("x\\equiv3\\pmod7", "x=7k-3", False),
        ("x\\equiv3\\pmod7", "y=7k+3", False),
        ("x\\equiv 1,5 \\pmod 6", "x=6k\\pm1", True),
        ("x\\equiv 1 \\pmod 2", "x\\equiv 1,3\\pmod 4", True),
        ("2n, n\\in\\mathbb{N}", "2n+2, n\\in\\mathbb{N}", False),
        ("(n-2)\\pi", "n\\pi", False),
        ("k\\pi", "(k+1)\\pi", False),
        ("2\\pi n", "-2\\pi n", False),
    ],
)
def test_a_letter_counts_where_something_shows_it(first: str, second: str, same: bool) -> None:
    for truth, answer in ((first, second), (second, first)):
        for options in PRESETS:
            assert compare(truth, answer, options).equal == same, f"{truth!r} <- {answer!r}"
