"""Scores GSM8K by the number after `####`, which is right, wrong but in the right format, or neither.

- `strict` reads only the last `####` line of the response's own text (`answers/place.py`). The score is 1.0
  for the right number, 0.1 for another number or several numbers, and 0.0 if no number follows `####`.
- `flexible` reads the last frame of any kind or, without a frame, the last number in the text. Use it for
  evaluation only, because a policy can learn to end with a guess.
- `answers/number.py` defines which texts are one number, and the value of that number. Numbers are compared
  exactly.
- `compat="verl"` reproduces verl's `gsm8k.compute_score` (github.com/volcengine/verl, as in 0.9.1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rewardkit.rewards.answers.number import StatedNumber, Value, last_number, number_in, stated_number
from rewardkit.rewards.answers.place import FRAME_KINDS, FrameKind, not_all_own, own_text, without_prompt
from rewardkit.types import Sample, Score, failure


@dataclass(frozen=True)
class Gsm8kOptions:
    """Options for the GSM8K reward."""

    score: float = 1.0
    """Score for a right answer."""
    format_score: float | None = None
    """Score for a wrong number, or several numbers, after `####`. None means 0.1, or 0.0 with
    `compat=verl`."""
    neither_score: float = 0.0
    """Score for a response without a number after `####`. With `method=flexible`, this applies only to wrong
    answers. Ignored with `compat=verl`."""
    method: Literal["strict", "flexible"] = "strict"
    """`strict` reads the number after the last `####`. `flexible` reads the last answer in any known format,
    such as `\\boxed{...}` or "the answer is ...", or otherwise the last number. Use `flexible` only for
    evaluation."""
    window: int | None = None
    """Number of characters to read, from the end of the response. None means the whole response. Ignored with
    `compat=verl`."""
    compat: Literal["verl"] | None = None
    """`verl` to score in the same way as verl."""

    def __post_init__(self) -> None:
        """Check that the window is not empty."""
        if self.window is not None and self.window < 1:
            raise ValueError(f"window is {self.window}; expected an integer of at least 1, or none")

    @property
    def evaluation_only(self) -> str:
        """Return the reason not to train a policy with these options, or "" if there is no reason."""
        return (
            "method=flexible also scores a guessed last number as right" if self.method == "flexible" else ""
        )


def score(sample: Sample, options: Gsm8kOptions) -> Score:
    """Score one response by the rules at the top of this file.

    `Score.parts["format"]` is 1.0 if the answer is a number after `####`. The status is `invalid` if the
    ground truth is not a number.
    """
    if options.compat is not None:
        return _score_as_verl(sample, options)
    wanted = _ground_truth(sample.ground_truth)
    if wanted is None:
        return failure("invalid", f"the ground truth {sample.ground_truth!r:.60} is not a number")
    text = own_text(sample.response, sample.prompt)
    if options.window is not None:
        text = text[-options.window :]
    found, in_format = _stated(text, sample, options)
    correct = found is not None and found.value is not None and found.value == wanted
    if correct:
        value = options.score
    elif in_format:
        value = 0.1 if options.format_score is None else options.format_score
    else:
        value = options.neither_score
    why = None if correct else _why_wrong(text, found, in_format, sample, options)
    return Score(
        value, "ok", correct, found.text if found is not None else None, {"format": float(in_format)}, why
    )


def _why_wrong(
    text: str, found: StatedNumber | None, in_format: bool, sample: Sample, options: Gsm8kOptions
) -> str:
    """Return why the response does not get full marks. The reason depends only on the excerpt."""
    place = "after ####" if in_format else "last number"
    if found is None and options.method == "strict":
        last = _last_number(text.rpartition("####")[2])
        if not last:
            return 'no "#### NUMBER", and no other number'
        return f'no "#### NUMBER"; the last number is {last}, which method=flexible reads'
    if found is None:
        return "no number in the response"
    if found.value is None:
        return f"{place}: several numbers, or a number that is changed, at {found.text}"
    return f"{place}: {found.text} is not {sample.ground_truth.rpartition('####')[2].strip():.40}"


def excerpts(responses: Sequence[str], options: Gsm8kOptions) -> list[str | None]:
    """Return, for each response, the excerpt that decides its score: the end from its only `####`, or the
    last number.

    The excerpt is None if a response must be read as a whole.
    """
    if options.method != "strict" or options.window is not None or options.compat is not None:
        return [None] * len(responses)
    found: list[str | None] = []
    for text in responses:
        before, mark, behind = text.rpartition("####")
        several = "#" in before and "####" in before
        fenced = "`" in text and "```" in text
        found.append(None if several or fenced else mark + behind if mark else _last_number(text))
    for i in not_all_own(responses):
        found[i] = None
    return found


def _last_number(text: str) -> str:
    """Return the last number in a text as written, or ""."""
    found = last_number(text)
    return found.text if found is not None else ""


def _stated(text: str, sample: Sample, options: Gsm8kOptions) -> tuple[StatedNumber | None, bool]:
    """Return the number that a text gives as its answer, and True if the number follows `####`."""
    found, kind = stated_number(text, *_FRAMES[options.method])
    if kind is None and options.method == "flexible":
        return last_number(without_prompt(text, sample.prompt)), False
    return found, found is not None and kind == "hash"


_FRAMES: dict[str, tuple[FrameKind, ...]] = {"strict": ("hash",), "flexible": FRAME_KINDS}


@lru_cache(maxsize=65_536)
def _ground_truth(text: str) -> Value | None:
    """Return the value of a ground truth, which is a number or a solution that ends with `#### number`."""
    found = stated_number(text, "hash")[0] if "####" in text else number_in(text.strip())
    return found.value if found is not None else None


def verl_score(
    response: str,
    ground_truth: str,
    *,
    method: str = "strict",
    format_score: float = 0.0,
    score: float = 1.0,
) -> float:
    """Return the same score as verl's `gsm8k.compute_score`, for every input."""
    answer = _verl_answer(response, method)
    if answer is None:
        return 0.0
    return score if answer == ground_truth else format_score


def _score_as_verl(sample: Sample, options: Gsm8kOptions) -> Score:
    answer = _verl_answer(sample.response, options.method)
    value = verl_score(
        sample.response,
        sample.ground_truth,
        method=options.method,
        format_score=options.format_score or 0.0,
        score=options.score,
    )
    parts = {"format": 0.0 if answer is None else 1.0}
    return Score(value, "ok", answer == sample.ground_truth, answer, parts, "compat=verl")


def _verl_answer(response: str, method: str) -> str | None:
    tail = response[-300:]
    if method == "strict":
        found = re.findall(r"#### (-?[0-9.,]+)", tail)
        return found[-1].replace(",", "") if found else None
    numbers: list[str] = re.findall(r"-?[0-9.,]+", tail)
    last: str | None = None
    for last in reversed(numbers):
        if last not in ("", "."):
            break
    return last
