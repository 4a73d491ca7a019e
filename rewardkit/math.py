"""Mathematical answers by themselves: `parse` finds the answer in a text, `verify` compares two answers.

The functions have Math-Verify's signatures, and the rules of the reward `math` (docs/maths_alone.md).

    >>> from rewardkit.math import parse, verify
    >>> verify(parse("$\\\\frac{1}{2}$"), parse("So the answer is 0.5."))
    True
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewardkit.rewards.math.comparing.grade import MathVerdict
from rewardkit.rewards.math.guards import budget
from rewardkit.rewards.math.math_reward import best_verdict
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.extraction import Extraction, extract
from rewardkit.rewards.math.reading.phrases import prose_words
from rewardkit.rewards.math.reading.prepared import prepare_answer

__all__ = ["MathAnswer", "MathVerdict", "explain", "parse", "verify"]

Preset = Literal["default", "strict"]


@dataclass(frozen=True, slots=True)
class MathAnswer:
    """An answer that was found in a text."""

    text: str
    """The answer as written, without the text around it."""
    found_in: str
    """Place of the answer: `boxed`, `tags`, `marker`, `whole`, `display`, `inline` or `number`."""
    problem: str
    """Reason why only the text of the answer can be compared, because it is not mathematics; otherwise ""."""
    extraction: Extraction
    """The answer with the frames beside it, for `verify`."""


_FRAMED = ("tags", "boxed", "marker")
_BARE = 200
"""Maximum length of a text that is an answer as a whole, in characters."""
_TAG = re.compile(r"<[^<>]*>")

Answers = str | MathAnswer | Sequence[str | MathAnswer]
"""One answer or several; a text is an answer as it stands, or contains one."""


def parse(
    pred: str,
    extraction_config: None = None,
    fallback_mode: Literal["no_fallback", "first_match"] = "first_match",
    extraction_mode: Literal["first_match", "any_match"] = "any_match",
    parsing_timeout: float | None = 5,
    raise_on_error: bool = False,
    *,
    preset: Preset = "default",
) -> list[MathAnswer]:
    """Return the answer in a text, as a list of one; an empty list if there is none.

    Args:
        pred: A response, a ground truth or a bare expression.
        extraction_config: Must be None: the places of an answer are those of `preset`.
        fallback_mode: With `first_match`, a line is an answer as a whole if it is mathematics or if no answer
            is found in it. With `no_fallback`, an answer that is not mathematics is left out.
        extraction_mode: Has no effect, because the last answer of a text counts.
        parsing_timeout: Has no effect, because reading is bounded by the length of the answer.
        raise_on_error: Raise ValueError if there is no answer or it is not mathematics.
        preset: Preset of the reward `math`; `strict` reads only boxes and answer tags.

    Raises:
        ValueError: `extraction_config` is given, or as `raise_on_error` says.
    """
    if extraction_config is not None:
        raise ValueError(
            "extraction_config is not supported; pass preset='strict' to read only boxes and tags"
        )
    found = extract(pred, MathOptions(preset=preset))
    bare = found.answer is None or (found.method not in _FRAMED and _is_mathematics(pred))
    if (
        bare
        and fallback_mode == "first_match"
        and 0 < len(pred.strip()) <= _BARE
        and "\n" not in pred.strip()
    ):
        found = Extraction(pred.strip(), "whole")
    if found.answer is None:
        if raise_on_error:
            raise ValueError(f"no answer in {pred!r:.80}: {found.method}")
        return []
    read = prepare_answer(found)
    problem = "" if read.reading is not None else read.problem or "not mathematics"
    if problem and raise_on_error:
        raise ValueError(f"cannot read {found.answer!r:.80}: {problem}")
    if problem and fallback_mode == "no_fallback":
        return []
    return [MathAnswer(found.answer, found.method, problem, found)]


def verify(
    gold: Answers,
    target: Answers,
    float_rounding: int | None = None,
    numeric_precision: int = 15,
    strict: bool = True,
    allow_set_relation_comp: bool = False,
    timeout_seconds: float | None = 5,
    raise_on_error: bool = False,
    *,
    preset: Preset = "default",
) -> bool:
    """Return True if one of the target answers equals one of the gold answers.

    Args:
        gold: Ground truth: a text or the result of `parse`.
        target: Answer to check.
        float_rounding: Significant digits that a rounded decimal needs to equal an exact value. None: 4, or
            with `preset="strict"` no rounding.
        numeric_precision: Has no effect, because values are exact.
        strict: Must be True: names of variables and the kind of brackets always count.
        allow_set_relation_comp: Has no effect: `x > 2` and `(2, \\infty)` are always compared.
        timeout_seconds: CPU seconds for SymPy; None: 2. An answer that is not decided in time is not equal.
        raise_on_error: Raise ValueError if no answer can be compared.
        preset: Preset of the reward `math`.

    Raises:
        ValueError: `strict` is False, or as `raise_on_error` says.
    """
    if not strict:
        raise ValueError("strict=False is not supported; names of variables and brackets always count")
    found = explain(
        gold, target, preset=preset, float_rounding=float_rounding, timeout_seconds=timeout_seconds
    )
    if raise_on_error and found.outcome == "undecided":
        raise ValueError(f"not decided: {found.reason}")
    return found.equal


def explain(
    gold: Answers,
    target: Answers,
    *,
    preset: Preset = "default",
    float_rounding: int | None = None,
    timeout_seconds: float | None = 5,
) -> MathVerdict:
    """Return the verdict of `verify` with its tier and its reason; the arguments are those of `verify`."""
    options = MathOptions(preset=preset, rounding_digits=float_rounding).resolved
    golds = tuple(_text(one) for one in _each(gold))
    verdict = MathVerdict("not_equal", "none", "there is no answer to compare")
    with budget(timeout_seconds):
        for answer in _each(target):
            for one in parse(answer, preset=preset) if isinstance(answer, str) else [answer]:
                found = best_verdict(golds, one.extraction, options)
                if found.equal:
                    return found
                verdict = found
    return verdict


def _is_mathematics(text: str) -> bool:
    """Return True if a text has no words but products of variables, as in `xy = 6`."""
    return all(len(word) <= 2 for word in prose_words(_TAG.sub("", text)))


def _each(answers: Answers) -> Sequence[str | MathAnswer]:
    return [answers] if isinstance(answers, str | MathAnswer) else answers


def _text(answer: str | MathAnswer) -> str:
    return answer if isinstance(answer, str) else answer.text
