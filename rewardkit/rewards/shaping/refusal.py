"""`refusal`: a penalty for a response that declines to answer. It reads the opening of what is said."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewardkit.rewards.visible import reply
from rewardkit.types import Sample, Score

_OPENING = 300
_REFUSAL = re.compile(
    r"\b(?:I(?:'m| am) (?:very |really |so )?sorry,? but"
    r"|I (?:can(?:no|['’])?t|won['’]t|will not)"
    r" (?:help|assist|answer|comply|provide|do that|solve|discuss|continue)"
    r"|I (?:must|have to|need to) (?:decline|refuse)"
    r"|I(?:'m| am) (?:unable|not able|not allowed)"
    r" to (?:help|assist|answer|provide|comply|solve)|as an AI(?: language)? model,? I (?:can|do|am))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RefusalOptions:
    """Options of the refusal part."""

    penalty: float = -1.0


def refusal(sample: Sample, options: RefusalOptions) -> Score:
    """Score the penalty for a refusal, 0 for anything else."""
    refused = _REFUSAL.search(reply(sample.response).strip()[:_OPENING]) is not None
    return Score(options.penalty if refused else 0.0, detail="refuses" if refused else "does not refuse")
