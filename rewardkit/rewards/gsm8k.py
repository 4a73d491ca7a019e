"""GSM8K: the number after `####`, in three tiers: right, in format but wrong, neither.

Pure text in, Score out, linear in the response, so it runs inline. The rules:

- The last `####` that has anything after it counts (a run of four or more `#`), wherever it stands: text
  after the answer line is ignored, however long, so a sign-off costs nothing. `window` limits the search
  to the end of the response.
- On that line (or the first non-empty one after a bare `####`) the answer is the number that comes first;
  only whitespace, markdown, quotes, brackets, `=`, `:`, currency and `\\boxed{` may stand before it.
- A number is an integer or decimal with optional sign, thousands separators in groups of three
  (`1,234`, `1{,}234`, `1'234`, `1_234`, no-break space), a small exponent (`1e3`), a fraction (`1/2`) or a
  mixed number (`1 1/2`). Full-width forms (`７２`) count; digits of other scripts do not. Numbers are
  compared exactly, as numbers.
- What follows on the line is taken for a unit and ignored; `%` is a unit too (`25%` is 25, never 0.25).
  But a line that offers another number of a different value, or takes the answer back or widens it
  ("or", "not", "wrong", ...), is no single answer: it is in format, and wrong. So are further lines that
  are bare numbers: listing candidates never pays.
- `method="flexible"` also accepts a response without `#### number`: its last number is the answer. Right
  is right; wrong is then `neither_score`, since the format is missing.

`compat="verl"` reproduces verl's `gsm8k.compute_score` (github.com/volcengine/verl, read in 0.9.1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import MAX_PREC, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from rewardkit.types import Sample, Score, failure

SCORER = "gsm8k@1"


@dataclass(frozen=True)
class Options:
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


_Number = int | Decimal | Fraction

_Answer = tuple[str, _Number | None, bool, str | None]
"""What was found, its value (None: not a single answer), whether it is in format, and why it is no answer."""

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    0x2212: "-",
    0x3000: " ",
    0xFFE5: "¥",
    0x066A: "%",
}

# The longest number that becomes a Fraction; longer ones are compared as Decimals only.
_MAX_FRACTION_DIGITS = 400
# A marker so close to the end of the text may be followed by a plain integer alone.
_PLAIN_TAIL = 24
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
_UNIT_WITH_POWER = re.compile(r"(?<![0-9A-Za-z])(?![xX])[A-Za-z]{1,5}\^?\{?[23]\}?(?![0-9A-Za-z])")
_POWER = re.compile(r"\s*(?:\^|[⁰¹²³⁴⁵⁶⁷⁸⁹])")
_RETRACTION = re.compile(r"\b(?:or|not|wrong|incorrect|false|isn't|isn’t)\b", re.IGNORECASE)
_BARE_NUMBER_LINE = re.compile(rf"\s*(?:[-•]\s)?{_LEAD}[-+]?{_LEAD}(?:{_UNSIGNED})[\s*_`\"')\]}}$.,;%]*")
_LAST_NUMBER = re.compile(rf"(?P<sign>(?<![\w.)])[-+]|)[$€£¥₹]?{_NUMBER}")
_SEPARATORS = re.compile(_SEPARATOR)
_SPACE = re.compile(r"\s*")
_EXACT = Context(prec=MAX_PREC)


def score(sample: Sample, options: Options) -> Score:
    """Score one response by the rules at the top of this file.

    `Score.parts["format"]` is 1.0 when the response has `#### number`. The status is `invalid` when the
    ground truth is not a number.
    """
    if options.compat == "verl":
        return _score_as_verl(sample, options)
    gold = _parse_gold(sample.ground_truth)
    if gold is None:
        return failure(
            "invalid", f"ground truth {_shorten(sample.ground_truth)} is not a number", scorer=SCORER
        )
    text = sample.response if options.window is None else sample.response[-options.window :]
    found, number, in_format, why = _after_marker(text)
    if not in_format and options.method == "flexible":
        found, number, in_format, why = _last_number(text) or (found, number, in_format, why)
    correct = number == gold or (type(number) is not int and _equal(number, gold))
    if correct:
        value = options.score
    elif in_format:
        value = 0.1 if options.format_score is None else options.format_score
    else:
        value = options.neither_score
    parts = {"format": 1.0 if in_format else 0.0}
    return Score(value, "ok", correct, found or None, parts, why, SCORER)


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


def _score_as_verl(sample: Sample, options: Options) -> Score:
    answer = _verl_answer(sample.response, options.method)
    value = verl_score(
        sample.response,
        sample.ground_truth,
        method=options.method,
        format_score=options.format_score or 0.0,
        score=options.score,
    )
    parts = {"format": 0.0 if answer is None else 1.0}
    return Score(value, "ok", answer == sample.ground_truth, answer, parts, "compat=verl", SCORER)


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


def _after_marker(text: str) -> _Answer:
    """What the last `####` with anything after it says."""
    at = text.rfind("####")
    if -1 < at >= len(text) - _PLAIN_TAIL:
        plain = text[at + 4 :].strip()
        if plain.isdigit() and plain.isascii():
            # Most answers are a plain integer at the very end; the rules below say the same, more slowly.
            return plain, int(plain), True, None
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
    why = _second_thoughts(line[match.end() :], value)
    if why is None and _more_lines(text, end):
        why = "several answers after ####, one a line"
    return found, None if why else value, True, why


def _answer_line(text: str, start: int) -> tuple[str, int]:
    """The first non-empty line from `start`, full-width forms made plain, and where it ends in `text`."""
    start = _SPACE.match(text, start).end()  # type: ignore[union-attr]
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    line = text[start : min(end, start + _MAX_LINE)]
    return (line if line.isascii() else line.translate(_FULL_WIDTH)), end


def _second_thoughts(rest: str, value: _Number) -> str | None:
    """Why the rest of the answer line makes this no single answer, or None."""
    if not rest:
        return None
    if _POWER.match(rest):
        return f"a power, not a number, after ####: {_shorten(rest)} follows"
    for other in _OTHER_NUMBER.finditer(_UNIT_WITH_POWER.sub("", rest)):
        other_value = _value(other) if other["number"] else None
        if other_value is None or not _equal(other_value, value):
            return f"several numbers after ####: {_shorten(rest)} follows"
    taken_back = _RETRACTION.search(rest)
    return f"'{taken_back[0]}' follows the number" if taken_back else None


def _more_lines(text: str, end: int) -> bool:
    """True when the next non-empty line after the answer's is a bare number too: a list of candidates."""
    if end >= len(text):
        return False
    line, _ = _answer_line(text, end)
    return _BARE_NUMBER_LINE.fullmatch(line) is not None


def _last_number(text: str) -> _Answer | None:
    """The last number of the text, which `near` its last digit must hold."""
    last_digit = max(map(text.rfind, "0123456789０１２３４５６７８９"))
    if last_digit < 0:
        return None
    near = text[max(0, last_digit - 2 * _MAX_FRACTION_DIGITS) : last_digit + 1].translate(_FULL_WIDTH)
    *_, found = _LAST_NUMBER.finditer(near)
    return found[0], _value(found), False, "the last number; no #### number"


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
def _parse_gold(ground_truth: str) -> _Number | None:
    """The value of a ground truth: a number, or a reference solution that ends in `#### number`."""
    text = ground_truth if "####" in ground_truth else f"#### {ground_truth.strip()}"
    _, number, _, _ = _after_marker(text)
    return number


def _shorten(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
