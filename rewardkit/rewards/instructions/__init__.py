"""Verifiable instructions (IFEval, IFBench).

`instruction_reward` scores, `table` registers the checkers, and each family of instructions has its own file.
Use `checker` to add instructions of your own.
"""

from __future__ import annotations

from rewardkit.rewards.instructions.instruction_reward import InstructionOptions, score
from rewardkit.rewards.instructions.table import checker

__all__ = ["InstructionOptions", "checker", "score"]
