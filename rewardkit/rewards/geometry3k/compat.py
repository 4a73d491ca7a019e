"""Scores as verl's `geo3k` does with mathruler 0.1.0's `grade_answer`, but without SymPy and `eval`.

This module implements `compat="verl"`. It reproduces that grader exactly, including its errors, and must not
be improved. rewardkit's own parser, instead of SymPy, decides whether a difference is 0.
"""

from __future__ import annotations

import re

from rewardkit.rewards.geometry3k.latex_text import latex_text
from rewardkit.rewards.math import MathOptions, compare
from rewardkit.rewards.math.compat import hendrycks
from rewardkit.rewards.math.guards import budget

_OUTER_TEXT = re.compile(r"^\\text\{(.+?)\}$")
_UNITS = (
    *("degree", "cm", "centimeter", "meter", "mile", "second", "minute", "hour", "day", "week", "month"),
    *("year", "foot", "feet", "inch", "yard"),
)
_UNIT = [re.compile(rf"{unit}(es)?(s)? *(\^[0-9]+)?") for unit in _UNITS]
_COMMA = re.compile(r"(\d)(,)(\d\d\d)($|\D)")
_FRACTION = re.compile(r"^-?[0-9]+.?/0*[1-9][0-9]*.?$")
_UNREAD = re.compile(r"\^[{(]|\^[0-9]+\^|\^[0-9][0-9]+")
_CHARACTERS = {"√": "sqrt", "π": "pi", "∞": "inf", "∪": "U", "·": "*", "×": "*"}
_NO_EXPRESSION = re.compile(
    r"[^\w\s+\-*/^().!]|[²³¹⁰-₟\xa0]|^\s*[*/^!)]|[-+*/^(]\s*$|[*/^+-]\s*[*/^]|(?<!\d)!|sqrt(?!\s*\()"
    r"|(?<![^\W\d])(?:or|in|is|if|as)(?!\w)"
)
"""Pattern for text that SymPy cannot read.

Such text contains signs other than operators, operators without operands, or Python keywords.
"""
_EXACT = MathOptions(rounding_digits=0, units="required")
_CPU_S = 5.0
"""CPU time limit for comparing one element, in seconds."""


def in_format(response: str) -> bool:
    r"""Return True if verl's pattern `<think>.*</think>.*\boxed{.*}.*` matches the whole response."""
    if not response.startswith("<think>"):
        return False
    thought = response.find("</think>", 7)
    boxed = response.find("\\boxed{", thought + 8) if thought >= 0 else -1
    return boxed >= 0 and "}" in response[boxed + 7 :]


def box(response: str) -> str:
    """Return the content of the last box, or the text `None` if there is no box or it is never closed."""
    start = response.rfind("\\boxed{")
    depth = 0
    for brace in re.finditer(r"[{}]", response[start + 7 :]) if start >= 0 else ():
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            return response[start + 7 : start + 7 + brace.start()].strip()
    return "None"


def accurate(answer: str, ground_truth: str) -> bool:
    """Return True if mathruler accepts an answer."""
    if _mathd(answer) == _mathd(ground_truth):
        return True
    ground_truth, given = _normal(ground_truth), _normal(answer)
    if ground_truth == given:
        return True
    if not given:
        return False
    wanted, givens = _elements(ground_truth), _elements(given)
    if len(wanted) > 1 and (ground_truth[0] != given[0] or ground_truth[-1] != given[-1]):
        return False
    return len(wanted) == len(givens) and all(map(_same_element, wanted, givens)) and bool(wanted)


def _same_element(ground_truth: str, given: str) -> bool:
    if _FRACTION.search(ground_truth) and _FRACTION.search(given):
        return ground_truth == given
    if _is_integer(ground_truth) != _is_integer(given):
        return False
    difference = f"({ground_truth})-({given})"
    letters = {c for c in difference.replace("sqrt", "").replace("frac", "") if c.isalpha()}
    if len(letters) > 2 or _UNREAD.search(difference) or not all(map(_is_expression, (ground_truth, given))):
        return False
    with budget(_CPU_S):
        return compare(ground_truth, given, _EXACT).equal


def _is_expression(text: str) -> bool:
    return text.count("(") == text.count(")") and _NO_EXPRESSION.search(text) is None


def _mathd(text: str) -> str:
    text = text.strip()
    outer = _OUTER_TEXT.search(text)
    text = outer[1].strip() if outer else text
    try:
        return hendrycks.normal(text.replace("\\%", "").replace("%", ""))
    except hendrycks._Fails:
        return text


def _normal(text: str) -> str:
    """Return a text in prm800k's normal form."""
    outer = _OUTER_TEXT.search(text)
    text = outer[1] if outer else text
    text = text.replace("\\%", "%").replace("\\$", "$").replace("$", "").replace("%", "")
    text = text.replace(" or ", " , ").replace(" and ", " , ")
    for word, power in (("million", 6), ("billion", 9), ("trillion", 12)):
        text = text.replace(word, f"*10^{power}")
    for unit in _UNIT:
        text = unit.sub("", text)
    text = re.sub(r"\^ *\\circ", "", text)
    if text[:1] == "{" and text[-1:] == "}":
        text = text[1:-1]
    text = re.sub(",\\\\! *", "", text)
    text = _whole(text)
    if "\\" in text:
        text = _plain(text)
    text = re.sub("- *", "-", text)
    text = re.sub("([0-9]) +([0-9])", r"\1+\2", text)
    text = re.sub("[ {}]", "", text).lower()
    return str(int(float(_without_commas(text)))) if _is_integer(text) else text


def _whole(text: str) -> str:
    try:
        value = float(text)
        return str(round(value)) if abs(value - round(value)) <= 1e-7 else text
    except (ValueError, OverflowError):
        return text


def _plain(text: str) -> str:
    """Convert LaTeX to plain text, with the names that SymPy recognises."""
    text = text.replace("\\tfrac", "\\frac").replace("\\dfrac", "\\frac").replace("\\frac", " \\frac")
    text = latex_text(text)
    for character, name in _CHARACTERS.items():
        text = text.replace(character, name)
    return text.strip()


def _without_commas(text: str) -> str:
    while (shorter := _COMMA.sub(r"\1\3\4", text)) != text:
        text = shorter
    return text


def _is_integer(text: str) -> bool:
    try:
        value = float(_without_commas(text))
        return abs(value - round(value)) <= 1e-7
    except (ValueError, OverflowError):
        return False


def _elements(text: str) -> list[str]:
    text = _without_commas(text)
    if not text:
        return []
    bracketed = len(text) > 2 and text[0] in "()[]" and text[-1] in "()[]"
    if bracketed and not any(c in "()[]" for c in text[1:-1]):
        return [element.strip() for element in text[1:-1].split(",")]
    return [text]
