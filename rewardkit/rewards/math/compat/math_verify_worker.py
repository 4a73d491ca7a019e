"""Worker for `compat.math_verify`, which runs Math-Verify on one pair at a time."""

from __future__ import annotations

from typing import Any

import math_verify  # type: ignore[import-not-found]

_GOLD = (math_verify.LatexExtractionConfig(),)
_ANSWER = (math_verify.ExprExtractionConfig(), math_verify.LatexExtractionConfig())


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Compare a ground truth and a response as verl does.

    Any parsed form of one side may match any parsed form of the other.
    """
    ground_truths = math_verify.parse(question["ground_truth"], _GOLD)
    answers = math_verify.parse(question["response"], _ANSWER)
    equal = any(
        math_verify.verify(ground_truth, found) for ground_truth in ground_truths for found in answers
    )
    return {"outcome": "equal" if equal else "not_equal"}
