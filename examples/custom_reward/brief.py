"""A reward that prefers short right answers."""

from __future__ import annotations

from dataclasses import dataclass

from rewardkit import Sample, Score, reward


@dataclass(frozen=True)
class Options:
    free: int = 20
    """Characters that cost nothing."""
    cost: float = 0.01
    """Of each further character."""


@reward("my/brief", timeout_s=2.0, parts=("right", "length"))
def brief(sample: Sample, options: Options) -> Score:
    """1.0 for the right number after `####`, less for each character beyond `free`"""
    text, marker, answer = sample.response.rpartition("####")
    right = bool(marker) and answer.strip() == sample.ground_truth
    length = max(0, len(text) - options.free) * options.cost
    return Score(
        max(0.0, float(right) - length),
        correct=right,
        extracted=answer.strip(),
        parts={"right": right, "length": length},
    )
