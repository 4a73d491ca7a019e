"""TRL's reward function: `trl grpo --reward_funcs rewardkit.adapters.trl.reward`, or GRPOTrainer's argument.

The dataset has the columns `data_source` and `ground_truth` (or another name that `columns` knows).
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
    """A reward function that can be pickled, so that a trainer may send it to other processes.

    A `partial`, since `inspect.iscoroutinefunction` looks through those: TRL asks it whether to await.
    """

    __name__: str

    def __new__(
        cls, data_source: str | None = None, url: str | None = None, rewards: RewardFiles = None
    ) -> TrlReward:
        files = None if rewards is None else reward_files(rewards)
        made = super().__new__(cls, _score, data_source, url, files)
        made.__name__ = "reward"  # TRL logs under it
        return made

    def __reduce__(self) -> tuple[Callable[..., TrlReward], tuple[Any, ...]]:
        return TrlReward, self.args


def make_reward(
    data_source: str | None = None, *, url: str | None = None, rewards: RewardFiles = None
) -> TrlReward:
    """Make a reward function for a dataset that has no column `data_source`, or for a certain server.

    Args:
        data_source: of every row; None: the column.
        url: of a reward server; None: REWARDKIT_URL, or this process.
        rewards: files of compositions and rewards for this process; None: REWARDKIT_REWARDS.
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
    """Score completions, texts or messages. None where one could not be scored: TRL leaves it out.

    Raises:
        InputError: nothing says which data source this is.
        ServerError: the server cannot be reached, refused the request or failed.
    """
    samples = samples_from(completions, columns, prompts=prompts, data_source=source)
    scores = await ascore_batch(samples, server, files)
    if log_metric is not None:
        _log(scores, log_metric)
    return [score.score if score.ok else None for score in scores]


reward = make_reward()


def _log(scores: list[Score], log_metric: Callable[[str, float], None]) -> None:
    """Means over this call: of what was scored, and how much was not."""
    log_metric("rewardkit/failed", fmean(not score.ok for score in scores))
    numbers: dict[str, list[float]] = {}
    for score in scores:
        if score.ok:
            correct = {} if score.correct is None else {"correct": float(score.correct)}
            for name, value in (correct | score.parts).items():
                numbers.setdefault(name, []).append(value)
    for name, values in numbers.items():
        log_metric(f"rewardkit/{name}", fmean(values))
