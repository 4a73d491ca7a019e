"""Place of a verdict in a judge's answer: at the beginning of a line or of a sentence.

Text before the marker on the same line could make the verdict an example, a limit or a quotation ("Max
VERDICT: 10"). Only punctuation and whole sentences are therefore allowed before the marker. Prose may follow
the verdict ("I hope this helps!"), but not a label with a word of the marker (`Final verdict: none`).
"""

from __future__ import annotations

import re
import unicodedata

COMMAND = r"\\(?:boxed|text\w{0,2}|math\w{2})\{"
_NOT_SAID = r"(?:del|s|strike|q|blockquote)\b"
"""HTML elements whose content is struck out or quoted."""
OPENED = rf"<(?!{_NOT_SAID})[a-zA-Z]\w{{0,19}}(?:\s\w+=[^<>\n]{{0,99}})?>"
CLOSED = rf"(?:</(?!{_NOT_SAID})\w{{1,20}}>|<br\s?/?>)"

_STRUCK = re.compile(
    rf"(?<!~)~~(?!~)(?:(?!~~).){{1,2000}}~~(?!~)|<({_NOT_SAID})[^<>]{{0,99}}>.{{0,2000}}?</\1>"
    r"|<!--.{0,2000}?-->",
    re.DOTALL,
)
_REMOVED = "\ufffc"
_WRAPPER = re.compile(
    r"<(?:b|strong|i|em|u|mark|code|pre|p|div|span|font|center|big|small|h[1-6]|ul|ol|li|td|tr|answer|verdict)\b",
    re.IGNORECASE,
)
"""HTML elements that only change how their content looks, and elements around answers.

All other elements are labels.
"""
_MARKS = re.compile(rf"{COMMAND}|\\[(\[]|{CLOSED}|\d{{1,3}}[.)](?=\s)|[a-z]\)|[\s*_`#+•·|()\[\]{{}}=$→⇒-]")
_SENTENCES = re.compile(r"(?:\s*\S+\s.*[^\W\d_]{4}[)\]*_`]*\.|.*[!?])[)\]*_`]*(?:\s|</\w{1,20}>)+|.*[。！？]")
"""Sentences at the beginning of a line. A single word before a period may be an abbreviation (`Max.`)."""
_LINE = 400
"""Number of characters before the marker that are searched for the end of a sentence."""
_LABEL = re.compile(
    r"[\s*_`>•+-]*(?:\d{1,2}[.)]\s*)?[*_`]*"
    r"[^\W\d_][^\s:：.!?]{0,30}(?:\s[^\s:：.!?]{1,30}){0,3}(?::(?=[\s*_`]|\Z)|：)|\s*#{1,6}\s"
)
"""Beginning of a line that describes the text after it: a label (`Reason:`) or a heading."""
_WORD = re.compile(r"[^\W\d_]+")


def without_struck(said: str) -> str:
    """Replace text that HTML or Markdown strikes out, quotes or hides.

    The replacement is a character that cannot be part of a marker.
    """
    return _STRUCK.sub(_REMOVED, said) if "~~" in said or "<" in said else said


def markers(said: str, marker: str) -> list[tuple[int, int]]:
    """Return the start and end of each marker. In `**Score**:`, the colon follows the closing asterisks.

    `Score:` is not a marker within `Subscore:`.
    """
    word = marker.rstrip(" :：")
    pattern = re.escape(marker)
    if marker[len(word) :].strip():
        pattern = rf"{re.escape(word)}(?:\*{{1,3}}|_{{1,3}}|`|{CLOSED})?[:：]"
    found = [match.span() for match in re.finditer(pattern, said)]
    # Letters without case belong to scripts that do not separate words: 最终评分：7
    return [
        (start, end)
        for start, end in found
        if not (start and _is_cased(said[start]) and _is_cased(said[start - 1]))
    ]


def begins_alone(text: str) -> bool:
    """Return True if only marks, or sentences and marks, stand between the line's beginning and the end."""
    line = text[text.rfind("\n") + 1 :][-_LINE:]
    sentences = _SENTENCES.match(line)
    rest = re.sub(OPENED, _shown, line[sentences.end() if sentences else 0 :])
    # Dashes and pictures, such as a tick, are allowed.
    return all(
        char != _REMOVED and unicodedata.category(char) in ("Pd", "So") for char in _MARKS.sub("", rest)
    )


def is_revised(text: str, marker: str) -> bool:
    """Return True if a label after a verdict contains a word of the marker, such as `Final verdict:`."""
    words = set(_WORD.findall(marker.casefold()))
    labels = filter(None, map(_LABEL.match, text.split("\n")))
    return any(not words.isdisjoint(_WORD.findall(label[0].casefold())) for label in labels)


def _shown(tag: re.Match[str]) -> str:
    return "" if _WRAPPER.match(tag[0]) else _REMOVED


def _is_cased(letter: str) -> bool:
    return letter.islower() or letter.isupper()
