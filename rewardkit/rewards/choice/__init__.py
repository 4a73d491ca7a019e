"""Multiple choice: `reward` scores, `question` knows the options, `answering` finds the answer in a response,
`naming` says which option a piece of text names."""

from __future__ import annotations

from rewardkit.rewards.choice.reward import ChoiceOptions, score

__all__ = ["ChoiceOptions", "score"]
