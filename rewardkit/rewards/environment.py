"""`environment`: reward of an episode that is scored by its environment (`agent_name: env`)."""

from __future__ import annotations

from rewardkit.types import Sample, Score, failure


def score(sample: Sample) -> Score:
    """Return the score that the environment gave the episode, from the sample's `interaction_score`."""
    value = sample.extra_info.get("interaction_score")
    if not isinstance(value, int | float):
        return failure(
            "invalid", "no environment returned a reward; only an episode (agent_name: env) has a reward"
        )
    return Score(float(value))
