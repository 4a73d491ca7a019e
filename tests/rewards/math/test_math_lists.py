"""Lists with bounds, choices, residues and percentages: every member, letter, modulus and sign counts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from list_pairs import ALL, Labelled

from rewardkit.rewards.math import MathOptions, compare

STRICT = MathOptions(preset="strict")


@pytest.mark.parametrize("pairs", ALL)
def test_generated_pairs_are_paid_as_labelled(
    pairs: Callable[[random.Random, int], Iterator[Labelled]],
) -> None:
    for truth, answer, right in pairs(random.Random(3), 25):
        assert compare(truth, answer).equal == right, f"{truth!r} <- {answer!r}"
        assert right or not compare(truth, answer, STRICT).equal, f"{truth!r} <- {answer!r} strict"
