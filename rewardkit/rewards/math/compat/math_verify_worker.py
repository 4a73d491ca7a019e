"""The worker of `compat_math_verify`: runs Math-Verify, one pair at a time."""

from __future__ import annotations

from typing import Any

import math_verify  # type: ignore[import-not-found]

_GOLD = (math_verify.LatexExtractionConfig(),)
_ANSWER = (math_verify.ExprExtractionConfig(), math_verify.LatexExtractionConfig())


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Compare as verl does: any reading of the ground truth with any reading of the response."""
    ground_truths = math_verify.parse(question["ground_truth"], _GOLD)
    answers = math_verify.parse(question["response"], _ANSWER)
    equal = any(
        math_verify.verify(ground_truth, found) for ground_truth in ground_truths for found in answers
    )
    return {"outcome": "equal" if equal else "not_equal"}
