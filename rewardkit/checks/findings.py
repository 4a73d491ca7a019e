"""Findings of checks. A finding combines all rows in a file that have the same kind of problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

FindingLevel = Literal["error", "warning", "note"]
LEVELS: tuple[FindingLevel, ...] = ("error", "warning", "note")
_SHOWN_ROWS = 6


@dataclass(slots=True)
class Finding:
    """Kind of problem in a file, with the affected rows."""

    level: FindingLevel
    check: str
    """Name of the check, in one or two words."""
    file: str
    what: str
    """Description of the problem in the first row: the expected value, the actual value, and the remedy."""
    rows: list[int] = field(default_factory=list)
    """Row numbers, from 0; empty if the finding is about the whole file."""

    def as_dict(self) -> dict[str, object]:
        """Return the finding as a dictionary that can be written as JSON."""
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
        """Return the finding as one line of text."""
        rows = f", row {self.rows[0]}" if len(self.rows) == 1 else f", rows {self.shown_rows()}"
        return f"{self.file}{rows if self.rows else ''}: {self.what}"


class Findings:
    """Collection of findings about several files."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str, str], Finding] = {}

    def add(
        self, level: FindingLevel, check: str, file: str, what: str, row: int | None = None, *, key: str = ""
    ) -> None:
        """Add a finding, or add its row to an existing finding with the same level, check, file and key.

        Args:
            level: Level of the finding.
            check: Name of the check.
            file: Path of the file.
            what: Description of the problem, which is ignored if the finding already exists.
            row: Row number, from 0, or None if the finding is about the whole file.
            key: Key that distinguishes different findings of one check.
        """
        known = self._found.setdefault((level, check, file, key), Finding(level, check, file, what))
        if row is not None:
            known.rows.append(row)

    def __iter__(self) -> Iterator[Finding]:
        """Yield all findings by level, errors first, and otherwise in the order in which they were added."""
        return iter(sorted(self._found.values(), key=lambda one: LEVELS.index(one.level)))

    def count(self, level: FindingLevel) -> int:
        """Return the number of findings with this level."""
        return sum(one.level == level for one in self._found.values())
