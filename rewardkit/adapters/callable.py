"""Reward function for any caller, which takes lists and returns numbers.

reward = make_reward("gsm8k")
reward(["#### 72"], ["72"])  # [1.0]
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rewardkit.adapters.backend import RewardFiles, ascore_batch, reward_files, score_batch
from rewardkit.adapters.columns import samples_from
from rewardkit.types import Sample, Score


@dataclass(frozen=True)
class RewardFunction:
    """Picklable reward function `(responses, ground_truths=None, prompts=None, **columns) -> rewards`."""

    data_source: str | None = None
    url: str | None = None
    on_failure: float | None = None
    rewards: RewardFiles = None

    def __call__(
        self,
        responses: Sequence[Any],
        ground_truths: Sequence[Any] | None = None,
        prompts: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Score responses and return the rewards in order."""
        samples = _samples(responses, ground_truths, prompts, columns, self.data_source)
        return _numbers(score_batch(samples, self.url, self.rewards), self.on_failure)


class AsyncRewardFunction(partial[Awaitable[list[float | None]]]):
    """Asynchronous version of `RewardFunction`, which `inspect.iscoroutinefunction` recognises."""

    def __new__(
        cls,
        data_source: str | None = None,
        url: str | None = None,
        on_failure: float | None = None,
        rewards: RewardFiles = None,
    ) -> AsyncRewardFunction:
        return super().__new__(cls, _ascore, data_source, url, on_failure, rewards)

    def __reduce__(self) -> tuple[Callable[..., AsyncRewardFunction], tuple[Any, ...]]:
        return AsyncRewardFunction, self.args


def make_reward(
    data_source: str | None = None,
    *,
    url: str | None = None,
    on_failure: float | None = None,
    rewards: RewardFiles = None,
) -> RewardFunction:
    """Return a function `(responses, ground_truths=None, prompts=None, **columns) -> rewards`.

    Args:
        data_source: Data source of all responses. If None, the function takes a list `data_source`.
        url: Address of a reward server, by default REWARDKIT_URL. Without an address, this process scores.
        on_failure: Reward for a response that could not be scored.
        rewards: Files with compositions and rewards for this process, by default REWARDKIT_REWARDS.
    """
    files = None if rewards is None else reward_files(rewards)
    return RewardFunction(data_source, url, on_failure, files)


def make_async_reward(
    data_source: str | None = None,
    *,
    url: str | None = None,
    on_failure: float | None = None,
    rewards: RewardFiles = None,
) -> AsyncRewardFunction:
    """Return an asynchronous version of the function that `make_reward` returns for these arguments."""
    files = None if rewards is None else reward_files(rewards)
    return AsyncRewardFunction(data_source, url, on_failure, files)


async def _ascore(
    source: str | None,
    server: str | None,
    on_failure: float | None,
    files: RewardFiles,
    /,
    responses: Sequence[Any],
    ground_truths: Sequence[Any] | None = None,
    prompts: Sequence[Any] | None = None,
    **columns: Any,
) -> list[float | None]:
    samples = _samples(responses, ground_truths, prompts, columns, source)
    return _numbers(await ascore_batch(samples, server, files), on_failure)


def _samples(
    responses: Sequence[Any],
    ground_truths: Sequence[Any] | None,
    prompts: Sequence[Any] | None,
    columns: dict[str, Any],
    data_source: str | None,
) -> list[Sample]:
    given = columns if ground_truths is None else {**columns, "ground_truth": ground_truths}
    return samples_from(responses, given, prompts=prompts, data_source=data_source)


def _numbers(scores: list[Score], on_failure: float | None) -> list[float | None]:
    return [score.score if score.ok else on_failure for score in scores]
