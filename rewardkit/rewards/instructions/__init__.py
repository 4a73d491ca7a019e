"""Verifiable instructions (IFEval, IFBench): `instruction_reward` scores, `table` knows the checkers, one
file for each family of them. `checker` adds one of your own."""

from __future__ import annotations

from rewardkit.rewards.instructions.instruction_reward import InstructionOptions, score
from rewardkit.rewards.instructions.table import checker

__all__ = ["InstructionOptions", "checker", "score"]
