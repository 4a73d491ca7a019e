"""Reads a judge's answer: a number, a word of `verdicts`, or a field of a JSON object. Evaluates nothing.

A verdict must be the end of the answer, except for closing marks. Further text could retract it in any
language ("7, nein, sechs"), so the judge is asked once more.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.special_tokens import behind_thoughts

_READ_CHARS = 20_000
"""Number of characters at the end of an answer that are searched for a verdict."""

_NUMBER = r"-?[0-9]{1,6}(?:\.[0-9]{1,6})?"
_OUT_OF = ("/", "out of", "of", "von", "sur", "de", "su", "av", "uit", "z", "из", "分，满分")
"""Text between a number and the end of its scale, as in `7/10`. The end must match the range's."""

_OPENING = r"(?:\\boxed\{|[\s*`\"'“‘„«$(\[{])*+"
_CLOSING = r"(?:</\w{1,20}>|[\s*`\"'”’“»$)\]}])*+"
_END = rf"{_CLOSING}[.!。！]?{_CLOSING}\Z"
_ON_SCALE = re.compile(
    rf"{_OPENING}(?P<score>{_NUMBER}){_CLOSING}"
    rf"(?:(?:{'|'.join(map(re.escape, _OUT_OF))})[\s*_]*+(?P<high>{_NUMBER})|(?P<percent>%))?{_END}"
)
_FENCED = re.compile(r"\s*```(?:json)?\s*\n(?P<inside>.*)\n\s*```\s*\Z", re.DOTALL | re.IGNORECASE)


class NoVerdictError(ValueError):
    """Raised if the answer has no usable verdict; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """The verdict of a judge."""

    text: str
    value: float
    score: float
    """The value on the scale of the reward."""
    reason: str = ""
    """The end of the text before the verdict, on one line."""
    mass: float | None = None
    """Probability of all verdicts together, if the score is computed from the probabilities of tokens."""


def read_verdict(answer: str, marker: str, options: JudgeOptions) -> JudgeVerdict:
    """Read the verdict at the end of an answer: after the marker or, without one, alone on the last line.

    Raises:
        NoVerdictError: there is none or several, or it is not among the `verdicts` or within `score_range`.
    """
    if options.score_field:
        return json_verdicts(answer, [options.score_field], options)[0]
    said = _said(answer)
    if options.score_pattern:
        text, before = _match(said, marker, options)
    else:
        text, before = _at_the_end(said, marker, options)
    value = _value(text, options)
    _check_earlier(before, marker, value, options)
    return JudgeVerdict(text, value, scaled(value, options), one_line(before))


def json_verdicts(answer: str, fields: Sequence[str], options: JudgeOptions) -> list[JudgeVerdict]:
    """Read verdicts from fields (`a.b` for nested objects) of an answer that is one JSON object.

    Raises:
        NoVerdictError: the answer is not a single JSON object (a fence around it is allowed), a field is
            missing or duplicated, or its value is neither a JSON number within `score_range` nor one of
            `verdicts`.
    """
    said = _said(answer)
    fenced = _FENCED.match(said)
    try:
        made = json.loads(
            fenced["inside"] if fenced else said,
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError):
        made = None
    if not isinstance(made, dict):
        raise NoVerdictError(
            f"expected exactly one JSON object from the judge, found {one_line(said) or 'nothing'!r}"
        )
    texts = [_field(made, field, options) for field in fields]
    values = [_value(text, options) for text in texts]
    return [
        JudgeVerdict(text, value, scaled(value, options), one_line(said))
        for text, value in zip(texts, values, strict=True)
    ]


def _said(answer: str) -> str:
    """Return the part of an answer after its thoughts."""
    said = behind_thoughts(answer)
    if said is None:
        raise NoVerdictError("the judge's thinking block is not closed")
    return said


def _field(made: Any, field: str, options: JudgeOptions) -> str:
    value = made
    for key in field.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, str) and options.verdicts:
        return value.strip()
    if isinstance(value, bool) or (value is None and "null" in options.verdicts):
        return json.dumps(value)
    if isinstance(value, int | float):
        return repr(value)
    raise NoVerdictError(f"the JSON object has no verdict in '{field}': {str(made)[:160]!r}")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's fields; a duplicated field becomes a list, which is not a valid verdict."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = [found[key], value] if key in found else value
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _at_the_end(said: str, marker: str, options: JudgeOptions) -> tuple[str, str]:
    """Return the verdict's text and the text before it."""
    if marker:
        before, found, after = said.rpartition(marker)
        if not found:
            raise NoVerdictError(f"the judge's answer has no verdict: {one_line(said) or 'nothing'!r}")
    else:
        lines = said.rstrip().splitlines() or [""]
        lines = lines[:-1] if len(lines) > 1 and lines[-1].strip() == "```" else lines
        before, after = "\n".join(lines[:-1]), lines[-1]
    return _verdict_alone(after, options), before


def _verdict_alone(text: str, options: JudgeOptions) -> str:
    """Return the verdict that makes up a text, without surrounding marks."""
    if options.verdicts:
        words = sorted(map(str, options.verdicts), key=len, reverse=True)
        found = re.match(
            rf"{_OPENING}(?P<score>{'|'.join(map(re.escape, words))}){_END}", text, re.IGNORECASE
        )
        if found is None:
            raise NoVerdictError(
                f"expected exactly one of {', '.join(words)}, found {start_of(text) or 'nothing'!r}"
            )
        return found["score"]
    found = _ON_SCALE.match(text)
    if found is None:
        raise NoVerdictError(f"expected only a number, found {start_of(text) or 'nothing'!r}")
    high = options.score_range[1]
    if (found["high"] is not None and float(found["high"]) != high) or (found["percent"] and high != 100):
        raise NoVerdictError(f"the verdict {start_of(text)!r} is not on the scale; the maximum is {high:g}")
    return found["score"]


def _match(said: str, marker: str, options: JudgeOptions) -> tuple[str, str]:
    """Return the match of `score_pattern` after the marker, or in the whole answer; all must agree."""
    before, _, after = said.rpartition(marker) if marker else ("", "", said)
    found = list(re.finditer(options.score_pattern, after[-_READ_CHARS:]))
    texts = {(one["score"] or "").strip().casefold() for one in found}
    if len(texts) != 1 or "" in texts:
        number = "several verdicts" if len(texts) > 1 else "no verdict"
        raise NoVerdictError(f"score_pattern finds {number}: {one_line(after)!r}")
    return found[-1]["score"].strip(), before or after[: found[-1].start()]


def _check_earlier(before: str, marker: str, value: float, options: JudgeOptions) -> None:
    """Refuse an answer with a different verdict before its last.

    A marker without a verdict is a mere mention.
    """
    words = "|".join(re.escape(str(word)) for word in options.verdicts) or _NUMBER
    begins = re.compile(rf"{_OPENING}(?P<score>{words})(?!\w)", re.IGNORECASE)
    for piece in before.split(marker)[1:] if marker else ():
        found = begins.match(piece)
        with contextlib.suppress(NoVerdictError):
            earlier = _value(found["score"], options) if found else value
            if earlier != value:
                break
    else:
        return
    raise NoVerdictError(f"the judge gave two different verdicts, {earlier:g} and {value:g}")


def _value(text: str, options: JudgeOptions) -> float:
    if options.verdicts:
        by_word = {str(word).casefold(): value for word, value in options.verdicts.items()}
        if text.casefold() not in by_word:
            raise NoVerdictError(f"the verdict {text[:40]!r} is not one of {', '.join(options.verdicts)}")
        return by_word[text.casefold()]
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        raise NoVerdictError(f"the verdict {text[:40]!r} is not a number") from None
    low, high = options.score_range
    if not (math.isfinite(value) and low <= value <= high):
        raise NoVerdictError(f"the verdict {text[:40]} is not between {low:g} and {high:g}")
    return value


def scaled(value: float, options: JudgeOptions) -> float:
    """Return a verdict's score: that of its word in the options, or the scaled number."""
    if options.scale_to is None or options.verdicts:
        return value
    (low, high), (to_low, to_high) = options.score_range, options.scale_to
    return to_low + (value - low) / (high - low) * (to_high - to_low)


def one_line(text: str) -> str:
    """Return the end of a text, on one line."""
    return " ".join(text[-600:].split())[-200:]


def start_of(text: str) -> str:
    """Return the start of a text, on one line."""
    return " ".join(text[:200].split())[:80]
