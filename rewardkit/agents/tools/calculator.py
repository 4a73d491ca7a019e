"""Tool `calculator` for exact arithmetic, which is implemented in `arithmetic.py`."""

from __future__ import annotations

from rewardkit.agents.tools.arguments import BadCall
from rewardkit.agents.tools.declare import tool
from rewardkit.arithmetic import BadExpression, calculate


@tool(inline=True)
def calculator(expression: str) -> str:
    """Calculate an arithmetic expression.

    Args:
        expression: Numbers, + - * / // % ** and parentheses, such as (12 + 3) * 4.
    """
    try:
        return calculate(expression)
    except BadExpression as error:
        raise BadCall(str(error)) from None
