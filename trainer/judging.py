"""Judging the responses of a step: begun when they are there, finished when the rewards are needed."""

from __future__ import annotations

from rewardkit.trainer.batch import Batch, Judged
from rewardkit.trainer.rewards import Judging, decode, place_scores
from rewardkit.trainer.setup import Parts


def begin_judging(parts: Parts, batch: Batch) -> Judging:
    """Have the responses judged from now on, while this process goes on to something else."""
    texts = decode(parts.tokenizer, batch["responses"], batch["response_mask"])
    return Judging(parts.rewards, batch.rows, texts, parts.config.reward.timeout_s)


def finish_judging(parts: Parts, batch: Batch, judging: Judging) -> tuple[list[Judged], dict[str, float]]:
    """Wait for the scores and place them in the batch; return them, and the metrics of `place_scores`."""
    scores = judging.wait(parts.world)
    metrics = place_scores(batch, scores, parts.world, parts.config.reward)
    return list(zip(batch.rows, judging.texts, scores, strict=True)), metrics
