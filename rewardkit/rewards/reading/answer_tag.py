"""Where the last `<answer>...</answer>` of a text stands, for every reward that reads one.

Whether text may follow it, and whether an answer that is denied counts, is up to the caller.
"""

from __future__ import annotations

from typing import NamedTuple

_OPEN = "<answer>"
_CLOSE = "</answer>"


class AnswerTag(NamedTuple):
    """An answer in its tags."""

    start: int
    """Of the opening tag."""
    end: int
    """Just after the closing tag."""
    inner: str
    """The text between the tags, as it stands."""


def last_answer(text: str, before: int | None = None) -> AnswerTag | None:
    """Return the last closed answer that ends before an offset; None if there is none.

    It begins at the nearest opening tag before the last closing tag: of nested answers it is the inner one.
    """
    close = text.rfind(_CLOSE, 0, before)
    start = text.rfind(_OPEN, 0, close) if close >= 0 else -1
    if start < 0:
        return None
    return AnswerTag(start, close + len(_CLOSE), text[start + len(_OPEN) : close])


def final_answer(text: str) -> AnswerTag | None:
    """Return the answer that a text ends with; None if it ends otherwise."""
    return last_answer(text) if text.endswith(_CLOSE) else None
