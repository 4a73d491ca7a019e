"""The calculator of `agents_learning.py` where turns are rewarded: it pays the call that has the answer.

Named as a tool by `agents_calculator.py:Calculator`; what it says is what the shipped `calculator` says.
"""

from __future__ import annotations

from rewardkit.agents.tools.arguments import BadCall
from rewardkit.agents.tools.arithmetic import BadExpression, calculate
from rewardkit.agents.tools.declare import tool
from rewardkit.agents.types import Observation

REWARD = 0.5
"""Of a call that comes to the answer."""


@tool(name="calculator", inline=True)
class Calculator:
    """Calculate an arithmetic expression."""

    def create(self, ground_truth: str = "") -> None:
        """Take the row's answer."""
        self._ground_truth = ground_truth

    def execute(self, expression: str) -> Observation:
        """Calculate.

        Args:
            expression: Such as (12 * 34) % 97.
        """
        try:
            found = calculate(expression)
        except BadExpression as error:
            raise BadCall(str(error)) from None
        return Observation(found, reward=REWARD if found == self._ground_truth else 0.0)
