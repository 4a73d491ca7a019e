"""Compares two short texts by value: as texts with symbols, as numbers with units, and as mathematics.

The rewards `choice` and `qa` use this comparison. It takes microseconds to milliseconds, because it does not
use SymPy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from rewardkit import faults
from rewardkit.rewards.answers.number import Value, number_in

DECORATION = " \t\r\n*_`\"'“”‘’.:：,;!。，…«»„‚‹›「」『』《》•▶►│║┃⭐✅✔☑👉👈➡→\ufe0f"
_FORMATS = r"\\(?:text|mathrm|mathbf|textbf|mathit|textit|operatorname)"
_FORMATTED = re.compile(rf"{_FORMATS}\s?\{{([^{{}}]*)\}}")
_LATEX = re.compile(rf"{_FORMATS}\s?\{{|\\[,;!() \[\]]|(?<!\\)[{{}}]|\$")
_DELIMITERS = re.compile(r"\\[,;!() \[\]]|\$")
_COMMAND = re.compile(rf"(?!{_FORMATS}\b)\\[a-zA-Z]+")
_ARTICLE = re.compile(r"\b(?:an?(?!\s+(?:only|and|or|alone|but|nor)\b)|the)\s+(?=\w)")
_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)?|\\[a-zA-Z]+|(?<=[\w)\]}])!|[^\w\s]")
_PROSE = re.compile(r"[^\W\d_]{3,}")
_OF_PROSE = re.compile(r"[^\W\d_]{2,}")
"""Pattern of a word in prose. A dash or slash between two words is punctuation and not arithmetic."""
_ASCII_SYMBOLS = frozenset("%#@&^+-/<=>|~!")
_BRACKETS = frozenset("()[]{}")
_DASHES = {0x2212: "-", 0x2013: "-", 0x2014: "-", ord("&"): " and "}
_MATHEMATICAL = re.compile(r"[\^+*/<=>\\√≤≥≠∪∩∈π∞±×·÷|!()\[\]{}-]")
_NAMED = re.compile(r"\s*([a-zA-Z])\s*=(?!=)")
_DIGIT = re.compile(r"\d")
LONGEST = 200
"""Maximum length of a text that is compared as a number or as mathematics, in characters."""


def same_value(first: str, second: str) -> bool:
    """Return True if two short texts have the same value in any notation.

    Examples: `Paris` and `the paris.`, `1/2` and `\\frac12`, `1,200` and `1200`, `x \\ge 2` and `x ≥ 2`.
    Symbols matter: `x ≥ 2` is not `x ≤ 2`, and `n!` is not `n`. Units must be the same.
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
    return [
        i
        for i, other in enumerate(texts)
        if (key and key == text_key(other)) or (is_compared and _same_mathematics(plain, other.strip()))
    ]


def without_latex(text: str) -> str:
    """Remove LaTeX formatting from a text. Braces remain if the text has a command such as `\\frac`."""
    if "\\" not in text and "$" not in text:
        return text
    if _COMMAND.search(text):
        plain = _DELIMITERS.sub(" ", _FORMATTED.sub(r"\1", _FORMATTED.sub(r"\1", text))).strip()
    else:
        plain = _LATEX.sub("", text)
    return plain.replace("\\{", "{").replace("\\}", "}")


@lru_cache(maxsize=65_536)
def text_key(text: str) -> str:
    """Return a text in a form for comparison, without letter case, punctuation, articles or formatting.

    Symbols remain. Brackets remain in mathematics but not in prose.
    """
    text = without_latex(text)
    is_prose = _PROSE.search(_COMMAND.sub("", text)) is not None
    factorial = not is_prose and text.rstrip(DECORATION.replace("!", "")).endswith("!")
    plain = text.strip(DECORATION) + "!" * factorial
    plain = _ARTICLE.sub("", plain.casefold()).translate(_DASHES)
    tokens = [token for token in _TOKEN.findall(plain) if _counts(token, is_prose)]
    if "-" in tokens or "/" in tokens:
        tokens = [token for i, token in enumerate(tokens) if token not in "-/" or _is_sign(tokens, i)]
    return " ".join(tokens)


def _counts(token: str, is_prose: bool) -> bool:
    """Return True for words, numbers and symbols, and for brackets and `!` outside prose."""
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
    """Return True if a text has an operator, a relation or a LaTeX command, and no words except functions."""
    if not _MATHEMATICAL.search(text):
        return False
    from rewardkit.rewards.math.functions import FUNCTIONS  # Few texts need this module.

    return all(word in FUNCTIONS for word in _PROSE.findall(_COMMAND.sub("", without_latex(text))))


def _is_percent(text: str) -> bool:
    return "%" in text or "percent" in text.casefold()


def _same_mathematics(first: str, second: str) -> bool:
    if max(len(first), len(second)) > LONGEST:
        return False
    named = _NAMED.match(first), _NAMED.match(second)
    if named[0] and named[1] and named[0][1] != named[1][1]:
        return False  # `x = 5` is not `y = 5`
    if _is_percent(first) != _is_percent(second):
        return False
    if _DIGIT.search(first) and _DIGIT.search(second) and "!" not in first + second:
        value, unit = measured(first)
        other, other_unit = measured(second)
        if value is not None and other is not None:
            return value == other and unit == other_unit
    return is_mathematics(first) and is_mathematics(second) and _same_tree(first, second)


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

    found = number_in(text.rstrip(".,;!"))
    if found is None:
        return spelled_number(text.rstrip(".,;!")), ""
    if found.value is None:
        return None, ""
    before = _CURRENCY_BEFORE.match(text)
    if before is not None:
        return found.value, _CURRENCIES[before["name"].casefold()]
    parts = _UNIT.fullmatch(text)
    unit = _SCALE.sub("", parts["unit"]).strip(DECORATION) if parts else ""
    if unit.casefold() in _PERCENT:
        return found.value, ""
    if (code := _CURRENCIES.get(unit.casefold())) is not None:
        return found.value, code
    known = read_unit(unit)
    if known.measure is None:
        return found.value, text_key(unit.strip("()[]{}"))
    return Fraction(found.value) * known.measure.factor, f"{known.measure.dimensions} {known.measure.pi}"
