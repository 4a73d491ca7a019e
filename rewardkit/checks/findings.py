"""What checks find: one finding for each kind of thing in a file, with the numbers of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

FindingLevel = Literal["error", "warning", "note"]
LEVELS: tuple[FindingLevel, ...] = ("error", "warning", "note")
_SHOWN_ROWS = 6


@dataclass(slots=True)
class CheckFinding:
    """One kind of thing that is found in a file."""

    level: FindingLevel
    check: str
    """What was looked at, in one or two words."""
    file: str
    what: str
    """Of the first row: what was expected, what was found, what would be right."""
    rows: list[int] = field(default_factory=list)
    """Numbers of the rows, from 0; empty where it is the whole file's."""

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
    """Findings of several files, those of one kind together."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, str], CheckFinding] = {}

    def add(
        self, level: FindingLevel, check: str, file: str, what: str, row: int | None = None, *, key: str = ""
    ) -> None:
        """Add a finding; of one `check` and `key` in a file the first says `what`, others add their row."""
        known = self._found.setdefault((level, check, file, key), CheckFinding(level, check, file, what))
        if row is not None:
            known.rows.append(row)

    def __iter__(self) -> Iterator[CheckFinding]:
        """The findings: errors first, then in the order in which they were made."""
        return iter(sorted(self._found.values(), key=lambda one: LEVELS.index(one.level)))

    def count(self, level: FindingLevel) -> int:
        """Return how many findings there are of a level."""
        return sum(one.level == level for one in self._found.values())
