"""Leaves rows out while a dataset is written, stage by stage, and remembers which and why.

A stage finds rows of one kind: duplicates, rows of an evaluation set, rows whose solution is wrong. The next
stage does not see what one has found.
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
    """A row that was left out."""

    split: str
    index: int
    """Its place in the raw split, from 0, where the set says it; else among the rows that were written."""
    reason: str
    """In one or two words: what found it."""
    detail: str
    """What it repeats, or how it fails."""
    question: str
    """Its beginning."""

    def as_dict(self) -> dict[str, object]:
        """Return the fields as JSON-ready data."""
        return asdict(self)


class Reason(NamedTuple):
    """Why a row is left out."""

    name: str
    """In one or two words."""
    detail: str


class Stage(Protocol):
    """Finds rows that are to be left out."""

    def find(self, split: str, batch: pa.RecordBatch, seen: int) -> Mapping[int, Reason]:
        """Return why rows are to be left out, by their place in the batch.

        Args:
            seen: rows of the split before this batch.
        """
        ...

    def finish(self) -> None:
        """Every row has been seen, and nothing is published yet; raise InputError to keep it so."""
        ...

    def describe(self) -> dict[str, object]:
        """Return what stands in the provenance of the files."""
        ...


class QualityScreen:
    """The stages that a user asked for, as `writer.screened` takes them."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = stages
        self.dropped: list[Dropped] = []
        self._seen: Counter[str] = Counter()

    def keep(self, split: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that no stage finds."""
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
        """Let every stage have the last word."""
        for stage in self.stages:
            stage.finish()

    def describe(self) -> dict[str, object]:
        """Return what was asked for, for the provenance."""
        return {key: value for stage in self.stages for key, value in stage.describe().items()}

    def write(self, out_dir: Path) -> Path | None:
        """Write what was left out as `dropped.jsonl`, or remove one of an earlier run; return its path.

        Raises:
            InputError: it cannot be written.
        """
        path = out_dir / FILE_NAME
        if not self.dropped:
            path.unlink(missing_ok=True)
            return None
        with published(path) as file:
            file.writelines(msgspec.json.encode(row.as_dict()) + b"\n" for row in self.dropped)
        return path

    def as_dict(self) -> dict[str, object]:
        """Return what was left out as JSON-ready data."""
        return {"left_out": [row.as_dict() for row in self.dropped]}

    def counts(self) -> Counter[tuple[str, str]]:
        """Return how many rows each reason took, by (split, reason)."""
        return Counter((row.split, row.reason) for row in self.dropped)


def places_of(batch: pa.RecordBatch, seen: int) -> list[int]:
    """Return the rows' places in the raw split."""
    if "extra_info" in batch.schema.names:
        places: list[int] = batch.column("extra_info").field("index").to_pylist()
        return places
    return list(range(seen, seen + batch.num_rows))


def _question(batch: pa.RecordBatch, row: int) -> str:
    if "extra_info" in batch.schema.names:
        return str(batch.column("extra_info").field("question")[row].as_py())[:_SHOWN]
    return str(batch.column(0)[row].as_py())[:_SHOWN]
