"""Verifiable instructions (IFEval, IFBench). `instruction_reward` scores, `table` registers the checkers, and
each family has its own file. Use `checker` to add your own."""

from __future__ import annotations

from rewardkit.rewards.instructions.instruction_reward import InstructionOptions, score
from rewardkit.rewards.instructions.table import checker

__all__ = ["InstructionOptions", "checker", "score"]
