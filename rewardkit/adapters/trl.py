"""Reward function for TRL, as in `trl grpo --reward_funcs rewardkit.adapters.trl.reward` or GRPOTrainer.

The dataset needs the columns `data_source` and `ground_truth` (or another name that `rewardkit.rows`
recognises).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from statistics import fmean
from typing import Any

from rewardkit.adapters.backend import RewardFiles, ascore_batch, reward_files
from rewardkit.adapters.columns import samples_from
from rewardkit.types import Score


class TrlReward(partial[Awaitable[list[float | None]]]):
    """Picklable reward function, which a trainer may send to other processes.

    The class is a `partial`, since TRL uses `inspect.iscoroutinefunction`, which unwraps partials, to decide
    whether to await a reward.
    """

    __name__: str

    def __new__(
        cls, data_source: str | None = None, url: str | None = None, rewards: RewardFiles = None
    ) -> TrlReward:
        files = None if rewards is None else reward_files(rewards)
        made = super().__new__(cls, _score, data_source, url, files)
        made.__name__ = "reward"  # TRL uses the name in its logs
        return made

    def __reduce__(self) -> tuple[Callable[..., TrlReward], tuple[Any, ...]]:
        return TrlReward, self.args


def make_reward(
    data_source: str | None = None, *, url: str | None = None, rewards: RewardFiles = None
) -> TrlReward:
    """Return a reward function for a dataset without a `data_source` column, or for a specific server.

    Args:
        data_source: Data source of all rows, by default the column `data_source`.
        url: Address of a reward server, by default REWARDKIT_URL. Without an address, this process scores.
        rewards: Files with compositions and rewards for this process, by default REWARDKIT_REWARDS.
    """
    return TrlReward(data_source, url, rewards)


async def _score(
    source: str | None,
    server: str | None,
    files: RewardFiles,
    /,
    completions: list[Any],
    prompts: list[Any] | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> list[float | None]:
    """Score completions, each a text or messages.

    The reward for a completion that could not be scored is None, which TRL ignores.

    Raises:
        InputError: The data source is not given.
        ServerError: The server cannot be reached, refused the request or failed.
    """
    samples = samples_from(completions, columns, prompts=prompts, data_source=source)
    scores = await ascore_batch(samples, server, files)
    if log_metric is not None:
        _log(scores, log_metric)
    return [score.score if score.ok else None for score in scores]


reward = make_reward()


def _log(scores: list[Score], log_metric: Callable[[str, float], None]) -> None:
    """Log the share of failed completions, and the means of the score components of all others."""
    log_metric("rewardkit/failed", fmean(not score.ok for score in scores))
    numbers: dict[str, list[float]] = {}
    for score in scores:
        if score.ok:
            correct = {} if score.correct is None else {"correct": float(score.correct)}
            for name, value in (correct | score.parts).items():
                numbers.setdefault(name, []).append(value)
    for name, values in numbers.items():
        log_metric(f"rewardkit/{name}", fmean(values))
