"""A reward function for a rubric of verifiers: `vf.Rubric(funcs=[make_reward("gsm8k")], weights=[1.0])`.

verifiers passes by name what a function asks for: `prompt, completion, answer, state, task, info`. A rubric
takes a function that raises for a score of 0, so what could not be scored also stands in the rollout's state.
From 0.4 on there are no rubrics: a task's `@vf.reward` method awaits the same function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from rewardkit.adapters.backend import RewardFiles, ascore_batch, reward_files
from rewardkit.errors import ScoringError
from rewardkit.rows import sample_of

STATE = "rewardkit"
"""The key of the rollout's state under which the whole score is kept, status and parts included."""


def make_reward(
    data_source: str | None = None, *, url: str | None = None, rewards: RewardFiles = None
) -> Callable[..., Awaitable[float]]:
    """Make a reward function for a rubric.

    Args:
        data_source: of every row; None: `info["data_source"]`, else the row's `task`.
        url: of a reward server; None: REWARDKIT_URL, or this process.
        rewards: files of compositions and rewards for this process; None: REWARDKIT_REWARDS.
    """
    files = None if rewards is None else reward_files(rewards)

    async def rewardkit_score(
        prompt: Any,
        completion: Any,
        answer: Any,
        state: MutableMapping[str, Any],
        task: str = "",
        info: Mapping[str, Any] | None = None,
    ) -> float:
        """Score a completion, a text or messages.

        Raises:
            ScoringError: it could not be scored.
        """
        extra = dict(info or {})
        source = data_source or extra.get("data_source") or task
        (score,) = await ascore_batch([sample_of(source, completion, answer, prompt, extra)], url, files)
        state[STATE] = score.as_dict()
        if not score.ok:
            raise ScoringError(f"{score.status}: {score.detail}")
        return score.score

    return rewardkit_score
