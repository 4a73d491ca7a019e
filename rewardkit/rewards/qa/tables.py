"""Tables of candidates that say of each whether it is the answer: the one that is, as a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable

from rewardkit.rewards.reading.counted import table

_TABLE = re.compile(
    r"^[ \t]*\|(?P<head>[^\n]+)\|[ \t]*\n[ \t]*\|[-:| \t]+\|[ \t]*\n(?P<rows>(?:[ \t]*\|[^\n]+(?:\n|\Z))+)",
    re.MULTILINE,
)
_RIGHT = table("yes true correct right ✅ ✓ ✔ ☑ ✔️")
_WRONG = table("no false incorrect wrong ❌ ✗ ✘ ✖ ✖️")
_SAYS_RIGHT = table(
    "answer correct right ok valid match matches fit fits chosen works true possible verdict check status"
    " result "
    "evaluation assessment is it this the an a one"
)
"""What the head of a column says in which a tick means that this is the answer."""


def without_tables(text: str, asks: Callable[[str], bool]) -> str:
    """Return a text with each table of candidates as the sentence that it comes to; empty where it ticks
    several, none, or what the answer is not. `asks` says of a word whether the question has it."""
    return _TABLE.sub(lambda found: _said(found, asks), text)


def _said(found: re.Match[str], asks: Callable[[str], bool]) -> str:
    head = _cells(found["head"])
    rows = [_cells(line.strip().strip("|")) for line in found["rows"].splitlines()]
    marks = [
        at for at in range(1, len(head)) if all(len(row) == len(head) and _is_mark(row[at]) for row in rows)
    ]
    if len(marks) != 1:
        return found[0]
    column = marks[0]
    chosen = [row[0] for row in rows if row[column].casefold() in _RIGHT]
    words = head[column].casefold().replace("?", " ").split()
    about = (word for word in words if word not in _SAYS_RIGHT)
    return f"\n{chosen[0]} is correct.\n" if len(chosen) == 1 and all(map(asks, about)) else "\n"


def answer_of_table(text: str, question: str) -> str:
    """Return a text with each table that has the question and its answer as the statement that it comes to;
    without the table, if what stands there is called wrong."""

    def said(found: re.Match[str]) -> str:
        head, row = _cells(found["head"]), _cells(found["rows"].strip().strip("|"))
        if len(head) != 2 or len(row) != 2 or head[0].casefold() not in ("question", "q", "problem"):
            return found[0]
        if _CALLED_WRONG.search(head[1]):
            return "\n"
        asked = "".join(filter(str.isalnum, row[0].casefold()))
        same = bool(asked) and asked in "".join(filter(str.isalnum, question.casefold()))
        return f"\nAnswer: {row[1]}\n" if same and _ANSWERS.fullmatch(head[1]) else found[0]

    return _TABLE.sub(said, text)


_ANSWERS = re.compile(r"(?:(?:the|my|final|correct|short)\s)*(?:answer|a|response)", re.IGNORECASE)
_CALLED_WRONG = re.compile(r"\b(?:wrong|incorrect|false|bad)\b", re.IGNORECASE)


def _is_mark(cell: str) -> bool:
    return cell.casefold() in _RIGHT or cell.casefold() in _WRONG


def _cells(line: str) -> list[str]:
    return [cell.strip(" \t*_`.") for cell in line.split("|")]
