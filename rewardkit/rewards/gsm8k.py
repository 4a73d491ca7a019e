"""GSM8K: the number after `####`, in three tiers: right, in format but wrong, neither.

Pure text in, Score out, linear in the response, so it runs inline. The rules:

- Only what a reader sees counts: what follows `</think>` and precedes an end-of-text token, without comments,
  hidden elements, and code blocks where a `####` stands outside of them.
- The last `####` that has anything after it counts (a run of four or more `#`), wherever it stands: text
  after the answer line is ignored, however long, so a sign-off costs nothing, unless it starts by taking the
  answer back. `window` limits the search to the end of the response.
- On that line (or the first non-empty one after a bare `####`) the answer is the number that comes first;
  only whitespace, markdown, quotes, brackets, `=`, `:`, currency and `\\boxed{` may stand before it.
- A number is an integer or decimal with optional sign, thousands separators in groups of three
  (`1,234`, `1{,}234`, `1'234`, `1_234`, no-break space), a small exponent (`1e3`), a fraction (`1/2`) or a
  mixed number (`1 1/2`). Full-width forms (`７２`) count; digits of other scripts do not. Numbers are
  compared exactly, as numbers.
- What follows on the line may be left out only if it is known to be harmless: units, nouns that are counted,
  names from the question, "in all"; `%` is a unit too (`25%` is 25, never 0.25). Anything else ("squared",
  "and a half", "was ruled out", another number of a different value) makes it no single answer: it is in
  format, and wrong. So do a denial before the marker and further lines that are bare numbers.
- `method="flexible"` also accepts a response without `#### number`: its last number is the answer, unless the
  words around it deny or change it or it ends a range or a pair. Right is right; wrong is `neither_score`,
  since the format is missing. Words are lists, so a last number that is only mentioned can pay: where nothing
  wrong may pay, keep to `strict`.

`compat="verl"` reproduces verl's `gsm8k.compute_score` (github.com/volcengine/verl, read in 0.9.1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import MAX_PREC, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from rewardkit.rewards.reading.asked_kind import of_other_kind
from rewardkit.rewards.reading.behind_units import taken_back_behind_unit
from rewardkit.rewards.reading.counted import UNIT_POWER, changed_in_prose, harmless, names_in
from rewardkit.rewards.reading.denials import OPEN_ENDS, denied, taken_back
from rewardkit.rewards.reading.next_turn import names_user, own_part
from rewardkit.rewards.reading.visible import (
    outside_code,
    question_of,
    visible,
    without_code_comments,
    without_question,
)
from rewardkit.types import Message, Sample, Score, failure


@dataclass(frozen=True)
class Gsm8kOptions:
    """Options of the GSM8K reward."""

    score: float = 1.0
    """For the right answer."""
    format_score: float | None = None
    """For `#### number` with a wrong number. None: 0.1, or 0.0 with compat="verl", as there."""
    neither_score: float = 0.0
    """For a response without `#### number`."""
    method: Literal["strict", "flexible"] = "strict"
    """strict: only a number after `####`. flexible: else the last number of the response."""
    window: int | None = None
    """Look only at this many characters at the end of the response. None: all of it."""
    compat: Literal["verl"] | None = None

    def __post_init__(self) -> None:
        """Refuse a window that holds nothing."""
        if self.window is not None and self.window < 1:
            raise ValueError(f"window is {self.window}; expected 1 or more, or none")


_Number = int | Decimal | Fraction

_ReadAnswer = tuple[str, _Number | None, bool, str | None]
"""What was found, its value (None: not a single answer), whether it is in format, and why it is no answer."""

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    0x2212: "-",
    0x3000: " ",
    0xFFE5: "¥",
    0x066A: "%",
}

# The longest number that becomes a Fraction; longer ones are compared as Decimals only.
_MAX_FRACTION_DIGITS = 400
# No word that leaves a line open is longer.
_LONGEST_OPEN_END = 18
# No answer line is longer; what lies beyond is not read.
_MAX_LINE = 4_096

_SEPARATOR = r"(?:,|\{,\}|\\,|['_\u00a0\u2009\u202f])"
_UNSIGNED = rf"(?:[0-9]{{1,3}}(?:{_SEPARATOR}[0-9]{{3}})+(?![0-9])|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+"
_LEAD = r"(?:[\s*_`\"'(\[{=:$€£¥₹]|\\[$(\[]|\\boxed\{|(?:US|HK|[AC])(?=\$)|USD|EUR|GBP|Rs\.?)*+"
_TAIL = (
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,2})(?![0-9A-Za-z])"
    rf"|[ ]?/[ ]?(?P<denominator>[0-9]{{1,{_MAX_FRACTION_DIGITS}}})(?![0-9.,/]*[0-9])"
    rf"|[ ](?P<part>[0-9]{{1,9}})/(?P<of>[0-9]{{1,9}})(?![0-9.,/]*[0-9]))?"
)
_NUMBER = rf"(?P<number>{_UNSIGNED}){_TAIL}"

_ANSWER = re.compile(rf"{_LEAD}(?P<sign>[-+]?){_LEAD}{_NUMBER}")
_OTHER_NUMBER = re.compile(rf"(?P<sign>(?:(?<=\s)|(?<=[=(]))[-+]|)[$€£¥₹]?{_NUMBER}|\d")
_CHANGED = re.compile(
    r"\s*(?:\^|[⁰¹²³⁴⁵⁶⁷⁸⁹])|[\s\\,;:)\]}]*!|(?<=\.)\.|\.\.|(?![mglsh])[A-Za-z](?![A-Za-z.])"
)
"""Right behind a number: a power, a factorial, digits that go on, a letter that is no unit (`5a`)."""
_RETRACTION = re.compile(
    r"\b(?:or|not|wrong|incorrect|false|isn['’]t|mistake|mistaken|actually|instead|rather|sorry|wait|no|ruled"
    r"|excluded|impossible|correction|scratch)\b",
    re.IGNORECASE,
)
_CLOSING = frozenset("0123456789.!$>")
"""A line that ends in one of these denies nothing of what the next one says."""
_LISTING = re.compile(r"[\s)\]]*[,;|][\s(\[]*")
_TEXT_COMMAND = re.compile(r"\\(?:text(?:bf|rm|it)?|mathrm|mbox|boxed|quad|[ ,;!:%$)\]])")
_STRANGE = re.compile(r"[^\w\s.,;:!*_`'\"’”)\]}$€£¥₹%°/()\[{=|<>–—-]")
"""Signs that may change a number: a question mark, an operator, a command that is not known."""
_BARE_NUMBER_LINE = re.compile(rf"\s*(?:[-•]\s)?{_LEAD}[-+]?{_LEAD}(?:{_UNSIGNED})[\s*_`\"')\]}}$.,;%]*")
_LAST_NUMBER = re.compile(rf"(?P<sign>(?<![\w.)])[-+]|)[$€£¥₹]?{_NUMBER}")
_SEPARATORS = re.compile(_SEPARATOR)
_SPACE = re.compile(r"\s*")
_EXACT = Context(prec=MAX_PREC)


def score(sample: Sample, options: Gsm8kOptions) -> Score:
    """Score one response by the rules at the top of this file.

    `Score.parts["format"]` is 1.0 when the response has `#### number`. The status is `invalid` when the
    ground truth is not a number.
    """
    if options.compat is not None:
        return _score_as_verl(sample, options)
    ground_truth = sample.ground_truth
    response = sample.response
    if options.method == "flexible":
        response = without_question(response, sample.prompt)
    text = visible(response)
    if "`" in text:
        text = outside if "####" in (outside := outside_code(text)) else without_code_comments(text)
    if options.window is not None:
        text = text[-options.window :]
    found = _plain_ending(text)
    if not found and _may_go_on(text, options):
        text = own_part(text, sample.prompt)
        found = _plain_ending(text)
    if found:
        if found == ground_truth:
            return Score(options.score, "ok", True, found, {"format": 1.0}, None)
        if found[0] != "0" != ground_truth[:1] and ground_truth.isdigit() and ground_truth.isascii():
            # Digits that begin with no zero say a number in one way only.
            value = 0.1 if options.format_score is None else options.format_score
            return Score(value, "ok", False, found, {"format": 1.0}, None)
    wanted = _parse_ground_truth(ground_truth)
    if wanted is None:
        return failure("invalid", f"ground truth {_shorten(ground_truth)} is not a number")
    why: str | None = None
    if found:
        in_format = True
        correct = _equal(Decimal(found), wanted)
    else:
        found, number, in_format, why = _after_marker(text, sample.prompt)
        if not in_format and options.method == "flexible":
            last = _last_number(outside_code(text)) or _last_number(text)
            found, number, in_format, why = last or (found, number, in_format, why)
        correct = _equal(number, wanted)
    if correct:
        value = options.score
    elif in_format:
        value = 0.1 if options.format_score is None else options.format_score
    else:
        value = options.neither_score
    parts = {"format": 1.0 if in_format else 0.0}
    return Score(value, "ok", correct, found or None, parts, why)


def verl_score(
    response: str,
    ground_truth: str,
    *,
    method: str = "strict",
    format_score: float = 0.0,
    score: float = 1.0,
) -> float:
    """Return what verl's `gsm8k.compute_score` returns, for every input."""
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


def _plain_ending(text: str) -> str:
    """The digits that alone follow `#### ` in the last line, or "".

    Most answers are such an integer, below no other marker or turn and a line that cannot deny it:
    `_after_marker` says the same of them, more slowly, and decides about the others.
    """
    before, _, plain = text.rpartition("\n#### ")
    if not (before and plain.isdigit() and plain.isascii()):
        return ""
    # One sign is found far faster than a marker or a word.
    if "#" in before and "####" in before:
        return ""
    if ":" in before and ("U" in before or "H" in before) and names_user(before):
        return ""
    if before[-1] in _CLOSING:
        return plain
    last = before[-_LONGEST_OPEN_END:].rpartition(" ")[2]
    return plain if last.isalpha() and last.isascii() and last.lower() not in OPEN_ENDS else ""


def _may_go_on(text: str, options: Gsm8kOptions) -> bool:
    """Whether a text may go on with another question or turn behind its own answer."""
    last = text.rfind("####") if "#" in text else -1
    if last < 0:
        return options.method == "flexible"  # else there is no answer, whoever says it
    return "####" in text[:last] or names_user(text) is not None


def _after_marker(text: str, prompt: str | list[Message] | None = None) -> _ReadAnswer:
    """What the last `####` with anything after it says."""
    at = text.rfind("####")
    if at >= 0 and at + 8 > len(text):
        text = text.rstrip(" \t\r\n#")
        at = text.rfind("####")
    if at < 0:
        return "", None, False, "no #### number"
    start = at + 4
    line, end = _answer_line(text, start)
    match = _ANSWER.match(line)
    if match is None:
        return "", None, False, f"no number after ####: {_shorten(line)}"
    found = (match["sign"] + line[match.start("number") : match.end()]).rstrip(".")
    value = _value(match)
    if value is None:
        return found, None, True, f"not a number after ####: {_shorten(found)}"
    rest = line[match.end() :]
    if _CHANGED.match(line, match.end()):
        why: str | None = f"another number, or none, after ####: {_shorten(rest)} follows"
    else:
        why = _second_thoughts(rest, value, prompt)
    if why is None and _more_lines(text, end):
        why = "several answers after ####, one a line"
    if why is None and (denied(text, at) or taken_back(text, end)):
        why = "the answer is denied"
    return found, None if why else value, True, why


def _answer_line(text: str, start: int) -> tuple[str, int]:
    """The first non-empty line from `start`, full-width forms made plain, and where it ends in `text`."""
    start = _SPACE.match(text, start).end()  # type: ignore[union-attr]
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    line = text[start : min(end, start + _MAX_LINE)]
    return (line if line.isascii() else line.translate(_FULL_WIDTH)), end


def _second_thoughts(rest: str, value: _Number, prompt: str | list[Message] | None) -> str | None:
    """Why the rest of the answer line makes this no single answer, or None."""
    if not rest:
        return None
    if prompt is not None and "%" in rest and of_other_kind(f"1{rest}", ("1",), question_of(prompt)):
        return f"{_shorten(rest)} follows the number of a question that counts"
    rest = UNIT_POWER.sub(" ", rest)
    for other in _OTHER_NUMBER.finditer(rest):
        other_value = _value(other) if other["number"] else None
        listed = _LISTING.fullmatch(rest, 0, other.start()) is not None
        if listed or other_value is None or not _equal(other_value, value):
            return f"several numbers after ####: {_shorten(rest)} follows"
    phrase, _, later = _TEXT_COMMAND.sub(" ", rest).replace(". ", "\n").partition("\n")
    if not _is_harmless(phrase, prompt):
        return f"{_shorten(rest)} follows the number"
    taken = _RETRACTION.search(later)
    return f"'{taken[0]}' follows the number" if taken else None


def _is_harmless(phrase: str, prompt: str | list[Message] | None) -> bool:
    """Whether the words after a number leave it what it is, whatever the question calls things."""
    if _STRANGE.search(_OTHER_NUMBER.sub(" ", phrase)):
        return False
    return harmless(phrase) or (prompt is not None and harmless(phrase, names_in(question_of(prompt))))


def _more_lines(text: str, end: int) -> bool:
    """True when the next non-empty line after the answer's is a bare number too: a list of candidates."""
    if end >= len(text):
        return False
    line, _ = _answer_line(text, end)
    return _BARE_NUMBER_LINE.fullmatch(line) is not None


def _last_number(text: str) -> _ReadAnswer | None:
    """The last number of the text, which `near` its last digit must hold."""
    last_digit = max(map(text.rfind, "0123456789０１２３４５６７８９"))
    if last_digit < 0:
        return None
    near = text[max(0, last_digit - 2 * _MAX_FRACTION_DIGITS) : last_digit + 1].translate(_FULL_WIDTH)
    *_, found = _LAST_NUMBER.finditer(near)
    start = last_digit + 1 - len(near) + found.start()
    end = last_digit + 1
    if _PART_OF_NAME.search(text, max(0, start - 2), start):
        return found[0], None, False, "the last number is a part of another one, or of a name"
    if denied(text, start) or taken_back_behind_unit(text, end) or changed_in_prose(text, start, end):
        return found[0], None, False, "the last number is denied or changed"
    if _MAGNITUDE.match(text, end) or taken_back(text, _counted_to(text, end)):
        return found[0], None, False, "the last number is denied or changed"
    return found[0], _value(found), False, "the last number; no #### number"


_PART_OF_NAME = re.compile(r"[^\W_]_$")
_MAGNITUDE = re.compile(
    r"(?:\\text\s?\{|[\s~{}$,]){0,4}(?:hundred|thousand|million|billion|trillion|lakh|crore)s?\b"
    r"|(?:\\text\s?\{|[\s~{}$]){0,4}(?:if|unless)\s[a-z]\b",
    re.IGNORECASE,
)
"""What makes the number before it another one, or one in some cases only."""
_COUNTED = re.compile(r"[\s~]{0,2}(?:\\(?:text|mathrm)\s?\{([^{}\n]{1,40})\}|([a-zA-Z]{2,20}))")


def _counted_to(text: str, end: int) -> int:
    """Where the unit or noun ends that is counted by a number."""
    found = _COUNTED.match(text, end)
    return found.end() if found and harmless(found[1] or found[2]) else end


def _value(match: re.Match[str]) -> _Number | None:
    """The exact value of a matched number, or None if it has none (`1/0`)."""
    digits = match["number"]
    if not digits.isdigit():
        digits = _SEPARATORS.sub("", digits)
    number = Decimal(f"-{digits}" if match["sign"] == "-" else digits)
    if match["exponent"]:
        return number.scaleb(int(match["exponent"]), _EXACT)
    if match["denominator"]:
        return _fraction(number, int(match["denominator"]))
    if match["of"]:
        part = _fraction(Decimal(match["part"]), int(match["of"]))
        whole = _fraction(number, 1)
        if part is None or whole is None:
            return None
        return whole - part if match["sign"] == "-" else whole + part
    return number


def _fraction(numerator: Decimal, denominator: int) -> Fraction | None:
    if denominator == 0 or len(numerator.as_tuple().digits) > _MAX_FRACTION_DIGITS:
        return None
    return Fraction(numerator) / denominator


def _equal(a: _Number | None, b: _Number) -> bool:
    """Exact equality; Python compares any two of these types exactly but Decimal with Fraction."""
    if a == b:
        return True
    # Not isinstance: Fraction is an abstract-base-class affair, five times slower to ask.
    if type(a) is Decimal and type(b) is Fraction:
        return _fraction(a, 1) == b
    if type(a) is Fraction and type(b) is Decimal:
        return _fraction(b, 1) == a
    return False


@lru_cache(maxsize=65_536)
def _parse_ground_truth(ground_truth: str) -> _Number | None:
    """The value of a ground truth: a number, or a reference solution that ends in `#### number`."""
    text = ground_truth if "####" in ground_truth else f"#### {ground_truth.strip()}"
    _, number, _, _ = _after_marker(text)
    return number


def _shorten(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
