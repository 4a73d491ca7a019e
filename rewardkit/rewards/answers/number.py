r"""Parses a number as people write it and returns its exact value. A text with several numbers has no value.

Accepted forms are `1,234`, `1{,}234`, `1'234`, `$72`, `72 apples`, `25%` (which is 25), `1/2`, `1 1/2`,
`\frac{1}{2}`, `2½`, `1e3`, `5 \times 10^3`, `5 million`, `x = 72` and `7２`. `a = b` has the value of `b`,
unless `a` is a different number.
"""

from __future__ import annotations

import re
from decimal import MAX_PREC, Context, Decimal
from fractions import Fraction

import msgspec

from rewardkit.rewards.answers.place import Frame, FrameKind, Group, last_group
from rewardkit.rewards.answers.signs import plain_signs

Value = Decimal | Fraction

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    0x2212: "-",
    0x3000: " ",
    0xFFE5: "¥",
    0x066A: "%",
}
_MAX_FRACTION_DIGITS = 400
"""Maximum number of digits in a number that is converted to a Fraction. Longer numbers remain Decimals."""
_SHOWN = 20
_MAX_CHARACTERS = 2_000
"""Maximum length of a parsed text, in characters. Only the first sentence of a longer text is parsed."""
_MAX_AGAIN = 8
"""Maximum number of times that the text after a number may repeat the number."""
_EXACT = Context(prec=MAX_PREC)

_SEPARATOR = r"(?:,|['_\u00a0\u2009\u202f])"
_UNSIGNED = rf"(?:[0-9]{{1,3}}(?:{_SEPARATOR}[0-9]{{3}})+(?![0-9])|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+"
_TAIL = (
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,2})(?![0-9A-Za-z])"
    r"|[ ]?[×*·xX][ ]?10[ ]?(?:\^|\*\*)[ ]?[({]?(?P<power>[-+]?[0-9]{1,3})[)}]?"
    rf"|[ ]?/[ ]?(?P<denominator>[0-9]{{1,{_MAX_FRACTION_DIGITS}}})(?![0-9.,/]*[0-9])"
    rf"|[ ](?P<part>[0-9]{{1,9}})/(?P<of>[0-9]{{1,9}})(?![0-9.,/]*[0-9]))?"
)
_NUMBER = rf"(?P<number>{_UNSIGNED}){_TAIL}"
_LEAD = r"(?:[\s*_`\"'(\[{:$€£¥₹≈]|(?:US|HK|[AC])(?=\$)|USD|EUR|GBP|Rs\.?)*+"
LEADING = re.compile(rf"{_LEAD}(?P<sign>[-+]?){_LEAD}{_NUMBER}")
_ANY = re.compile(rf"(?<![\w.])(?P<sign>(?:(?<![\w)])[-+]|)[$€£¥₹]?)?{_NUMBER}")
_OF_NUMBERS = "0123456789.,'_\u00a0\u2009\u202feE+-×*·xX^({)}/ $€£¥₹"
"""Characters that `_ANY` matches.

The last number in a text is within the run of these characters at the end of the text.
"""
_DIGIT = re.compile(r"\d")
_SEPARATORS = re.compile(_SEPARATOR)
_CALCULATED = re.compile(r"<<[^<>\n]*>>")
"""Pattern of the calculator annotations in GSM8K, such as `<<2*3=6>>`."""
_LATEX = (
    (re.compile(r"\\[dt]?frac\s?\{([0-9]+)\}\s?\{([0-9]+)\}|\\[dt]?frac([0-9])([0-9])"), r" \1\3/\2\4"),
    (re.compile(r"\{,\}|\\[,!](?=[0-9])"), ","),
    (re.compile(r"\^?\s?\{?\\(?:circ|degree)\b\s?\}?"), "°"),
    (re.compile(r"\\(?:times|cdot)\b"), "×"),
    (re.compile(r"\\approx\b"), "≈"),
    (re.compile(r"\\(?:underline|bf|large|Large)\b|~"), " "),
    (re.compile(r"\\(?:boxed|fbox|text(?:rm|bf|it)?|math(?:rm|bf|it)|mbox|operatorname)\s?(?=\{)"), " "),
    (re.compile(r"\\(?:[()\[\],;:! ]|q?quad\b|left\b|right\b|displaystyle\b)"), " "),
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"\^\{([-+]?[0-9]{1,3})\}"), r"^\1"),
)  # fmt: skip
_BRACES = re.compile(r"[{}]")
_NEXT_SENTENCE = re.compile(r"[.!?]\s+(?=[^\W\d])")
_COMPARED = re.compile(r"[<>≠≤≥±√≡]|!=|:=")
_UNEQUAL = re.compile(r"[<>!]=|[≠≤≥]")
_CHANGED = re.compile(
    r"\s*(?:[\^+×÷/·]|[⁰¹²³⁴⁵⁶⁷⁸⁹])|\*\w|[\s,;:)\]]*!|(?<=\.)\.|\.\.|(?![mglshdVWJNCF])[A-Za-z](?![A-Za-z.])"
)
"""Pattern of text directly after a number that changes its value: an operator, a factorial, more digits, or a
letter that is not a unit (`5x`)."""
_LISTED = re.compile(r"[\s)\]]*[,;|][\s(\[]*[-+]?[0-9]")
_UNIT_POWER = re.compile(
    r"(?<=[A-Za-z])(?:\^[23]|[²³])(?![0-9A-Za-z])|(?<![A-Za-z])(?:[mcdk]?m|in|ft)[23](?![0-9A-Za-z])"
)
_UNIT = re.compile(r"[\w\s.,;:!*_`'\"’”)\]$€£¥₹¢%‰°✅✔\ufe0f/(\[|·–—-]*")
"""Pattern of words and signs after a number that do not change its value."""
SENTENCE_WORDS = frozenset(("not", "is", "was", "are", "or", "if"))
"""Words that turn a value and the text after it into a sentence.

A sentence in tags, a box or a `####` line has no value.
"""
DENIED_FIRST = frozenset(("no", "not", "never", "neither", "none"))
_WORD = re.compile(r"[^\W\d_]+")
_GLUED = re.compile(r"[A-Za-z]{2,}")
_CODES = frozenset(("usd", "eur", "gbp", "rs", "rmb", "cny", "jpy", "inr", "aud", "cad", "hkd"))
"""Currency codes."""
_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}


class StatedNumber(msgspec.Struct, frozen=True, gc=False):
    """Number found in a text."""

    value: Value | None
    """Exact value, or None if the text around the number changes the value or contains other numbers."""
    text: str
    """Number as written in the text."""


def number_in(text: str, *, in_sentence: bool = False) -> StatedNumber | None:
    """Return the number at the beginning of a text, with or without a unit, or None if there is no number.

    With `in_sentence`, words may precede the number, as after a marker or in JSON. The number must then be
    the only one in the text.
    """
    if text.isdigit() and text.isascii():
        return StatedNumber(Decimal(text), text)
    if len(text) > _MAX_CHARACTERS:
        sentence = _NEXT_SENTENCE.search(text, 0, _MAX_CHARACTERS)
        if sentence is None:
            return StatedNumber(None, text[:_SHOWN])
        text = text[: sentence.start()]
    text = _plain(text)
    if "=" in text:
        return _last_side(text, in_sentence)
    return _number_in(text, in_sentence)


def stated_number(text: str, *kinds: FrameKind) -> tuple[StatedNumber | None, FrameKind | None]:
    """Return the number in the last frame of a text and the kind of the frame.

    Both are None if the text has no frame. The number has no value if an adjacent frame contains a different
    number.
    """
    group = last_group(text, *kinds, holds=_holds_number if "marker" in kinds else None)
    return (_agreed(group), group[-1].kind) if group else (None, None)


def _holds_number(text: str) -> bool:
    return number_in(text, in_sentence=True) is not None


def _agreed(group: Group) -> StatedNumber | None:
    last = _number_of(group[-1])
    if last is None or last.value is None or len(group) == 1:
        return last
    for frame in group[:-1]:
        other = _number_of(frame)
        several = other is not None and other.value is None and frame.kind != "marker"
        another = other is not None and other.value is not None and other.value != last.value
        if several or another:
            return StatedNumber(None, last.text)
    return last


def _number_of(frame: Frame) -> StatedNumber | None:
    return number_in(frame.text, in_sentence=frame.kind in ("marker", "json"))


def last_number(text: str) -> StatedNumber | None:
    """Return the last number anywhere in a text, or None if there is no number."""
    last_digit = max(map(text.rfind, "0123456789０１２３４５６７８９"))
    if last_digit < 0:
        return None
    near = text[max(0, last_digit - 2 * _MAX_FRACTION_DIGITS) : last_digit + 1]
    if not near.isascii():
        near = near.translate(_FULL_WIDTH)
    run = near[max(0, len(near.rstrip(_OF_NUMBERS)) - 1) :]
    found = list(_ANY.finditer(run)) or list(_ANY.finditer(near))
    return StatedNumber(_value(found[-1]), found[-1][0]) if found else None


def _plain(text: str) -> str:
    """Remove LaTeX commands, calculator annotations, full-width forms and all sentences after the first."""
    if not text.isascii():
        text = plain_signs(text)
    if "<<" in text:
        text = _CALCULATED.sub("", text)
    if "\\" in text or "{" in text:
        for pattern, replacement in _LATEX:
            text = pattern.sub(replacement, text)
        text = _BRACES.sub("", text)
    if (sentence := _NEXT_SENTENCE.search(text)) is not None:
        text = text[: sentence.start()]
    return text.strip()


def _last_side(text: str, in_sentence: bool) -> StatedNumber | None:
    """Return the number b in `a = b`. The result has no value if a is a different number."""
    *sides, last = text.split("=")
    found = _number_in(last, in_sentence)
    if found is None or found.value is None:
        return found
    if _UNEQUAL.search(text):
        return StatedNumber(None, found.text)
    for side in filter(None, map(str.strip, sides)):
        other = _number_in(side, in_sentence=False)
        if other is not None and other.value is not None and other.value != found.value:
            return StatedNumber(None, found.text)
    return found


def _number_in(text: str, in_sentence: bool) -> StatedNumber | None:
    found = LEADING.match(text)
    if found is None and in_sentence:
        words = _WORD.findall(text)
        if words and words[0].casefold() in DENIED_FIRST:
            return StatedNumber(None, text[:_SHOWN])
        found = _ANY.search(text)
    if found is None:
        return None
    shown = ((found["sign"] or "") + text[found.start("number") : found.end()]).strip().rstrip(".")
    value = _value(found)
    rest = _UNIT_POWER.sub("", text[found.end() :])
    if not rest or value is None:
        return StatedNumber(value, shown)
    if _COMPARED.search(text) or _CHANGED.match(text, found.end()) or not _UNIT.fullmatch(rest):
        return StatedNumber(None, shown)
    if (glued := _GLUED.match(rest)) is not None and not _follows_numbers(glued[0]):
        return StatedNumber(None, shown)
    if _DIGIT.search(rest) and (_LISTED.match(rest) or not _only_repeats(rest, value)):
        return StatedNumber(None, shown)
    words = [word.casefold() for word in _WORD.findall(rest)]
    if not in_sentence and not SENTENCE_WORDS.isdisjoint(words):
        return StatedNumber(None, shown)
    if words and (scale := _SCALES.get(words[0].removesuffix("s"))):
        value *= 10**scale
    return StatedNumber(value, shown)


def _follows_numbers(word: str) -> bool:
    """Return True if letters directly after a number keep its value: a unit or a noun, but not `123abc`."""
    from rewardkit.rewards.math.reading.nouns import SCALES, harmless  # Few texts need these modules.
    from rewardkit.rewards.math.units import ORDINALS, is_unit

    folded = word.casefold()
    return is_unit(word) or harmless(word) or folded in ORDINALS or folded in SCALES or folded in _CODES


def _only_repeats(text: str, value: Value) -> bool:
    """Return True if a text has 1 to `_MAX_AGAIN` numbers, all of which are equal to `value`."""
    again = 0
    for found in _ANY.finditer(text):
        again += 1
        other = _value(found)
        if other is None or other != value or again > _MAX_AGAIN:
            return False
    return again > 0


def _value(found: re.Match[str]) -> Value | None:
    """Return the exact value of a matched number, or None if it is undefined (`1/0`)."""
    digits = found["number"]
    if not digits.isdigit():
        digits = _SEPARATORS.sub("", digits)
    number = Decimal(f"-{digits}" if "-" in (found["sign"] or "") else digits)
    if found["exponent"] or found["power"]:
        return number.scaleb(int(found["exponent"] or found["power"]), _EXACT)
    if found["denominator"]:
        return _fraction(number, int(found["denominator"]))
    if found["of"]:
        part = _fraction(Decimal(found["part"]), int(found["of"]))
        whole = _fraction(number, 1)
        if part is None or whole is None:
            return None
        return whole - part if number.is_signed() else whole + part
    return number


def _fraction(numerator: Decimal, denominator: int) -> Fraction | None:
    if denominator == 0 or len(numerator.as_tuple().digits) > _MAX_FRACTION_DIGITS:
        return None
    return Fraction(numerator) / denominator
