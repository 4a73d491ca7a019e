"""Interaction `gsm8k`. It tells the model that its answer is wrong, or ends the episode if the answer is
right."""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.agents.tools.answer_rewards import score_answer
from rewardkit.agents.types import UserTurn
from rewardkit.errors import InputError
from rewardkit.messages import message_text
from rewardkit.rows import ground_truth_text
from rewardkit.types import Message

WRONG = (
    "This is not the right answer. Go through your reasoning again, find the mistake, and give the final "
    "number after ####."
)


class Gsm8k:
    """Interaction that gives feedback on answers to GSM8K problems.

    A turn has the reward 1.0 if its answer is right, and 0.0 if its answer is wrong. The constructor receives
    the interaction's `config` as arguments.

    Args:
        wrong: Reply to a wrong answer.
    """

    def __init__(self, wrong: str = WRONG) -> None:
        self._wrong = wrong
        self._ground_truth = ""

    async def start(self, ground_truth: str | float = "") -> None:
        """Store the row's ground truth.

        Raises:
            InputError: The row has no ground truth.
        """
        self._ground_truth = ground_truth_text(ground_truth) or ""
        if not self._ground_truth:
            raise InputError("the interaction 'gsm8k' needs a ground truth, but the row has none")

    async def respond(self, messages: Sequence[Message]) -> UserTurn:
        """Score the last answer by the number after `####`, as gsm8k's strict method does."""
        score = await score_answer("openai/gsm8k", last_answer(messages), self._ground_truth)
        if score.correct:
            return UserTurn("This is the right answer.", reward=1.0, done=True)
        return UserTurn(self._wrong, reward=0.0)


def last_answer(messages: Sequence[Message]) -> str:
    """Return the text of the last assistant turn, or an empty string if there is no such turn."""
    for message in reversed(messages):
        if message.get("role") == "assistant":
            return message_text(message)
    return ""
