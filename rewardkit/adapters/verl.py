"""verl's reward function: one sample in, a dict with the same keys for every sample out.

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
    """Score one response; verl calls it from many threads.

    Args:
        url: of a reward server; None: REWARDKIT_URL, or this process.
        rewards: files of compositions and rewards for this process; None: REWARDKIT_REWARDS.
        on_failure: the score of what could not be scored. `status` and `failed` tell it from a judgement.

    Returns:
        `score`; `acc` (1.0 where correct, which DAPO filters by); `status`; `failed`; `pred`, the
        extracted answer; `detail`; `scorer`. Components of a score differ between data sources, and verl
        wants the same keys for all, so they are not among them.

    Raises:
        OptionsError: the reward looks at all responses to a prompt, which verl does not pass.
        ServerError: the server cannot be reached, refused the request or failed.
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
    """Score as `compute_score` does, without a thread for each sample."""
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
