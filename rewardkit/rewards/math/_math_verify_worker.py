"""The far side of `compat_math_verify`: calls Math-Verify on one pair at a time. Runs only as a subprocess."""

from __future__ import annotations

from typing import Any

import math_verify

from rewardkit.rewards.math.workerloop import serve

_GOLD = (math_verify.LatexExtractionConfig(),)
_ANSWER = (math_verify.ExprExtractionConfig(), math_verify.LatexExtractionConfig())


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Compare as verl does: any reading of the gold with any reading of the response."""
    golds = math_verify.parse(question["gold"], _GOLD)
    answers = math_verify.parse(question["response"], _ANSWER)
    equal = any(math_verify.verify(gold, found) for gold in golds for found in answers)
    return {"outcome": "equal" if equal else "not_equal"}


if __name__ == "__main__":
    serve(answer)
