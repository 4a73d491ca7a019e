"""Reward `refusal`, a penalty for declining to answer. Only the start of the response is read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewardkit.rewards.answers.place import reply
from rewardkit.types import Sample, Score

_OPENING = 300
_CANNOT = (
    r"(?:can(?:no|['’])?t|can not|won['’]t|will not"
    r"|(?:am|['’]m) (?:unable|not able|not allowed|not permitted|not going) to)"
)
_REFUSAL = re.compile(
    rf"\bI(?:(?<=I) |(?=['’])){_CANNOT} (?:"
    r"help|assist|comply|discuss|engage|participate|fulfill?|support"
    r"|(?:answer|provide|do|continue|create|generate|write|complete|share|offer|give|produce|respond|solve)"
    r"(?: with| to)?(?: (?:this|that|it|you|your|such|any|the requested|instructions|information|advice"
    r"|content)\b"
    r"(?! (?:as an?|directly|exactly|analytically|by hand|in closed form|yet|until|without))|(?=[.!,]|$)))"
    rf"|\b(?:sorry|apologi[sz]e)\b[^.!?\n]{{0,40}}\bI(?:(?<=I) |(?=['’])){_CANNOT}\b"
    r"|\bI (?:must|have to|need to) (?:respectfully )?(?:decline|refuse)"
    r"|\bI (?:decline|refuse) to (?:answer|help|assist|provide|comply|do)"
    r"|\bI(?: am|['’]m| do|) ?(?:not|n['’]t|don['’]t) (?:feel )?comfortable"
    r" (?:with|answering|providing|discussing|helping)"
    r"|\bas an AI(?: language)? model,? I (?:can|do|am)",
    re.IGNORECASE,
)
"""Pattern for refusals of the request, but not for steps in a solution ("I cannot write this in closed
form")."""


@dataclass(frozen=True)
class RefusalOptions:
    """Options for the refusal reward."""

    penalty: float = -1.0
    """Score for a refusal."""


def refusal(sample: Sample, options: RefusalOptions) -> Score:
    """Score the penalty for a refusal, and 0 for any other response."""
    refused = _REFUSAL.search(reply(sample.response).strip()[:_OPENING]) is not None
    return Score(options.penalty if refused else 0.0, detail="refuses" if refused else "does not refuse")
