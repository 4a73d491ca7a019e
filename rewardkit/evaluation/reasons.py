"""Counts of the reasons why responses have no score above 0.

Two details have the same reason if they differ only in quotations and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_QUOTED = re.compile(r'"[^"]*"|\'[^\']*\'')
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
_SHOWN = 200
NO_DETAIL = "(no detail)"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason, with the number of responses to which it applies."""

    text: str
    """Detail in which `"…"` replaces quotations and `N` replaces numbers."""
    count: int
    example: str
    """The first detail with this reason."""
    row: int | None
    """Row of the example, or None if it is not known."""


def earns(correct: bool | None, score: float | None) -> bool:
    """Return True if a response is right. If its correctness is unknown, return True for a score above 0."""
    return (score or 0.0) > 0 if correct is None else correct


def reason_of(detail: str | None) -> str:
    """Return the reason in a detail, with quotations and numbers replaced."""
    text = _NUMBER.sub("N", _QUOTED.sub('"…"', detail or NO_DETAIL))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def frequent_reasons(
    details: Iterable[tuple[int | None, str | None]], most: int | None = None
) -> list[Reason]:
    """Return the reasons in details, the most frequent first.

    Args:
        details: Row, if it is known, and detail of each response.
        most: Maximum number of reasons, or None for all.
    """
    counts: dict[str, int] = {}
    examples: dict[str, tuple[int | None, str]] = {}
    for row, detail in details:
        reason = reason_of(detail)
        counts[reason] = counts.get(reason, 0) + 1
        examples.setdefault(reason, (row, detail or NO_DETAIL))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [Reason(text, n, examples[text][1], examples[text][0]) for text, n in ordered[:most]]


def reason_lines(details: Iterable[str | None], total: int, most: int = 3) -> list[str]:
    """Return the most frequent reasons in details as lines such as "3 of 8: no box".

    Args:
        details: Detail of each response that scores nothing.
        total: Number of all responses.
        most: Maximum number of lines.
    """
    reasons = frequent_reasons(((None, detail) for detail in details), most)
    return [f"{reason.count} of {total}: {reason.example}" for reason in reasons]
