"""Comparing and scoring without SymPy: what it would be asked stays open, and costs no process."""

from __future__ import annotations

from rewardkit.rewards.math import MathOptions, MathVerdict
from rewardkit.rewards.math import compare as _compare
from rewardkit.rewards.math import score as _score
from rewardkit.rewards.math.guards import budget
from rewardkit.rewards.math.policies import DEFAULT
from rewardkit.types import Sample, Score


def compare(ground_truth: str, answer: str, options: MathOptions = DEFAULT) -> MathVerdict:
    """`compare` with no time for SymPy."""
    with budget(0.0):
        return _compare(ground_truth, answer, options)


def score(response: str, ground_truth: str) -> Score:
    """`score` with no time for SymPy."""
    with budget(0.0):
        return _score(Sample("math", response, ground_truth))
