"""Filters rows in stages while a dataset is written, and records the rows left out with the reasons.

Each stage finds rows of one kind, such as duplicates, rows from an evaluation set, or rows with a wrong
solution. Rows that a stage finds are not passed to the next stage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
import pyarrow as pa

from rewardkit.files.publishing import published

FILE_NAME = "dropped.jsonl"
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Dropped:
    """Row that was left out."""

    split: str
    index: int
    """Zero-based index in the raw split, or among all rows of the split if the raw index is unknown."""
    reason: str
    """Short reason for leaving out the row."""
    detail: str
    """Details of the reason, such as the location of the row that this row repeats."""
    question: str
    """Beginning of the question."""

    def as_dict(self) -> dict[str, object]:
        """Return the fields as JSON-ready data."""
        return asdict(self)


class Reason(NamedTuple):
    """Reason for leaving out a row."""

    name: str
    """Short reason, such as `duplicate`."""
    detail: str


class Stage(Protocol):
    """Stage that finds one kind of row to leave out."""

    def find(self, split: str, batch: pa.RecordBatch, seen: int) -> Mapping[int, Reason]:
        """Return the rows to leave out, as a mapping of row indices in the batch to reasons.

        Args:
            split: Name of the split.
            batch: Rows that previous stages have kept.
            seen: Number of rows in the split before this batch.
        """
        ...

    def finish(self) -> None:
        """Complete the stage after the last row and before any file is published.

        Raises:
            InputError: The files must not be published.
        """
        ...

    def describe(self) -> dict[str, object]:
        """Return the stage's entry in the provenance of the files."""
        ...


class QualityScreen:
    """Screen for `writer.screened` that applies the requested stages."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = stages
        self.dropped: list[Dropped] = []
        self._seen: Counter[str] = Counter()

    def keep(self, split: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows in a batch that no stage leaves out."""
        seen = self._seen[split]
        places = places_of(batch, seen)
        self._seen[split] += batch.num_rows
        for stage in self.stages:
            found = stage.find(split, batch, seen)
            if not found:
                continue
            for row, why in sorted(found.items()):
                self.dropped.append(Dropped(split, places[row], *why, _question(batch, row)))
            rest = [row for row in range(batch.num_rows) if row not in found]
            places = [places[row] for row in rest]
            batch = batch.take(pa.array(rest, pa.int64()))
        return batch

    def finish(self) -> None:
        """Finish every stage."""
        for stage in self.stages:
            stage.finish()

    def describe(self) -> dict[str, object]:
        """Return the settings of the stages, for the provenance."""
        return {key: value for stage in self.stages for key, value in stage.describe().items()}

    def write(self, out_dir: Path) -> Path | None:
        """Write the rows that were left out to `dropped.jsonl` and return its path.

        If no rows were left out, remove the file from an earlier run, if any, and return None.

        Raises:
            InputError: The file cannot be written.
        """
        path = out_dir / FILE_NAME
        if not self.dropped:
            path.unlink(missing_ok=True)
            return None
        with published(path) as file:
            file.writelines(msgspec.json.encode(row.as_dict()) + b"\n" for row in self.dropped)
        return path

    def as_dict(self) -> dict[str, object]:
        """Return the rows that were left out as JSON-ready data."""
        return {"left_out": [row.as_dict() for row in self.dropped]}

    def counts(self) -> Counter[tuple[str, str]]:
        """Return the number of rows left out, by split and reason."""
        return Counter((row.split, row.reason) for row in self.dropped)


def places_of(batch: pa.RecordBatch, seen: int) -> list[int]:
    """Return the index of each row in the raw split, or among all rows of the split if unknown."""
    if "extra_info" in batch.schema.names:
        places: list[int] = batch.column("extra_info").field("index").to_pylist()
        return places
    return list(range(seen, seen + batch.num_rows))


def _question(batch: pa.RecordBatch, row: int) -> str:
    if "extra_info" in batch.schema.names:
        return str(batch.column("extra_info").field("question")[row].as_py())[:_SHOWN]
    return str(batch.column(0)[row].as_py())[:_SHOWN]
