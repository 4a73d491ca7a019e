"""Parses the verdict in a judge's answer: a number, a word in `verdicts`, or a field of a JSON object.

A verdict is at the beginning of a line or sentence (`place`), and a line or sentence ends after it. The prose
after it may contain no other possible verdict, which is a number within the range, in digits or words, or
another word in `verdicts`. If an answer does not meet these rules, the judge is asked once more.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.rewards.answers.place import reply
from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.place import (
    CLOSED,
    COMMAND,
    OPENED,
    begins_alone,
    is_revised,
    markers,
    without_struck,
)

_READ_CHARS = 20_000
"""Number of characters at the end of an answer that `score_pattern` searches."""

_NUMBER = r"-?(?:[0-9]{1,6}(?:\.[0-9]{1,6})?|\.[0-9]{1,6})"
_OUT_OF = ("/", "out of", "of", "von", "sur", "de", "su", "av", "uit", "z", "из", "，满分")
"""Text between a number and the maximum of its scale, as in `7/10`. The maximum must match the range."""
_SCALE = rf"(?:{'|'.join(map(re.escape, _OUT_OF))})[\s*_]*+"
_POINTS = r"(?:\s?(?:points?|pts?\.?|Punkte|puntos|punti|分|点)(?![^\W_]))?"
_NUMBER_WORDS = (
    "zero two three four five six seven eight nine ten",
    "null zwei drei vier fünf sechs sieben acht neun zehn",
    "zéro deux trois quatre cinq six sept huit neuf dix",
    "cero dos tres cuatro cinco seis siete ocho nueve diez",
    "zero due tre quattro cinque sei sette otto nove dieci",
    "nul twee drie vier vijf zes zeven acht negen tien",
    "zero dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć",
    "ноль два три четыре пять шесть семь восемь девять десять",
    "zero dois três quatro cinco seis sete oito nove dez",
    "noll två tre fyra fem sex sju åtta nio tio",
    "零 二 三 四 五 六 七 八 九 十",
)
"""Words for 0 and 2 to 10 in the languages of `_OUT_OF` and in Portuguese. The word for 1 is usually an
article."""
_VALUE_OF_WORD = {
    word: float(value)
    for words in _NUMBER_WORDS
    for value, word in zip((0, *range(2, 11)), words.split(), strict=True)
}
_ROMAN = dict(zip(("II", "III", "IV", "VI", "VII", "VIII", "IX"), (2, 3, 4, 6, 7, 8, 9), strict=True))
"""Roman numerals of several letters. A single letter is usually a word or a name."""
_A_NUMBER = re.compile(
    r"(?P<digits>\d+(?:[.,]\d+)?(?![½¼¾⅓⅔]))|(?P<sign>[½¼¾⅓⅔①-⑳])"
    rf"|(?P<word>[{''.join(_NUMBER_WORDS[-1].split())}]|[^\W\d_]+)"
)

_OPENING = rf"(?:{COMMAND}|\\[(\[]|{OPENED}|{CLOSED}|__|_(?=\s)|[\s*`\"'“‘„«$(\[{{|])*+"
_CLOSING = rf"(?:\\[)\]]|{CLOSED}|__|[ \t\r*`\"'”’“»$)\]}}|])*+"
_END = re.compile(rf"{_CLOSING}[.!。！]?{_CLOSING}(?:\n|\Z)")
_SENTENCE_END = re.compile(
    rf"{_CLOSING}(?:[.!](?:[*_`\"'”’“»)\]}}]|{CLOSED})*[ \t]+(?=[^\w\s]|[^\W\d_a-z])|[。！])"
)
"""End of a sentence after a verdict. The next sentence on the line begins with a capital."""
_ON_SCALE = re.compile(
    rf"{_OPENING}(?P<score>{_NUMBER}){_POINTS}"
    rf"(?:{_CLOSING}(?:[(\[]?{_SCALE}(?P<high>{_NUMBER})|(?P<percent>%)))?{_CLOSING}{_POINTS}"
)
_FENCE = re.compile(r"`{1,4}(?:json)?\s*\Z")
"""Beginning of the code fence around an object."""
_FENCED = re.compile(r"\s*`{1,4}(?=\s|\Z)")
"""End of the code fence around an object."""
_AROUND = " \t\r\n*_`"


class NoVerdictError(ValueError):
    """Raised if the answer has no usable verdict. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """Verdict of a judge."""

    text: str
    value: float
    score: float
    """Verdict on the scale of the reward."""
    reason: str = ""
    """End of the text before the verdict, on one line."""
    mass: float | None = None
    """Total probability of all verdicts, or None if the score does not use token probabilities."""


def read_verdict(answer: str, marker: str, options: JudgeOptions) -> JudgeVerdict:
    """Parse the verdict in an answer.

    The verdict is a JSON field or a match of `score_pattern` if the options specify one. Otherwise, it
    follows the marker or, without a marker, is alone on the last or first line.

    Raises:
        NoVerdictError: The answer has no verdict or several, or the verdict is neither one of `verdicts` nor
            within `score_range`.
    """
    if options.score_field:
        return json_verdicts(answer, [options.score_field], options, marker)[0]
    said = _said(answer)
    if options.score_pattern:
        text, before = _match(said, marker, options)
    else:
        text, before = _at_the_end(said, marker, options)
    value = _value(text, options)
    _check_earlier(before, marker, text, options)
    return JudgeVerdict(text, value, scaled(value, options), one_line(before))


def json_verdicts(
    answer: str, fields: Sequence[str], options: JudgeOptions, marker: str = ""
) -> list[JudgeVerdict]:
    """Parse verdicts from fields (`a.b` for nested objects) of the JSON object in an answer.

    The object has lines of its own or follows the marker, and only prose without digits follows it. No other
    text contains braces, except before the marker.

    Raises:
        NoVerdictError: The answer has no such object, a field is missing or duplicated, or a value is neither
            a number within `score_range` nor one of `verdicts`.
    """
    said = _said(answer)
    made, _, _ = _object_in(said, marker)
    if made is None:
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
    """Return the part of an answer after the reasoning, or the final channel.

    Raises:
        NoVerdictError: The answer consists only of reasoning.
    """
    said = without_struck(reply(answer))
    if not said and answer.strip():
        raise NoVerdictError("the judge's answer consists of a thought")
    return said


def _object_in(said: str, marker: str) -> tuple[dict[str, Any] | None, str, bool]:
    """Return the JSON object at the end of an answer, the text before it, and True if it follows the marker.

    An object that does not follow the marker has lines of its own, which may be a code fence.
    """
    found = markers(said, marker) if marker else []
    start = said.find("{", found[-1][1]) if found else -1
    start, end = start if start >= 0 else said.find("{"), said.rfind("}") + 1
    before = _FENCE.sub("", said[:start])
    marked = bool(found) and start >= found[-1][1] and not before[found[-1][1] :].strip(_AROUND)
    before = before[: found[-1][0]] if marked else before
    is_item = before.rstrip().endswith("[")
    ended = _END.match(_FENCED.sub("", said[end:], 1))
    prose = said[end:] if ended is None else ended.string[ended.end() :]
    ends = ended is not None and not re.search(r"\d", prose) and not is_revised(prose, marker)
    if start >= 0 and not is_item and begins_alone(before) and ends:
        return _object(said[start:end]), before, marked
    return None, before, False


def _object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text consists of, or None for any other text."""
    try:
        made = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return made if isinstance(made, dict) else None


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
    """Return the fields of an object. A duplicated field becomes a list, which is not a valid verdict."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = [found[key], value] if key in found else value
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _at_the_end(said: str, marker: str, options: JudgeOptions) -> tuple[str, str]:
    """Return the text of the verdict and the text before it.

    Without a marker, the verdict is the whole last or first line.
    """
    if not marker:
        return _alone(said, options)
    made, before, marked = _object_in(said, marker)
    name = marker.rstrip(" :：").casefold()
    if made is not None and (marked or any(key.casefold() == name for key in made)):
        return _only_value(made, options), before
    found = markers(said, marker)
    if not found:
        raise NoVerdictError(f"the judge's answer has no verdict: {one_line(said) or 'nothing'!r}")
    before, after = said[: found[-1][0]], said[found[-1][1] :]
    if not begins_alone(before):
        raise NoVerdictError(f"expected the marker on a line of its own, found it after {one_line(before)!r}")
    return _verdict_in(after, marker, options), before


def _alone(said: str, options: JudgeOptions) -> tuple[str, str]:
    """Return the verdict that makes up the last or the first line, and the text before the verdict."""
    lines = said.strip().splitlines() or [""]
    lines = lines[:-1] if len(lines) > 1 and lines[-1].strip() == "```" else lines
    try:
        return _verdict_in(lines[-1], "", options), "\n".join(lines[:-1])
    except NoVerdictError:
        with contextlib.suppress(NoVerdictError):
            return _verdict_in("\n".join(lines), "", options), ""
        raise


def _only_value(made: dict[str, Any], options: JudgeOptions) -> str:
    """Return the only verdict among the values of a JSON object, as text.

    All other values must be texts without another verdict, such as a reason.
    """
    words = {str(word).casefold() for word in options.verdicts}
    found: list[str] = []
    others: list[Any] = []
    for value in made.values():
        text = json.dumps(value) if isinstance(value, bool) else str(value).strip()
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_verdict = text.casefold() in words if words else is_number
        if is_verdict:
            found.append(text)
        else:
            others.append(value)
    if len(found) == 1 and not any(
        not isinstance(value, str) or _other_verdict(value, found[0], options) for value in others
    ):
        return found[0]
    raise NoVerdictError(f"expected exactly one verdict in the JSON object, found {str(made)[:160]!r}")


def _verdict_in(text: str, marker: str, options: JudgeOptions) -> str:
    """Return the verdict at the beginning of a text.

    The verdict must end its line or, after a marker, its sentence.

    Raises:
        NoVerdictError: Other text follows on the line, or prose with another verdict.
    """
    verdict, end = _verdict_at_start(text, options)
    line = _END.match(text, end) or (_SENTENCE_END.match(text, end) if marker else None)
    # "1. Accurate" on a line of its own is a list item.
    is_item = "\n" in text[:end] and line is not None and line.re is _SENTENCE_END
    if line is None or is_item:
        raise NoVerdictError(f"expected only a verdict, found {start_of(text)!r}")
    rest = text[line.end() :]
    if is_revised(rest, marker):
        raise NoVerdictError(f"the text after the verdict {verdict!r} revises it: {start_of(rest)!r}")
    if other := _other_verdict(rest, verdict, options):
        raise NoVerdictError(f"the text after the verdict {verdict!r} contains {other!r}: {start_of(rest)!r}")
    return verdict


def _verdict_at_start(text: str, options: JudgeOptions) -> tuple[str, int]:
    """Return the verdict at the beginning of a text, and the offset after the verdict and scale (`7/10`)."""
    if options.verdicts:
        words = sorted(map(str, options.verdicts), key=len, reverse=True)
        pattern = rf"{_OPENING}(?P<score>{'|'.join(map(re.escape, words))})"
        found = re.match(pattern, text, re.IGNORECASE)
        if found is None:
            raise NoVerdictError(
                f"expected exactly one of {', '.join(words)}, found {start_of(text) or 'nothing'!r}"
            )
        if _other_verdict(text[: found.start("score")], found["score"], options):
            raise NoVerdictError(f"expected exactly one of {', '.join(words)}, found {start_of(text)!r}")
        return found["score"], found.end()
    found = _ON_SCALE.match(text)
    if found is None:
        raise NoVerdictError(f"expected only a number, found {start_of(text) or 'nothing'!r}")
    high = options.score_range[1]
    if (found["high"] is not None and float(found["high"]) != high) or (found["percent"] and high != 100):
        raise NoVerdictError(f"the verdict {start_of(text)!r} is not on the scale; the maximum is {high:g}")
    return found["score"], found.end()


def _other_verdict(prose: str, text: str, options: JudgeOptions) -> str | None:
    """Return the first word or number in prose that could be a verdict other than `text`, or None."""
    if options.verdicts:
        others = [word for word in map(str, options.verdicts) if word.casefold() != text.casefold()]
        pattern = rf"(?<![^\W_])(?:{'|'.join(map(re.escape, others))})(?![^\W_])"
        found = re.search(pattern, prose, re.IGNORECASE) if others else None
        return found and found[0]
    low, high = options.score_range
    for number in _A_NUMBER.finditer(prose):
        if number["word"] is not None:
            value = _ROMAN.get(number[0], _VALUE_OF_WORD.get(number[0].casefold()))
        elif number["digits"] is not None:
            value = float(number[0].replace(",", "."))
        else:
            return number[0]  # The text is a fraction, or a digit in another form.
        if value is not None and min(low, 0) <= value <= high and value != abs(float(text)):
            return number[0]
    return None


def _match(said: str, marker: str, options: JudgeOptions) -> tuple[str, str]:
    """Return the verdict that all matches of `score_pattern` agree on, and the text before it.

    Matches are searched for after the marker or, without a marker, in the whole answer.
    """
    before, _, after = said.rpartition(marker) if marker else ("", "", said)
    found = list(re.finditer(options.score_pattern, after[-_READ_CHARS:]))
    texts = {(one["score"] or "").strip().casefold() for one in found}
    if len(texts) != 1 or "" in texts:
        number = "several verdicts" if len(texts) > 1 else "no verdict"
        raise NoVerdictError(f"score_pattern finds {number}: {one_line(after)!r}")
    return found[-1]["score"].strip(), before or after[: found[-1].start()]


def _check_earlier(before: str, marker: str, text: str, options: JudgeOptions) -> None:
    """Check that no different verdict precedes the last verdict.

    Earlier markers without a verdict are ignored as mere mentions.

    Raises:
        NoVerdictError: An earlier verdict is different.
    """
    for _, end in markers(before, marker) if marker else ():
        head = before[end : end + 2 * _HEAD].strip()[:_HEAD].partition("\n")[0]
        first = head if head[:1] in ("{", "<", "[") else " ".join(head.split()[:2])
        if _other_verdict(first, text, options):
            raise NoVerdictError(f"the judge gave another verdict before {text!r}: {start_of(head)!r}")


_HEAD = 80
"""Number of characters after an earlier marker that are searched for a verdict."""


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
    """Return the score of a verdict: the value itself for words, or the number scaled to `scale_to`."""
    if options.scale_to is None or options.verdicts:
        return value
    (low, high), (to_low, to_high) = options.score_range, options.scale_to
    return to_low + (value - low) / (high - low) * (to_high - to_low)


def one_line(text: str) -> str:
    """Return the end of a text on one line."""
    return " ".join(text[-600:].split())[-200:]


def start_of(text: str) -> str:
    """Return the beginning of a text on one line."""
    return " ".join(text[:200].split())[:80]
