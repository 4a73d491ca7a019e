"""Responses to rewards: through the local Scorer or a reward server, onto the last token, failures masked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from rewardkit.client import Client
from rewardkit.errors import RewardkitError, ScoringError
from rewardkit.registry import load_reward_file
from rewardkit.scorer import Scorer
from rewardkit.trainer.batch import Batch, Row
from rewardkit.trainer.config import Config
from rewardkit.trainer.distributed import World
from rewardkit.types import STATUSES, Sample, Score


class RewardSource(Protocol):
    """What the local Scorer and the server's Client have in common."""

    def check(self, data_sources: Iterable[str]) -> None:
        """Raise UnknownDataSourceError for a data source that has no reward."""
        ...

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Return one Score for each sample, in order."""
        ...

    def close(self) -> None:
        """Release workers or connections."""
        ...


def open_rewards(config: Config, data_sources: Iterable[str], world_size: int = 1) -> RewardSource:
    """Connect to `reward.url`, or make a Scorer here with this process's share of the cores.

    `custom_reward_function` takes every one of `data_sources`, also those that have a reward of ours.
    """
    if config.reward.url:
        return Client(config.reward.url, token=os.environ.get("REWARDKIT_TOKEN"))
    custom = config.custom_reward_function
    if custom.path:
        for source in sorted(set(data_sources)):
            load_reward_file(f"{source}={custom.path}:{custom.name}")
    return Scorer(options=config.reward.options or None, workers=max(1, (os.cpu_count() or 1) // world_size))


def decode(tokenizer: Any, responses: Tensor, response_mask: Tensor) -> list[str]:
    """Return the text of each response, without its padding and end-of-sequence token."""
    lengths = response_mask.sum(dim=1).long().tolist()
    ids = [row[:length] for row, length in zip(responses.tolist(), lengths, strict=True)]
    texts: list[str] = tokenizer.batch_decode(ids, skip_special_tokens=True)
    return texts


def judge(source: RewardSource, rows: Sequence[Row], texts: Sequence[str], world: World) -> list[Score]:
    """Score this process's responses. An error in one process is raised in all of them."""
    samples = [
        Sample(row.data_source, text, row.ground_truth, row.prompt, row.extra_info)
        for row, text in zip(rows, texts, strict=True)
    ]
    scores: list[Score] = []
    error: RewardkitError | None = None
    try:
        scores = source.score_batch(samples) if samples else []
    except RewardkitError as raised:
        error = raised
    first = world.first_error(error)
    if first is not None:
        raise first
    return scores


def place_scores(batch: Batch, scores: Sequence[Score], world: World, on_error: str) -> dict[str, float]:
    """Put each score on the last token of its response, and leave out what could not be judged.

    Sets `token_level_scores`, and clears `response_mask` where the status is not `ok`.

    Returns:
        `reward/failed/<status>` for the statuses that occurred, over all processes.

    Raises:
        ScoringError: a sample failed and `on_error` is `raise`, or all of them failed.
    """
    _refuse_failures(scores, world, on_error)
    mask = batch["response_mask"]
    last = mask.sum(dim=1).long().clamp(min=1) - 1
    rewards = torch.tensor([float(s.score) for s in scores], device=mask.device)
    placed = torch.zeros_like(mask)
    placed[torch.arange(len(batch), device=mask.device), last] = rewards
    ok = torch.tensor([s.ok for s in scores], device=mask.device)
    batch["token_level_scores"] = placed * ok.unsqueeze(1)
    batch["response_mask"] = mask * ok.unsqueeze(1)
    batch["judged"] = ok
    counts = Counter(s.status for s in scores)
    totals = world.sum(torch.tensor([counts[s] for s in STATUSES])).tolist()
    return {f"reward/failed/{s}": float(n) for s, n in zip(STATUSES, totals, strict=True) if n and s != "ok"}


def _refuse_failures(scores: Sequence[Score], world: World, on_error: str) -> None:
    failed = next((s for s in scores if not s.ok), None)
    summary = (sum(s.ok for s in scores), len(scores), failed)
    everywhere = world.gather(summary)
    first = next((f for _, _, f in everywhere if f is not None), None)
    n_ok, n = (sum(summary[i] for summary in everywhere) for i in (0, 1))
    if first is None or (on_error == "mask" and n_ok):
        return
    why = f"{first.scorer or 'the reward'} gave status '{first.status}': {first.detail}"
    if n_ok:
        raise ScoringError(
            f"{n - n_ok} of {n} responses could not be judged; {why}; reward.on_error=mask leaves them out"
        )
    raise ScoringError(f"none of the {n} responses could be judged; {why}")
