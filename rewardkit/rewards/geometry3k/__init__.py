"""Scores Geometry3K by the answer in the box and by the format that the prompt requests.

The answer is scored as in the `math` reward, but must be in a box. A missing, empty or unclosed box is wrong,
whatever the ground truth. In the right format, a response starts with `<think>...</think>` and has a box
after it. The weights, as in verl's `geo3k.py`, are 0.9 for the answer and 0.1 for the format. Unless
`format_needs_answer` is set, a response with a wrong answer can still score for its format.

`compat="verl"` applies verl's rule (github.com/volcengine/verl, as in 0.9.1), which gives 0.9 for a missing
box if the ground truth is `None`. verl passes the answer to `eval`. This module never does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from rewardkit.rewards.answers.reasons import no_answer
from rewardkit.rewards.math import MathOptions, extract
from rewardkit.rewards.math import score as math_score
from rewardkit.types import UNDECIDED, Sample, Score


@dataclass(frozen=True)
class GeometryOptions:
    """Options for the geometry3k reward."""

    format_weight: float = 0.1
    """Share of the score for the format, from 0 to 1. The rest is for the answer."""
    format_needs_answer: bool = False
    """True to score the format only if the answer is right. Ignored with `compat=verl`."""
    compat: Literal["none", "verl"] = "none"
    """`verl` to score in the same way as verl."""


_BOXED = MathOptions(methods=("boxed",))


def score(sample: Sample, options: GeometryOptions) -> Score:
    """Score one response by the rules at the top of this file.

    `parts` contains `acc` for the answer and `format` for the format, each 0 or 1. The status is that of the
    `math` reward.
    """
    if options.compat == "verl":
        from rewardkit.rewards.geometry3k.compat import accurate, box, in_format

        right = accurate(box(sample.response), sample.ground_truth)
        return _combined(right, in_format(sample.response), options, box(sample.response), "compat=verl")
    found = math_score(sample, _BOXED)
    if found.status != "ok":
        return msgspec.structs.replace(found, parts=_parts(False, False))
    if extract(sample.response, _BOXED).answer is None:
        return Score(
            0.0, "ok", False, None, _parts(False, False), no_answer(sample.response, "closed \\boxed{}")
        )
    formatted = _in_format(sample.response) and bool(found.extracted)
    if options.format_needs_answer and not found.correct:
        formatted = False
    undecided = bool(found.parts[UNDECIDED])
    return _combined(bool(found.correct), formatted, options, found.extracted, found.detail, undecided)


def _combined(
    right: bool,
    formatted: bool,
    options: GeometryOptions,
    answer: str | None,
    why: str | None,
    undecided: bool = False,
) -> Score:
    value = (1.0 - options.format_weight) * right + options.format_weight * formatted
    return Score(value, "ok", right, answer, _parts(right, formatted, undecided), why)


def _parts(right: bool, formatted: bool, undecided: bool = False) -> dict[str, float]:
    return {"acc": float(right), "format": float(formatted), UNDECIDED: float(undecided)}


def _in_format(response: str) -> bool:
    """Return True if a response starts with a single non-empty think block and has a box after it."""
    text = response.strip()
    if not text.startswith("<think>") or text.count("<think>") > 1 or text.count("</think>") != 1:
        return False
    thought, _, said = text[7:].partition("</think>")
    return bool(thought.strip()) and "\\boxed{" in said
