"""Lists in which options are ticked: `- [x] B. Lyon` above `- [ ] C. Nice`, `✅ B` beside `❌ C`.

A list of nothing but marked options is read as the answer that its ticks give: one option, or several.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from rewardkit.rewards.choice.naming import exactly
from rewardkit.rewards.choice.question import ChoiceList
from rewardkit.rewards.reading.clause_words import REPORTED
from rewardkit.rewards.reading.denials import DENIAL

_MARK = r"(?:[(\[][ ]?(?P<in>[xX✓✔✅✗✘❌•*])?[ ]?[)\]]|(?P<sign>[✓✔✅☑🗹☒✗✘❌✖☐□○◯◉●🔘⚪⬜🔲]))\ufe0f?"
_BULLET = r"[^\S\n]*(?:(?:[-*•+]|\d{1,2}[.)])[^\S\n]+)?[*_]{0,3}"
_BEFORE = re.compile(rf"{_BULLET}{_MARK}[^\S\n]*(?P<said>\S.*)")
_AFTER = re.compile(rf"{_BULLET}(?P<said>\S.*?)[^\S\n]*{_MARK}[*_]{{0,3}}[^\S\n]*")
_REASON = re.compile(r"\s+[–—-]+\s|:\s|\s\(")
_TICKS = frozenset("✓✔✅☑🗹◉●🔘•*")
_CROSS_OR_TICK = frozenset("xX☒")
"""A tick where nothing else in the list is one."""
_ROUND = frozenset("●○")
"""As bullets, they mark nothing by themselves."""
_SIGNS = ("[x]", "[X]", "(x)", "(X)", "✓", "✔", "✅", "☑", "🗹", "☒", "◉", "●", "🔘", "(•)", "[✗]", "[✘]")
"""Without one of these nothing is ticked."""
_OF_OTHERS = re.compile(
    r"\b(?:example|sample|template|ruled|eliminat\w+|exclud\w+|crossed|considered|checked|reviewed|examined"
    r"|looked|read|so far|to do|students?|user|friend|their|his|her|previous|first|old|draft|progress"
    r"|discarded|rejected|dropped|removed|out)\b",
    re.IGNORECASE,
)
"""In a heading: what is ticked below it is no answer of the response."""
_FEWEST = 2


class _Entry(NamedTuple):
    mark: str
    """The sign, empty for an empty box."""
    option: frozenset[int]
    whole: bool
    """Whether the line says nothing more."""


def with_ticks_read(text: str, choices: ChoiceList) -> str:
    """Return a text in which each list of ticked options stands as the answer that it gives."""
    if not any(map(text.__contains__, _SIGNS)):
        return text
    lines = text.split("\n")
    entries = [_entry(line, choices) for line in lines]
    for start, end in reversed(list(_lists(lines, entries))):
        said = _said([entry for entry in entries[start:end] if entry], choices)
        if said is not None:
            lines[start:end] = [said if _is_own(lines[:start]) else ""]
    return "\n".join(lines)


def _entry(line: str, choices: ChoiceList) -> _Entry | None:
    found = _BEFORE.fullmatch(line) or _AFTER.fullmatch(line) if len(line) <= _LONGEST else None
    if found is None:
        return None
    mark = found["in"] or found["sign"] or ""
    if (option := exactly(found["said"], choices)) is not None:
        return _Entry(mark, option, whole=True)
    option = exactly(_REASON.split(found["said"], maxsplit=1)[0], choices)
    return None if option is None else _Entry(mark, option, whole=False)


_LONGEST = 400


def _lists(lines: list[str], entries: list[_Entry | None]) -> Iterator[tuple[int, int]]:
    """From where to where entries follow one another, blank lines between them."""
    at = 0
    for is_list, group in groupby(
        range(len(lines)), lambda i: entries[i] is not None or not lines[i].strip()
    ):
        size = len(list(group))
        if is_list and sum(entry is not None for entry in entries[at : at + size]) >= _FEWEST:
            yield at, at + size
        at += size


def _said(entries: list[_Entry], choices: ChoiceList) -> str | None:
    """The answer that a list gives, nothing where it ticks none; None where it is to be read as it is."""
    marks = {entry.mark for entry in entries}
    if len(marks) < _FEWEST and marks <= _ROUND:
        return None
    ticks = marks & _TICKS or marks & _CROSS_OR_TICK
    ticked = [entry for entry in entries if entry.mark in ticks]
    options = sorted({index for entry in ticked for index in entry.option})
    if len(ticked) < _FEWEST and not all(entry.whole for entry in entries):
        return None
    labels = ", ".join(choices.labels[index] for index in options)
    return f"Answer: {labels}\n" if labels else ""


def _is_own(before: list[str]) -> bool:
    """Whether the heading of a list, if it has one, leaves its ticks the response's own."""
    line = next((line for line in reversed(before) if line.strip()), "").rstrip(" *_")
    if not line.endswith(":"):
        return True
    return not (_OF_OTHERS.search(line) or DENIAL.search(line) or REPORTED.search(line.casefold()))
