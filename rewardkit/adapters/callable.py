"""A reward function for anything that calls one: lists in, numbers out.

reward = make_reward("gsm8k")
reward(["#### 72"], ["72"])  # [1.0]
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rewardkit.adapters.backend import ascore_batch, score_batch
from rewardkit.adapters.columns import samples_from
from rewardkit.types import Sample, Score

RewardFunction = Callable[..., list[float | None]]
AsyncRewardFunction = Callable[..., Awaitable[list[float | None]]]


def make_reward(
    data_source: str | None = None, *, url: str | None = None, on_failure: float | None = None
) -> RewardFunction:
    """Make a function `(responses, ground_truths=None, prompts=None, **columns) -> rewards`.

    Args:
        data_source: of every response; None: the function takes a list `data_source`.
        url: of a reward server; None: REWARDKIT_URL, or this process.
        on_failure: the reward of what could not be judged.
    """

    def reward(
        responses: Sequence[Any],
        ground_truths: Sequence[Any] | None = None,
        prompts: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        samples = _samples(responses, ground_truths, prompts, columns, data_source)
        return _numbers(score_batch(samples, url), on_failure)

    return reward


def make_async_reward(
    data_source: str | None = None, *, url: str | None = None, on_failure: float | None = None
) -> AsyncRewardFunction:
    """Like `make_reward`, for a coroutine function."""

    async def reward(
        responses: Sequence[Any],
        ground_truths: Sequence[Any] | None = None,
        prompts: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        samples = _samples(responses, ground_truths, prompts, columns, data_source)
        return _numbers(await ascore_batch(samples, url), on_failure)

    return reward


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
