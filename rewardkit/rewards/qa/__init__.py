"""Questions with short answers: `reward` scores, `reading` finds the answer and the accepted ones, `equal`
compares two short answers, `compat` is verl's rule."""

from __future__ import annotations

from rewardkit.rewards.qa.qa_reward import QaOptions, score

__all__ = ["QaOptions", "score"]
