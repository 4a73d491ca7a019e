"""Reward `rank`, the share of the other responses to the prompt that score lower in another reward.

Ties count half. If all scores in a group are equal, or the group has only one response, each response gets
0.5, which gives no signal. Responses that the other reward cannot score remain failures, and the rest are
ranked without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import OptionsError, did_you_mean
from rewardkit.registry import REGISTRY, Reward
from rewardkit.types import Sample, Score, failure


@dataclass(frozen=True)
class RankingOptions:
    """Options for the rank reward."""

    reward: str = "math"
    """Name of the reward whose scores are ranked. Group rewards, sandboxed rewards (`code`, `sql`) and
    model-based rewards are not supported."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options for the ranked reward."""

    def __post_init__(self) -> None:
        """Check that the reward can be used for ranking and has these options."""
        try:
            reward = _ranked_by(self.reward)
            reward.make_options(self.options)
        except OptionsError as error:
            raise ValueError(str(error)) from None
        reward.require_packages()


def rank(samples: list[Sample], options: RankingOptions) -> list[Score]:
    """Score the responses of one group between 0 and 1."""
    scores = _scores(samples, options)
    scored = [i for i, score in enumerate(scores) if score.status == "ok"]
    values = [scores[i].score for i in scored]
    shares = dict(zip(scored, shares_beaten(values), strict=True))
    return [
        Score(
            shares[i],
            correct=s.correct,
            extracted=s.extracted,
            parts={"raw": s.score},
            detail=_why(s, len(scored)),
        )
        if i in shares
        else failure(s.status, f"{options.reward}: {s.detail or s.status}")
        for i, s in enumerate(scores)
    ]


def _why(score: Score, scored: int) -> str:
    return f"score {score.score:g}, ranked among the {scored} responses that could be scored"


def shares_beaten(values: Sequence[float]) -> list[float]:
    """Return the share of the other values below each value. Ties count half, and a single value gets 0.5."""
    if len(values) < 2:
        return [0.5] * len(values)
    return [
        (sum(other < value for other in values) + (values.count(value) - 1) / 2) / (len(values) - 1)
        for value in values
    ]


def _ranked_by(name: str) -> Reward:
    """Return the reward with this name, after checking that its scores can be ranked.

    Raises:
        OptionsError: The reward does not exist, or cannot score single samples in this process.
    """
    usable = {
        r.name: r for r in REGISTRY if not r.running.batch and r.running.runs not in ("model", "sandbox")
    }
    if name in usable:
        return usable[name]
    if REGISTRY.by_name(name) is not None:
        raise OptionsError(
            f"the option `reward` is '{name}'; expected a reward that scores single responses in this "
            f"process: {', '.join(sorted(usable))}"
        )
    near = did_you_mean(name, usable) or f"; expected one of {', '.join(sorted(usable))}"
    raise OptionsError(f"there is no reward '{name}'{near}")


def _scores(samples: list[Sample], options: RankingOptions) -> list[Score]:
    reward = _ranked_by(options.reward)
    chosen = reward.make_options(options.options)
    return [_score(reward, sample, chosen) for sample in samples]


def _score(reward: Reward, sample: Sample, options: Any) -> Score:
    found = reward.function(sample, options)
    if isinstance(found, Score):
        return found
    return Score(float(found), correct=found if isinstance(found, bool) else None)
