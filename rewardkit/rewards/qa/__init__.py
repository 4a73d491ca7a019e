"""Questions with short answers: `qa_reward` scores and finds the answer and the accepted answers, `equal`
compares two short answers, and `compat` is verl's rule."""

from __future__ import annotations

from rewardkit.rewards.qa.qa_reward import QaOptions, score

__all__ = ["QaOptions", "score"]
