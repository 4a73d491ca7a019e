"""Reward `environment`, for an episode that its environment scores (`agent_name: env`)."""

from __future__ import annotations

from rewardkit.types import Sample, Score, failure


def score(sample: Sample) -> Score:
    """Return the score from the episode's environment, which the sample contains as `interaction_score`."""
    value = sample.extra_info.get("interaction_score")
    if not isinstance(value, int | float):
        return failure(
            "invalid", "no environment returned a reward; only an episode (agent_name: env) has a reward"
        )
    return Score(float(value))
