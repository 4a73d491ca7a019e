"""Splits an answer to a question with several parts, such as `(a) 3, (b) 5`, into labelled parts.

Labels are converted to numbers, so that `(1)` and `(a)` both become 1. They count as labels only if their
numbers run from 1 without a gap: `(2) 5` alone is a product.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rewardkit.rewards.math.reading.macros import ENVIRONMENTS, TEXT_COMMANDS


class LabelledPart(NamedTuple):
    """Number of a part of a question, starting at 1, and the text that answers it."""

    label: int
    text: str


_NUMERALS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_KINDS: tuple[Callable[[str], int], ...] = (
    lambda label: int(label) if label.isdecimal() else 0,
    lambda label: ord(label) - ord("a") + 1 if len(label) == 1 and "a" <= label <= "j" else 0,
    lambda label: ord(label) - ord("A") + 1 if len(label) == 1 and "A" <= label <= "J" else 0,
    lambda label: _NUMERALS.index(label) + 1 if label in _NUMERALS else 0,
    lambda label: _NUMERALS.index(label.lower()) + 1 if label.isupper() and label.lower() in _NUMERALS else 0,
    lambda label: ord(label) - ord("①") + 1 if len(label) == 1 and "①" <= label <= "⑳" else 0,
)
"""Functions for the kinds of labels. Each returns the number of a label, or 0 for a label of another kind."""
_LABEL = r"[1-9]\d?|[a-jA-J]|[ivxIVX]{1,4}"
_PIECE = re.compile(
    rf"""
    (?: \A | (?<=[\s,;.:}}]) | (?<=\\\\) ) (?P<word>[a-zA-Z]{{2,12}}\ )?
    (?: \((?P<round>{_LABEL})\)
      | (?P<half>{_LABEL})\)(?=\s|\\)
      | (?P<dotted>{_LABEL})\.(?=\s|\\)
      | (?(word)(?P<bare>{_LABEL})(?=[:=.\ ])|(?!))
    ) (?:\ ?[:=](?!=))?
    | (?P<circled>[①-⑳])
    | (?P<open>\\\{{|[(\[{{])
    | (?P<close>\\\}}|[)\]}}])
    """,
    re.VERBOSE,
)
"""Pattern of a label, alone or after a word, or of a bracket. Labels do not occur within brackets."""
_FONT = rf"\\(?:{'|'.join(sorted(TEXT_COMMANDS))})"
_FONTS = tuple(f"\\{name}" for name in TEXT_COMMANDS)
_WRAPPED = re.compile(
    rf"{_FONT} ?\{{ ?((?:[a-zA-Z]{{2,12}} ?)?(?:\((?:{_LABEL})\)|(?:{_LABEL})[).:]|(?<= )(?:{_LABEL}))[.:]?"
    rf"|[a-zA-Z]{{2,12}}(?= ?\}} ?\((?:{_LABEL})\))) ?\}}"
)
_FONT_WITHIN = re.compile(rf"\( ?{_FONT} ?\{{ ?({_LABEL}) ?\}} ?\)")
"""Pattern of a label in a font within plain brackets, `(\\text{a})`."""
_TABLES = ("align", "aligned", "split", "eqnarray", "array", "cases", *ENVIRONMENTS)
_ROWS = re.compile(
    rf"\\begin ?\{{(?P<name>{'|'.join(_TABLES)})\*?\}} ?(?:\[[ctb]\])? ?(?:\{{[lcr|@{{}} ]{{1,12}}\}})?"
    r"(?P<rows>(?:(?!\\begin).)*)\\end ?\{(?P=name)\*?\}",
    re.DOTALL,
)
r"""Pattern of a text that is one environment whose rows may be parts: `\begin{aligned} &(a)\ 3 \\ ...`."""
_JOINT = re.compile(r"(?:[ ,;.]|\\\\|\\text ?\{[ ,;]*(?:and)?[ ,;]*\}|(?<=[ ,;])and)+\Z")
_FORMS = ("round", "half", "dotted", "bare", "circled")
_MOST = 20


def parts_of(text: str) -> tuple[LabelledPart, ...]:
    """Return the parts of an answer in canonical spelling, in the order of their labels.

    The result is empty unless the numbers of the labels run from 1 without a gap, each label has text after
    it, and no text comes before the first label.
    """
    if text.startswith("\\begin"):
        text = _rows(text)
    if text.startswith(_FONTS) or _FONT_WITHIN.match(text):
        text = _FONT_WITHIN.sub(r"(\1)", _WRAPPED.sub(r" \1 ", text)).strip()
    first = _PIECE.match(text)
    if first is None or first["open"]:
        return ()
    if "\\" in text:
        text = _WRAPPED.sub(r" \1 ", text)
    found = list(_labels(text))
    if not 1 < len(found) <= _MOST:
        return ()
    worded = found[0]["word"] is not None
    if worded and len({(label["word"] or "").casefold() for label in found}) > 1:
        return ()
    starts = [label.start() if worded or not label["word"] else label.end("word") for label in found]
    names = [next(label[form] for form in _FORMS if label[form]) for label in found]
    texts = [
        _content(text[label.end() : end]) for label, end in zip(found, [*starts[1:], len(text)], strict=True)
    ]
    for count in _KINDS:
        numbers = [count(name) for name in names]
        if sorted(numbers) == list(range(1, len(numbers) + 1)) and all(texts):
            return tuple(sorted(map(LabelledPart, numbers, texts)))
    return ()


def _rows(text: str) -> str:
    """Return the rows of a text that is one environment, without alignment marks, or any other text."""
    found = _ROWS.fullmatch(text)
    return text if found is None else found["rows"].replace("&", " ").strip()


def _labels(text: str) -> Iterator[re.Match[str]]:
    """Yield the possible labels that are outside all brackets."""
    depth = 0
    for piece in _PIECE.finditer(text):
        if piece["open"]:
            depth += 1
        elif depth and (piece["close"] or piece["half"]):
            depth -= 1
        elif not depth and not piece["close"]:
            yield piece


def _content(text: str) -> str:
    """Return the text between two labels, without the punctuation or the word that joins the parts."""
    return _JOINT.sub("", text).strip(" ,;")
