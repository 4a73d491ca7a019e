"""What the judge is asked and what its answer means. Text in, text or a number out; nothing is evaluated."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.types import Message, Sample

_READ_CHARS = 20_000
"""The end of an answer in which a verdict is looked for."""

_NUMBER = r"(?P<score>-?\d+(?:\.\d+)?)(?:\s*/\s*(?P<high>\d+(?:\.\d+)?))?(?![\w/]|\.\d)"
_BEFORE_NUMBER = r"[\s*_`\"'(\[]*+"
"""What may stand between the marker and a number."""

_PLACEHOLDER = re.compile(r"\{(prompt|response|ground_truth|fence|marker)\}")


class NoVerdictError(ValueError):
    """The answer holds no usable verdict; the message says why."""


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """What goes to the judge."""

    messages: list[dict[str, str]]
    marker: str
    """What stands before the verdict in the answer; empty: the template asks for no marker."""


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """What the judge said."""

    text: str
    value: float
    score: float
    """The value on the scale of the reward."""
    reason: str
    """The end of what stands before the verdict, on one line."""


def ask(sample: Sample, options: JudgeOptions) -> JudgeQuestion:
    """Fill in the template, in one pass, so that no text that is filled in is taken for a placeholder.

    Fence and marker carry a digest of the sample: the response cannot close its own fence, nor write a
    verdict that would be taken for the judge's, without holding its own digest.
    """
    prompt = _as_text(sample.prompt)
    seen = f"{prompt}\0{sample.response}".encode("utf-8", "replace")
    nonce = hashlib.sha256(seen).hexdigest()[:12]
    filled = {
        "prompt": prompt,
        "response": sample.response,
        "ground_truth": sample.ground_truth,
        "fence": f"response-{nonce}",
        "marker": f"VERDICT-{nonce}:",
    }
    text = _PLACEHOLDER.sub(lambda match: filled[match[1]], options.prompt)
    system = [{"role": "system", "content": options.system}] if options.system else []
    marker = filled["marker"] if "{marker}" in options.prompt else ""
    return JudgeQuestion([*system, {"role": "user", "content": text}], marker)


def read_verdict(answer: str, marker: str, options: JudgeOptions) -> JudgeVerdict:
    """Read the verdict: the one behind the last marker or, if the template asks for none, the last.

    Raises:
        NoVerdictError: there is none, or it is not among the `verdicts` or within `score_range`.
    """
    before, found, after = answer.rpartition(marker or "</think>")
    if marker and not found:
        raise NoVerdictError(f"the judge wrote no verdict: {_one_line(answer) or 'nothing'!r}")
    if marker:
        text, start = _score_in(after[:_READ_CHARS], options, behind_marker=True)
    else:
        text, start = _score_in(after[-_READ_CHARS:], options, behind_marker=False)
    value = _value(text, options)
    return JudgeVerdict(text, value, _scaled(value, options), _one_line(before if marker else after[:start]))


def _score_in(text: str, options: JudgeOptions, *, behind_marker: bool) -> tuple[str, int]:
    """The verdict's text and where it starts."""
    if options.score_field:
        return _field_of_last_object(text, options.score_field)
    if not options.score_pattern:
        return _number_in(text, options, behind_marker=behind_marker)
    matches = list(re.finditer(options.score_pattern, text))
    found = matches[0 if behind_marker else -1] if matches else None
    if found is None or found["score"] is None:
        raise NoVerdictError(f"the judge's answer does not match score_pattern: {_one_line(text)!r}")
    return found["score"].strip(), found.start()


def _number_in(text: str, options: JudgeOptions, *, behind_marker: bool) -> tuple[str, int]:
    """A number, straight behind the marker or the last of all; of `7/10` the 7, if 10 is the range's end."""
    if behind_marker:
        found = re.match(_BEFORE_NUMBER + _NUMBER, text)
    else:
        found = next(iter([*re.finditer(rf"(?<![\w./]){_NUMBER}", text)][-1:]), None)
    if found is None:
        where = "no number stands behind the judge's marker" if behind_marker else "the judge wrote no number"
        raise NoVerdictError(f"{where}: {_one_line(text) or 'nothing'!r}")
    high = options.score_range[1]
    if found["high"] is not None and float(found["high"]) != high:
        raise NoVerdictError(f"the verdict {found[0].strip()!r} is not out of {high:g}")
    return found["score"], found.start()


def _field_of_last_object(text: str, field: str) -> tuple[str, int]:
    value, start = _last_object(text)
    for key in field.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is None or isinstance(value, dict | list):
        raise NoVerdictError(f"the judge's answer has no JSON object with '{field}': {_one_line(text)!r}")
    return value if isinstance(value, str) else json.dumps(value), start


def _last_object(text: str) -> tuple[Any, int]:
    """The last JSON object that is not part of another, and where it starts."""
    decoder = json.JSONDecoder()
    last: Any = None
    last_start = at = 0
    while (start := text.find("{", at)) >= 0:
        try:
            last, at = decoder.raw_decode(text, start)
            last_start = start
        except (ValueError, RecursionError):
            at = start + 1
    return last, last_start


def _value(text: str, options: JudgeOptions) -> float:
    if options.verdicts:
        by_word = {str(word).casefold(): value for word, value in options.verdicts.items()}
        if text.casefold() not in by_word:
            raise NoVerdictError(f"the verdict {text[:40]!r} is none of {', '.join(options.verdicts)}")
        return by_word[text.casefold()]
    try:
        value = float(text)
    except ValueError:
        raise NoVerdictError(f"the verdict {text[:40]!r} is no number") from None
    low, high = options.score_range
    if not (math.isfinite(value) and low <= value <= high):
        raise NoVerdictError(f"the verdict {text[:40]} is not within {low:g} and {high:g}")
    return value


def _scaled(value: float, options: JudgeOptions) -> float:
    """Words have the scores that the options give them; numbers are scaled."""
    if options.scale_to is None or options.verdicts:
        return value
    (low, high), (to_low, to_high) = options.score_range, options.scale_to
    return to_low + (value - low) / (high - low) * (to_high - to_low)


def _as_text(prompt: str | Sequence[Message] | None) -> str:
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    if len(prompt) == 1:
        return str(prompt[0].get("content", ""))
    return "\n\n".join(f"{message.get('role', '')}: {message.get('content', '')}" for message in prompt)


def _one_line(text: str) -> str:
    """The end of a text, on one line."""
    return " ".join(text[-600:].split())[-200:]
