"""Scores responses by the verifiable instructions that they follow (IFEval, IFBench).

`instruction_reward` computes the score, `table` registers the checkers, and each family of instructions has
its own file. Use `checker` to add your own instructions.
"""

from __future__ import annotations

from rewardkit.rewards.instructions.instruction_reward import InstructionOptions, score
from rewardkit.rewards.instructions.table import checker

__all__ = ["InstructionOptions", "checker", "score"]
