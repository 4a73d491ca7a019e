"""Reward function for a verifiers rubric: `vf.Rubric(funcs=[make_reward("gsm8k")], weights=[1.0])`.

verifiers passes the arguments that a function asks for by name: `prompt, completion, answer, state, task,
info`. A rubric counts an exception as a score of 0. The complete Score, with its status, is therefore also
stored in the rollout's state. verifiers 0.4 and later have no rubrics; a task's `@vf.reward` method awaits
the same function instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from rewardkit.adapters.backend import RewardFiles, ascore_batch, reward_files
from rewardkit.errors import ScoringError
from rewardkit.rows import sample_of

STATE = "rewardkit"
"""Key in the rollout's state under which the complete Score is stored, including its status and parts."""


def make_reward(
    data_source: str | None = None, *, url: str | None = None, rewards: RewardFiles = None
) -> Callable[..., Awaitable[float]]:
    """Return a reward function for a rubric.

    Args:
        data_source: Data source of all rows, by default `info["data_source"]`, or else the row's `task`.
        url: Address of a reward server, by default REWARDKIT_URL. Without an address, this process scores.
        rewards: Files with compositions and rewards for this process, by default REWARDKIT_REWARDS.
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
        """Score a completion, given as a text or messages.

        Raises:
            ScoringError: The completion could not be scored.
        """
        extra = dict(info or {})
        source = data_source or extra.get("data_source") or task
        (score,) = await ascore_batch([sample_of(source, completion, answer, prompt, extra)], url, files)
        state[STATE] = score.as_dict()
        if not score.ok:
            raise ScoringError(f"{score.status}: {score.detail}")
        return score.score

    return rewardkit_score
