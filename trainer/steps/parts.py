"""The parts of scores that an estimator compares apart (GDPO), on their way from scores into the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from rewardkit.errors import ScoringError
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.distributed import World
from rewardkit.types import Score


def place_parts(batch: Batch, scores: Sequence[Score], world: World, config: Config) -> None:
    """Set `score_parts`, (B, K), where the estimator compares the parts of the scores apart.

    A response that was not scored has `reward.error_value` in each, which counts where `on_error` is `value`.

    Raises:
        ScoringError: a score lacks one of `algorithm.gdpo_reward_keys`.
    """
    if not ESTIMATORS[config.algorithm.adv_estimator].parts:
        return
    keys = config.algorithm.gdpo_reward_keys or []
    lacking = [why for score in scores if score.ok and (why := why_no_parts(score, keys))]
    first = world.first_error(ScoringError(lacking[0]) if lacking else None)
    if first is not None:
        raise first
    failed = config.reward.error_value
    rows = [[part_of(score, key) if score.ok else failed for key in keys] for score in scores]
    batch["score_parts"] = torch.tensor(rows, dtype=torch.float64, device=batch["response_mask"].device)


def part_of(score: Score, key: str) -> float | None:
    """Return a part of a score by its name, `score` itself or `acc`; None where it has none."""
    if key == "score":
        return score.score
    if key == "acc" and score.correct is not None:
        return float(score.correct)
    return score.parts.get(key)


def why_no_parts(score: Score, keys: Sequence[str]) -> str | None:
    """Say which of the parts a score lacks, and which it has; None where it has all, as finite numbers."""
    values = {key: part_of(score, key) for key in keys}
    wrong = [key for key, value in values.items() if value is None or not math.isfinite(value)]
    if not wrong:
        return None
    there = ", ".join(["score", *(["acc"] if score.correct is not None else []), *sorted(score.parts)])
    return (
        f"algorithm.gdpo_reward_keys: {score.scorer or 'the reward'} gives no number for '{wrong[0]}'; "
        f"its parts are: {there}"
    )
