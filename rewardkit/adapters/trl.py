"""Reward function for TRL, as in `trl grpo --reward_funcs rewardkit.adapters.trl.reward` or GRPOTrainer.

The dataset needs the columns `data_source` and `ground_truth` (or another name that `rewardkit.rows`
recognises).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from statistics import fmean
from typing import Any, NoReturn

from rewardkit.adapters.backend import RewardFiles, ascore_batch, reward_files, score_batch
from rewardkit.adapters.columns import samples_from
from rewardkit.types import Score


class Rewards(list[float | None], Coroutine[Any, Any, list[float | None]]):
    """Rewards that are already computed. Trainers may await this object or use it as a list."""

    def __await__(self) -> Generator[Any, None, Rewards]:
        yield from ()
        return self

    def send(self, value: Any) -> NoReturn:
        """Return the rewards if an event loop runs this object as a coroutine."""
        raise StopIteration(self)

    def throw(self, *exception: Any) -> NoReturn:
        """Raise an exception, such as `CancelledError` for a cancelled task."""
        raise exception[-1] if isinstance(exception[-1], BaseException) else exception[0]

    def close(self) -> None:
        """Do nothing, because no coroutine is running."""


class TrlReward(partial[Awaitable[list[float | None]]]):
    """Picklable reward function, which a trainer may send to other processes.

    The class is a `partial`, because TRL decides with `inspect.iscoroutinefunction` whether to await a
    reward, and that function unwraps partials.
    """

    __name__: str

    def __new__(
        cls, data_source: str | None = None, url: str | None = None, rewards: RewardFiles = None
    ) -> TrlReward:
        files = None if rewards is None else reward_files(rewards)
        made = super().__new__(cls, _score, data_source, url, files)
        made.__name__ = "reward"  # TRL uses this name in its logs.
        return made

    def __call__(self, /, *args: Any, **columns: Any) -> Awaitable[list[float | None]]:
        """Score completions. Without a running event loop, the result is also a list of rewards."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _score_now(*self.args, *args, **columns)
        return super().__call__(*args, **columns)

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
    return _rewards(await ascore_batch(samples, server, files), log_metric)


def _score_now(
    source: str | None,
    server: str | None,
    files: RewardFiles,
    /,
    completions: list[Any],
    prompts: list[Any] | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> Rewards:
    """Score completions as `_score` does, blocking the calling thread."""
    samples = samples_from(completions, columns, prompts=prompts, data_source=source)
    return _rewards(score_batch(samples, server, files), log_metric)


def _rewards(scores: list[Score], log_metric: Callable[[str, float], None] | None) -> Rewards:
    if log_metric is not None:
        _log(scores, log_metric)
    return Rewards(score.score if score.ok else None for score in scores)


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


reward = make_reward()
