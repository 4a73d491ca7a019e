"""The `qa` reward for questions with short answers.

`qa_reward` extracts and scores the answer, `equal` compares two short answers, and `compat` reproduces verl's
rule.
"""

from __future__ import annotations

from rewardkit.rewards.qa.qa_reward import QaOptions, score

__all__ = ["QaOptions", "score"]
