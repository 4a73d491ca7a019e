"""verl's side of the calculator in `agents_verl.py`: a tool class as its tool configuration names one."""

from __future__ import annotations

from typing import Any

from verl.tools.base_tool import BaseTool  # type: ignore[import-not-found]
from verl.tools.schemas import ToolResponse  # type: ignore[import-not-found]

from rewardkit.agents.tools.arithmetic import BadExpression, calculate


class Calculator(BaseTool):  # type: ignore[misc]
    """Calculates with the function that the shipped `calculator` calculates with."""

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **_: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Return the result, no reward, and no metrics."""
        try:
            return ToolResponse(text=calculate(parameters["expression"])), 0.0, {}
        except BadExpression as error:
            return ToolResponse(text=str(error)), 0.0, {}
