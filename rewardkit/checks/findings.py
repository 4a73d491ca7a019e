"""The findings of checks. Findings of one kind in a file are one, with the numbers of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

FindingLevel = Literal["error", "warning", "note"]
LEVELS: tuple[FindingLevel, ...] = ("error", "warning", "note")
_SHOWN_ROWS = 6


@dataclass(slots=True)
class Finding:
    """One kind of problem in a file, and its rows."""

    level: FindingLevel
    check: str
    """Name of the check, in one or two words."""
    file: str
    what: str
    """The problem of the first row: what was expected, what was found, what to do."""
    rows: list[int] = field(default_factory=list)
    """Numbers of the rows, from 0. Empty if the finding is about the whole file."""

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON-ready data."""
        return {
            "level": self.level,
            "check": self.check,
            "file": self.file,
            "rows": list(self.rows),
            "what": self.what,
        }

    def shown_rows(self) -> str:
        """Return the first row numbers as text."""
        shown = ", ".join(map(str, self.rows[:_SHOWN_ROWS]))
        return f"{shown}, …" if len(self.rows) > _SHOWN_ROWS else shown

    def line(self) -> str:
        """Return it as one line."""
        rows = f", row {self.rows[0]}" if len(self.rows) == 1 else f", rows {self.shown_rows()}"
        return f"{self.file}{rows if self.rows else ''}: {self.what}"


class Findings:
    """The findings of several files."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, str], Finding] = {}

    def add(
        self, level: FindingLevel, check: str, file: str, what: str, row: int | None = None, *, key: str = ""
    ) -> None:
        """Add a finding.

        Args:
            what: The problem. Of several findings with one `check`, `key` and file, that of the first is
                kept.
            row: Number of the row, from 0; None: the finding is about the whole file.
            key: Tells findings of one check apart.
        """
        known = self._found.setdefault((level, check, file, key), Finding(level, check, file, what))
        if row is not None:
            known.rows.append(row)

    def __iter__(self) -> Iterator[Finding]:
        """Yield the findings, errors first, otherwise in the order in which they were added."""
        return iter(sorted(self._found.values(), key=lambda one: LEVELS.index(one.level)))

    def count(self, level: FindingLevel) -> int:
        """Return how many findings there are of a level."""
        return sum(one.level == level for one in self._found.values())
