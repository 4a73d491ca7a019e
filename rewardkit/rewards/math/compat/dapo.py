"""Verdicts of verl's `math_dapo` for `compat="math_dapo"` (verl 0.9) and `compat="math_dapo_0_8"` (verl 0.8).

This code reproduces the grader exactly, including its errors, and must not be improved. If a response has no
`Answer:` line, verl 0.9 falls back to a box in the last hundred characters, and verl 0.8 does not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rewardkit.rewards.math.compat.hendrycks import _BRACE

INVALID = "[INVALID]"
_TAIL = 300
_BOX_TAIL = 100
_ANSWER = re.compile(r"(?i)Answer\s*:\s*([^\n]+)")
_REPLACED = {
    "an ": "", "a ": "", ".$": "$", "\\$": "", "\\ ": "", " ": "", "mbox": "text", ",\\text{and}": ",",
    "\\text{and}": ",", "\\text{m}": "\\text{}",
}  # fmt: skip
_DELETED = (
    "square", "ways", "integers", "dollars", "mph", "inches", "hours", "km", "units", "\\ldots", "sue",
    "points", "feet", "minutes", "digits", "cents", "degrees", "cm", "gm", "pounds", "meters", "meals",
    "edges", "students", "childrentickets", "multiples", "\\text{s}", "\\text{.}", "\\text{\ns}",
    "\\text{}^2", "\\text{}^3", "\\text{\n}", "\\text{}", r"\mathrm{th}", r"^\circ", r"^{\circ}", r"\;",
    r",\!", "{,}", '"', "\\dots",
)  # fmt: skip
_REWRITES = (
    (re.compile(r"(.*?)(\$)(.*?)(\$)(.*)"), r"$\3$"),
    (re.compile(r"(\\text\{)(.*?)(\})"), r"\2"),
    (re.compile(r"(\\textbf\{)(.*?)(\})"), r"\2"),
    (re.compile(r"(\\overline\{)(.*?)(\})"), r"\2"),
    (re.compile(r"(\\boxed\{)(.*)(\})"), r"\2"),
    (re.compile(r"(frac)([^{])(.)"), r"frac{\2}{\3}"),
    (re.compile(r"(sqrt)([^{])"), r"sqrt{\2}"),
)


class DapoVerdict(NamedTuple):
    correct: bool
    pred: str


def reproduce(response: str, ground_truth: str, *, box_fallback: bool) -> DapoVerdict:
    """Return the verdict and prediction of `math_dapo`. Set `box_fallback` for verl 0.9."""
    tail = response[-_TAIL:]
    stated = _ANSWER.findall(tail)
    pred = normal(stated[-1] if stated else INVALID)
    if pred == INVALID and box_fallback:
        box = _last_box(tail[-_BOX_TAIL:])
        if box is not None:
            return DapoVerdict(box == ground_truth, box)
    return DapoVerdict(pred == normal(ground_truth), pred)


def normal(text: str) -> str:
    """Return the normal form in which `math_dapo` compares an answer."""
    text = text.rpartition("=")[2]
    for old, new in _REPLACED.items():
        text = text.replace(old, new)
    for piece in _DELETED:
        text = text.replace(piece, "")
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    text = text.replace("$", "")
    if text.replace(",", "").isdigit():
        text = text.replace(",", "")
    return text.strip()


def _last_box(text: str) -> str | None:
    start = text.rfind("\\boxed{")
    depth = 0
    for brace in _BRACE.finditer(text, start) if start >= 0 else ():
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return text[start + 7 : brace.start()]
    return None
