"""What the judge is asked and what its answer means. Text in, text or a number out; nothing is evaluated."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.types import Message, Sample

_READ_CHARS = 20_000
"""The end of an answer in which a verdict is looked for."""

_NUMBER = re.compile(
    r"(?P<score>-?\d+(?:\.\d+)?)(?:\s*(?:/|(?:out )?of)\s*(?P<high>\d+(?:\.\d+)?))?(?![A-Za-z_/]|[.,]?\d)"
)
_BEFORE = re.compile(r"[\s*_`\"'“(\[]*")
"""What may stand between the marker and the verdict."""

_NUMERIC = {"Nd", "Nl", "No"}
"""Unicode's categories of what says a number: digits, ½, Ⅷ, ..."""

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


def asked_again(question: JudgeQuestion, answer: str, why: NoVerdictError) -> list[dict[str, str]]:
    """Return the messages that ask for a verdict where `answer` has none."""
    wanted = f"one line: {question.marker} and the verdict" if question.marker else "the verdict"
    said = f"Your answer cannot be read: {why}. Write only {wanted}, once, in the form that was asked for."
    return [
        *question.messages,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": said},
    ]


def read_verdict(answer: str, marker: str, options: JudgeOptions) -> JudgeVerdict:
    """Read the verdict: the one behind the marker or, if the template asks for none, that of the last line.

    Raises:
        NoVerdictError: there is none, or there are several; it is not among the `verdicts` or within
            `score_range`.
    """
    before, found, after = answer.rpartition(marker or "</think>")
    if marker and not found:
        raise NoVerdictError(f"the judge wrote no verdict: {_one_line(answer) or 'nothing'!r}")
    text, start = _verdict_in(after, options, behind_marker=bool(marker))
    value = _value(text, options)
    if marker:
        _check_earlier(before, marker, value, options)
    return JudgeVerdict(text, value, _scaled(value, options), _one_line(before if marker else after[:start]))


def _check_earlier(before: str, marker: str, value: float, options: JudgeOptions) -> None:
    """Refuse an answer that gave another verdict before its last; a marker without one was only mentioned."""
    for piece in before.split(marker)[1:]:
        try:
            earlier = _value(_verdict_in(piece, options, behind_marker=True)[0], options)
        except NoVerdictError:
            continue
        if earlier != value:
            raise NoVerdictError(f"the judge gave two verdicts, {earlier:g} and {value:g}")


def _verdict_in(text: str, options: JudgeOptions, *, behind_marker: bool) -> tuple[str, int]:
    """The verdict's text and where it starts; `behind_marker`: at the start of `text`."""
    cut = 0 if behind_marker else max(len(text) - _READ_CHARS, 0)
    text = text[cut : cut + _READ_CHARS]
    if options.score_field:
        found = _field_of_object(text, options)
    elif options.score_pattern:
        found = _match(text, options, behind_marker=behind_marker)
    else:
        found = _on_line(text, options, behind_marker=behind_marker)
    return found[0], cut + found[1]


def _match(text: str, options: JudgeOptions, *, behind_marker: bool) -> tuple[str, int]:
    matches = list(re.finditer(options.score_pattern, text))
    found = matches[0 if behind_marker else -1] if matches else None
    if found is None or found["score"] is None:
        raise NoVerdictError(f"the judge's answer does not match score_pattern: {_one_line(text)!r}")
    return found["score"].strip(), found.start()


def _on_line(text: str, options: JudgeOptions, *, behind_marker: bool) -> tuple[str, int]:
    """The one verdict of the first line that is not empty, straight at its start; or, without a marker, that
    of the last, wherever it stands there."""
    lines = [line for line in re.finditer(r"[^\r\n]+", text) if line[0].strip()]
    line = lines[0 if behind_marker else -1] if lines else None
    said = line[0] if line else ""
    begin = _BEFORE.match(said).end()  # type: ignore[union-attr]  # it matches nothing, too
    if not options.verdicts:
        found = _number_in(said, options, begin if behind_marker else None)
    else:
        found = _word_in(said, options, begin if behind_marker else None)
    return found[0], found[1] + (line.start() if line else 0)


def _number_in(line: str, options: JudgeOptions, at: int | None) -> tuple[str, int]:
    """The one number of a line, `7`, `7/10` or `7 out of 10`, where 10 is the range's end."""
    found = _NUMBER.search(line) if at is None else _NUMBER.match(line, at)
    if found is None:
        raise NoVerdictError(f"no number stands where the verdict should: {_one_line(line) or 'nothing'!r}")
    others = line[: found.start()] + line[found.end() :]
    if any(unicodedata.category(c) in _NUMERIC for c in others):
        raise NoVerdictError(f"the verdict's line has several numbers: {_one_line(line)!r}")
    high = options.score_range[1]
    if found["high"] is not None and float(found["high"]) != high:
        raise NoVerdictError(f"the verdict {found[0].strip()!r} is not out of {high:g}")
    if line[found.end() :].lstrip().startswith("%") and high != 100:
        raise NoVerdictError(f"the verdict {found[0].strip()!r} is in per cent, and not out of {high:g}")
    return found["score"], found.start()


def _word_in(line: str, options: JudgeOptions, at: int | None) -> tuple[str, int]:
    """The one word of `verdicts` on a line; of words that begin alike the longest."""
    words = sorted(map(str, options.verdicts), key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)
    found = list(pattern.finditer(line))
    if len({one[0].casefold() for one in found}) != 1 or (at is not None and found[0].start() != at):
        raise NoVerdictError(
            f"not one of {', '.join(words)} is the verdict: {_one_line(line) or 'nothing'!r}"
        )
    return found[0][0], found[0].start()


def _field_of_object(text: str, options: JudgeOptions) -> tuple[str, int]:
    """The field of the one JSON object that has it; a number in a string is read as one on a line is."""
    keys = options.score_field.split(".")
    found = [(value, start) for made, start in _objects(text) if (value := _at(made, keys)) is not None]
    if len(found) != 1:
        number = "no JSON object" if not found else "several JSON objects"
        raise NoVerdictError(
            f"the judge's answer has {number} with '{options.score_field}': {_one_line(text)!r}"
        )
    value, start = found[0]
    if not isinstance(value, str):
        return json.dumps(value), start
    if options.verdicts:
        return value.strip(), start
    return _number_in(value, options, _BEFORE.match(value).end())[0], start  # type: ignore[union-attr]


def _at(value: Any, keys: list[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return None if isinstance(value, dict | list) else value


def _objects(text: str) -> Iterator[tuple[Any, int]]:
    """The JSON objects that are not part of another, and where each starts."""
    decoder = json.JSONDecoder(object_pairs_hook=_without_repeats)
    at = 0
    while (start := text.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(text, start)
            yield found, start
        except (ValueError, RecursionError):
            at = start + 1


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's fields; one that is given twice is in it as a list, and so no verdict."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = [found[key], value] if key in found else value
    return found


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
