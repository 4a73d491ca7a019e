"""Scores on held-out prompts: generate, judge, and average per data source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from rewardkit.trainer.batch import Row, pad_prompts
from rewardkit.trainer.distributed import World
from rewardkit.trainer.rewards import RewardSource, decode, judge
from rewardkit.trainer.rollout.base import RolloutEngine, Sampling, row_seed
from rewardkit.types import Score

VALIDATION = 1
"""First part of the key of a validation response's seed; training's is 0."""


def respond(
    rows: Sequence[Row],
    rollout: RolloutEngine,
    rewards: RewardSource,
    tokenizer: Any,
    world: World,
    *,
    sampling: Sampling,
    prompt_length: int,
    seed: int,
) -> list[tuple[Row, str, Score]]:
    """Return `sampling.n` judged responses to each of this process's share of `rows`.

    The same seed draws the same responses at every validation, so that only the weights differ.
    """
    numbered = world.shard(list(enumerate(rows)))
    mine = [row for _, row in numbered for _ in range(sampling.n)]
    ids, mask = pad_prompts([row for _, row in numbered], prompt_length, tokenizer.pad_token_id)
    seeds = [row_seed(VALIDATION, seed, i, j) for i, _ in numbered for j in range(sampling.n)]
    drawn = rollout.generate(ids, mask, sampling, seeds)  # with no prompts too: processes may share an engine
    texts = decode(tokenizer, drawn.responses, drawn.response_mask) if mine else []
    return list(zip(mine, texts, judge(rewards, mine, texts, world), strict=True))


def validation_metrics(judged: Sequence[tuple[Row, str, Score]], n: int, world: World) -> dict[str, float]:
    """Average over all processes, per data source.

    Returns:
        `val-core/<data_source>/acc/mean@n`, the share that is correct (for a reward that does not say what
        is correct, `val-core/<data_source>/reward/mean@n`); under `val-aux/<data_source>/` the mean reward,
        the mean of each part, and `failed`, the number of responses that could not be judged and are in
        none of the means.
    """
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    facts = [(row.data_source, score) for row, _, score in judged]
    for source, score in (fact for share in world.gather(facts) for fact in share):
        values[source, "failed"].append(float(not score.ok))
        if not score.ok:
            continue
        values[source, "reward"].append(score.score)
        if score.correct is not None:
            values[source, "acc"].append(float(score.correct))
        for part, value in score.parts.items():
            values[source, part].append(value)
    metrics: dict[str, float] = {}
    for (source, name), found in sorted(values.items()):
        core = "acc" if (source, "acc") in values else "reward"
        group = "val-core" if name == core else "val-aux"
        if name == "failed":
            metrics[f"val-aux/{source}/failed"] = sum(found)
        else:
            metrics[f"{group}/{source}/{name}/mean@{n}"] = sum(found) / len(found)
    return metrics
