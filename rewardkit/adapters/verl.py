"""Reward function for verl, which takes one sample and returns a dict with the same keys for every sample.

reward.custom_reward_function.path=pkg://rewardkit.adapters.verl
reward.custom_reward_function.name=compute_score        # or acompute_score
+reward.custom_reward_function.reward_kwargs.rewards=/path/to/rewards.yaml
+reward.custom_reward_function.reward_kwargs.url=http://127.0.0.1:8000
"""

from __future__ import annotations

from typing import Any

from rewardkit.adapters.backend import RewardFiles, ascore, score_one
from rewardkit.rows import sample_of
from rewardkit.types import Score


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: dict[str, Any] | None = None,
    *,
    url: str | None = None,
    rewards: RewardFiles = None,
    on_failure: float = 0.0,
    **_: Any,
) -> dict[str, Any]:
    """Score one response. This function is thread-safe, because verl calls it from many threads.

    Args:
        data_source: Data source of the response.
        solution_str: Response to score.
        ground_truth: Correct answer, of any type that `rewardkit.rows` can convert.
        extra_info: Other values of the row.
        url: Address of a reward server, by default REWARDKIT_URL. Without an address, this process scores.
        rewards: Files with compositions and rewards for this process, by default REWARDKIT_REWARDS.
        on_failure: Score for a response that could not be scored. `status` and `failed` distinguish it from a
            real score.

    Returns:
        A dict with `score`; `acc` (1.0 if correct; DAPO filters by this value); `status`; `failed`; `pred`,
        the extracted answer; `detail`; and `scorer`. The components of a score are left out, because they
        differ between data sources and verl requires the same keys for all samples.

    Raises:
        OptionsError: The reward needs all responses to a prompt, which verl does not pass.
        ServerError: The server cannot be reached, refused the request or failed.
    """
    sample = sample_of(data_source, solution_str, ground_truth, None, extra_info)
    score = score_one(sample, url, rewards)
    return _answer(score, on_failure)


async def acompute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: dict[str, Any] | None = None,
    *,
    url: str | None = None,
    rewards: RewardFiles = None,
    on_failure: float = 0.0,
    **_: Any,
) -> dict[str, Any]:
    """Score one response as `compute_score` does, without a thread for each sample."""
    sample = sample_of(data_source, solution_str, ground_truth, None, extra_info)
    score = await ascore(sample, url, rewards)
    return _answer(score, on_failure)


def _answer(score: Score, on_failure: float) -> dict[str, Any]:
    reward = score.score if score.ok else on_failure
    return {
        "score": reward,
        "acc": (reward if score.correct is None else float(score.correct)) if score.ok else 0.0,
        "status": score.status,
        "failed": float(not score.ok),
        "pred": score.extracted or "",
        "detail": score.detail or "",
        "scorer": score.scorer,
    }
