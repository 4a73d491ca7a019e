"""Tools `calc_gsm8k_reward` and `calc_geo3k_reward`, which tell the model the score of an answer.

The ground truth is in the row's `create_kwargs`. As in verl's examples, a call has a negative reward if its
answer does not improve on the best answer so far. In contrast to verl, the tool keeps the best answer between
calls.
"""

from __future__ import annotations

import atexit
import functools

from rewardkit.agents.tools.arguments import BadCall
from rewardkit.agents.tools.declare import tool
from rewardkit.agents.types import Observation
from rewardkit.errors import ConfigError
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score

NO_BETTER = -0.05
"""Reward for a call whose answer does not improve on the best answer so far, as in verl's Gsm8kTool."""
_MAX_CHARS = 10_000


@functools.cache
def shared_scorer() -> Scorer:
    """Return the scorer that all tools and interactions in this process share. It has one worker."""
    import rewardkit.rewards  # noqa: F401

    scorer = Scorer(workers=1)
    atexit.register(scorer.close)
    return scorer


async def score_answer(data_source: str, response: str, ground_truth: str) -> Score:
    """Score a response.

    Raises:
        RuntimeError: The response could not be scored.
    """
    score = await shared_scorer().ascore(Sample(data_source, response, ground_truth))
    if not score.ok:
        raise RuntimeError(
            f"the reward of '{data_source}' could not score the answer: {score.status}: {score.detail}"
        )
    return score


class _Answers:
    """Tool that scores submitted answers and stores the score of the best answer."""

    _data_source: str
    _form: str

    def __init__(self, no_better: float = NO_BETTER) -> None:
        self._no_better = no_better
        self._ground_truth: str | None = None
        self._best = 0.0

    async def create(self, ground_truth: str | None = None) -> None:
        """Store the row's ground truth."""
        self._ground_truth = None if ground_truth is None else str(ground_truth)

    async def reward(self) -> float | None:
        """Return the score of the best answer, or None if there is no ground truth."""
        return self._best if self._ground_truth else None

    async def _score(self, answer: str) -> Observation:
        if not self._ground_truth:
            where = "extra_info.tools_kwargs.TOOL.create_kwargs.ground_truth"
            raise ConfigError(f"the row has no ground truth for this tool; set {where}")
        if len(answer) > _MAX_CHARS:
            raise BadCall(f"the answer is longer than {_MAX_CHARS} characters")
        found = await score_answer(self._data_source, self._form % answer.strip(), self._ground_truth)
        worth = found.score if found.correct else 0.0
        better = worth > self._best
        self._best = max(self._best, worth)
        said = f"Current parsed answer: {found.extracted}; its reward: {worth:g}"
        return Observation(said, reward=0.0 if better else self._no_better, metrics={"best": self._best})


@tool(name="calc_gsm8k_reward")
class Gsm8kAnswer(_Answers):
    """Tool that scores answers to a GSM8K problem."""

    _data_source = "openai/gsm8k"
    _form = "#### %s"

    async def execute(self, answer: str) -> Observation:
        """Calculate the reward of an answer to a GSM8K problem: 1.0 if it is right, 0.0 if it is not.

        Args:
            answer: The final number.
        """
        return await self._score(answer.strip().removeprefix("####"))


@tool(name="calc_geo3k_reward")
class Geo3kAnswer(_Answers):
    """Tool that scores answers to a Geometry3K problem."""

    _data_source = "hiyouga/geometry3k"
    _form = "<think>\n</think>\n\\boxed{%s}"

    async def execute(self, answer: str) -> Observation:
        """Calculate the reward of an answer to a geometry problem: 0 if it is wrong, more if it is right.

        Args:
            answer: The final answer, a number or an expression.
        """
        return await self._score(answer)
