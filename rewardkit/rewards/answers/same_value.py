"""Compares two short texts by value: as texts with symbols, as numbers with units, and as mathematics.

The rewards `choice` and `qa` use this comparison. A comparison takes microseconds to milliseconds, because
SymPy is not used.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from rewardkit import faults
from rewardkit.rewards.answers.notation import COMMAND, plain_notation, without_commands
from rewardkit.rewards.answers.number import DENIED_FIRST, LEADING, Value, number_in

DECORATION = " \t\r\n*_`\"'“”‘’.:：,;!。，…«»„‚‹›「」『』《》•▶►│║┃⭐✅✔☑👉👈➡→\ufe0f"
_BEFORE = DECORATION.replace("!", "")
_POSTFIX = re.compile(r"(?:(?<![^\W\d_])[^\W\d_]|[\d)\]])\s?\^?\s?\{?(['’′*!]+)[\s}.,;:。，$]*\Z")
"""Factorial, prime or star behind a letter, a number or a bracket at the end of a text."""
_EMPHASIS = re.compile(r"(?<![\w*)])(\*{1,3})(?=[^\s*])([^*]+)(?<=[^\s*])\1(?![\w*(])")
_ARTICLE = re.compile(r"\b(?:an?(?!\s+(?:only|and|or|alone|but|nor)\b)|the)\s+(?=\w)")
_TOKEN = re.compile(
    r"[\^_](?:[-+]?\d+|[^\W\d_]+)|\d+(?:\.\d+)?|[\u0370-\u03ff]|(?:(?![\u0370-\u03ff])[^\W\d_])+|\\[a-zA-Z]+"
    r"|(?<=[\w)\]}])!|(?<=[\w)\]])['*]+|[^\w\s]"
)
"""Pattern of a script, a number, a Greek letter, a word, a command or a sign."""
_PROSE = re.compile(r"[^\W\d_]{3,}")
_OF_PROSE = re.compile(r"[^\W\d_]{2,}")
"""Pattern of a word in prose. A dash or slash between two words is punctuation and not arithmetic."""
_ASCII_SYMBOLS = frozenset("%#@&^+-/<=>|~!")
_BRACKETS = frozenset("()[]{}")
_DASHES = {0x2013: "-", 0x2014: "-", ord("&"): " and "}
_MATHEMATICAL = re.compile(r"[\^+*/<=>\\√≤≥≠∪∩∈π∞±×·÷|!()\[\]{}-]")
_BRACKETED_LETTER = re.compile(r"[\s*]*[(\[][^\W\d_][)\]][\s*.:,]*")
_NAMED = re.compile(r"\s*([^\W\d][\w\s:'’(),{}]{0,40}?)\s*=(?!=)")
_DIGIT = re.compile(r"\d")
LONGEST = 200
"""Maximum length of a text that is compared as a number or as mathematics, in characters."""
_LONGEST_KEPT = 400
"""Maximum length of a text whose key is cached, in characters. Caching longer texts would fill the memory."""


def same_value(first: str, second: str) -> bool:
    """Return True if two short texts have the same value in any notation.

    Examples: `Paris` and `the paris.`, `1/2` and `\\frac12`, `1,200` and `1200`, `x \\ge 2` and `x ≥ 2`,
    `H₂O` and `H2O`. Symbols matter: `x ≥ 2` is not `x ≤ 2`, and `n!` is not `n`. Units must be the same.
    """
    key = text_key(first)
    return (bool(key) and key == text_key(second)) or _same_mathematics(first.strip(), second.strip())


def matching(text: str, texts: Sequence[str]) -> list[int]:
    """Return the indices of the texts that are equal to a text or, if there are none, have the same value."""
    plain = text.strip()
    if exact := [i for i, other in enumerate(texts) if other.strip() == plain]:
        return exact
    key = text_key(text)
    is_compared = _DIGIT.search(plain) is not None or is_mathematics(plain)
    found = [
        i
        for i, other in enumerate(texts)
        if (key and key == text_key(other)) or (is_compared and _same_mathematics(plain, other.strip()))
    ]
    if len(found) > 1:  # For example, `Tt` and `tt` are different answers.
        alike = [i for i in found if without_commands(texts[i]).strip() == without_commands(plain).strip()]
        return alike if len(alike) == 1 else found
    return found


def text_key(text: str) -> str:
    """Return a text in a form for comparison, without letter case, punctuation, articles or formatting.

    Symbols remain. Brackets remain in mathematics but not in prose.
    """
    return _text_key(text) if len(text) <= _LONGEST_KEPT else _text_key.__wrapped__(text)


@lru_cache(maxsize=65_536)
def _text_key(text: str) -> str:
    text = plain_notation(undecorated(text))
    is_prose = _PROSE.search(COMMAND.sub("", text)) is not None or text.casefold() in DENIED_FIRST
    if "*" in text:
        text = _EMPHASIS.sub(r"\2", text)
    text = _ARTICLE.sub("", text.casefold()) if is_prose else text[:1].casefold() + text[1:]
    plain = text.translate(_DASHES)
    tokens = [token for token in _TOKEN.findall(plain) if _counts(token, is_prose)]
    if "-" in tokens or "/" in tokens:
        tokens = [token for i, token in enumerate(tokens) if token not in "-/" or _is_sign(tokens, i)]
    return " ".join(tokens)


def undecorated(text: str) -> str:
    """Remove quotation marks, Markdown marks and punctuation around a text, but keep primes and
    factorials."""
    plain = text.lstrip(_BEFORE)
    quoted = text[: len(text) - len(plain)].strip(" \t\r\n")
    mark = _POSTFIX.search(plain) if plain[-1:] in DECORATION else None
    end = mark.end(1) if mark and not quoted and (mark[1] != "!" or not _PROSE.search(plain)) else 0
    return plain[:end] if end else plain.rstrip(DECORATION)


def _counts(token: str, is_prose: bool) -> bool:
    """Return True for words, numbers and symbols, and for brackets and `!` outside prose."""
    if token[0] in "'*":
        return not is_prose
    if len(token) > 1 or token.isalnum():
        return True
    if token in _BRACKETS or token == "!":
        return not is_prose
    return token in _ASCII_SYMBOLS or unicodedata.category(token) in ("Sm", "Sc")


def _is_sign(tokens: list[str], at: int) -> bool:
    """Return True if a dash or slash is arithmetic, that is, neither last nor between two words."""
    if at + 1 == len(tokens):
        return not any(map(_OF_PROSE.fullmatch, tokens))
    return at == 0 or not (_OF_PROSE.fullmatch(tokens[at - 1]) and _OF_PROSE.fullmatch(tokens[at + 1]))


@lru_cache(maxsize=65_536)
def is_mathematics(text: str) -> bool:
    """Return True if a text has an operator, a relation or a LaTeX command, and no words except functions.

    A letter in brackets is a label.
    """
    text = without_commands(text)
    if not _MATHEMATICAL.search(text) or _BRACKETED_LETTER.fullmatch(text):
        return False
    # The import is local, because few texts need this module.
    from rewardkit.rewards.math.functions import FUNCTIONS

    return all(word in FUNCTIONS for word in _PROSE.findall(COMMAND.sub("", text)))


def _is_percent(text: str) -> bool:
    return "%" in text or "％" in text or "percent" in text.casefold()


def _same_mathematics(first: str, second: str) -> bool:
    if max(len(first), len(second)) > LONGEST:
        return False
    if "=" in first and "=" in second:
        named = _NAMED.match(without_commands(first)), _NAMED.match(without_commands(second))
        if named[0] and named[1] and not _same_name(named[0][1], named[1][1]):
            return False  # For example, `x = 5` is not `y = 5`.
    if _is_percent(first) != _is_percent(second):
        return False
    if _DIGIT.search(first) and _DIGIT.search(second) and "!" not in first + second:
        value, unit = measured(first)
        other, other_unit = measured(second)
        if value is not None and other is not None:
            return value == other and unit == other_unit
    return is_mathematics(first) and is_mathematics(second) and _same_tree(first, second)


def _same_name(first: str, second: str) -> bool:
    """Return True if the left sides of two equations are the same text or product, as `xy` and `yx` are."""
    return text_key(first) == text_key(second) or _same_tree(first, second)


@lru_cache(maxsize=65_536)
def _same_tree(first: str, second: str) -> bool:
    """Return True if two texts are the same mathematics according to the tree comparison of `math`."""
    # The imports are local because few responses need the `math` reward.
    from rewardkit.rewards.math.comparing.equality import equal
    from rewardkit.rewards.math.comparing.sequences import is_point_for_list
    from rewardkit.rewards.math.guards import Exhausted, TooLarge, budget
    from rewardkit.rewards.math.policies import MathOptions
    from rewardkit.rewards.math.reading.prepared import prepare

    try:
        with budget():
            one, two = prepare(first).reading, prepare(second).reading
            if one is None or two is None or is_point_for_list(one, two) or is_point_for_list(two, one):
                return False
            return equal(one, two, MathOptions(preset="strict").resolved) is True
    except (Exhausted, TooLarge):
        return False
    except Exception as error:  # An error in a comparison must not end the reward.
        faults.note("a comparison", error, f"{first} <- {second}")
        return False


_CURRENCIES = {
    **dict.fromkeys(("$", "us$", "usd", "dollar", "dollars"), "USD"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "EUR"),
    **dict.fromkeys(("£", "gbp", "pound", "pounds"), "GBP"),
    **dict.fromkeys(("¥", "jpy", "yen"), "JPY"),
    **dict.fromkeys(("₹", "inr", "rupee", "rupees"), "INR"),
}
_CURRENCY_BEFORE = re.compile(
    r"(?P<sign>[-+]?)\s?(?P<name>US\$|[$€£¥₹]|USD|EUR|GBP|JPY|INR)\s?(?=[\d.])", re.I
)
_DOLLAR = re.compile(r"(?:US\s?)?\\?\$")
_ESCAPED_DOLLAR = re.compile(r"(?:US\s?)?\\\$")
_UNIT = re.compile(r"(?P<number>.*\d[\d,.]*%?)[\s-]*(?P<unit>[^\d]{0,60}(?:[²³]|\^[23])?)", re.DOTALL)
_SCALE = re.compile(r"\s*(?:hundred|thousand|million|billion|trillion)s?\b", re.IGNORECASE)
_PERCENT = ("", "%", "percent", "per cent")


def measured(text: str) -> tuple[Value | None, str]:
    """Return the value of a number in base units, and the unit: `5 km` is 5000 with the dimension of length.

    A unit is represented by its dimensions, a currency by its code, and any other word as text. The value is
    None if the text is not a number.
    """
    # The imports are local because responses without numbers do not need the `math` reward.
    from rewardkit.rewards.math.reading.spelled import spelled_number
    from rewardkit.rewards.math.units import read as read_unit

    if "$" in text:
        is_formula = text.count("$") - text.count("\\$") != 1
        text = (_ESCAPED_DOLLAR if is_formula else _DOLLAR).sub(" USD ", text)
    text = without_commands(text).strip().rstrip(".,;!")
    found = number_in(text)
    if found is None:
        return spelled_number(text), ""
    before = _CURRENCY_BEFORE.match(text)
    if before is not None:
        return found.value, _CURRENCIES[before["name"].casefold()]
    side = text.rpartition("=")[2].strip()
    number = LEADING.match(side)
    unit = side[number.end() :].strip(" \t\r\n-") if number is not None else ""
    is_named = unit.casefold() in _CURRENCIES or unit.casefold() in _PERCENT
    measure = None if is_named else read_unit(unit).measure
    if number is not None and measure is not None:
        stated = number_in(side[: number.end()])
        if stated is not None and stated.value is not None:
            # The sign of a degree may be omitted.
            is_degree = measure == read_unit("degree").measure
            dimensions = "" if is_degree else f"{measure.dimensions} {measure.pi}"
            return Fraction(stated.value) * measure.factor, dimensions
    if found.value is None:
        return None, ""
    parts = _UNIT.fullmatch(text)
    unit = _SCALE.sub("", parts["unit"]).strip(DECORATION) if parts else ""
    if unit.casefold() in _PERCENT:
        return found.value, ""
    if (code := _CURRENCIES.get(unit.casefold())) is not None:
        return found.value, code
    return found.value, text_key(unit.strip("()[]{}"))
