"""What every dataset's `prepare` shares: from raw records to published files, with bad rows and limits.

The parts that differ (columns, prompts, ground truths) live in one file per dataset.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa

from rewardkit import __version__
from rewardkit.datasets_prep import DATASETS
from rewardkit.datasets_prep.schema import SCHEMA, AnyRow, Row
from rewardkit.datasets_prep.sources import BadRows, Record, Source
from rewardkit.datasets_prep.writer import Progress, WrittenFile, write_splits
from rewardkit.errors import InputError

# Options that most datasets have, with their help on the command line.
Raw = Annotated[Path | None, "File or folder with the raw dataset; without it, the hub."]
System = Annotated[str, "System message before each question; '' for none."]
Limit = Annotated[int | None, "Keep only the first rows of each split."]
SkipBad = Annotated[bool, "Drop and count rows that cannot be used."]

ToRow = Callable[[Record, str], Row]
"""Makes the row of a record of a split; raises InputError for a record that cannot be used."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What one run of a dataset's `prepare` made."""

    files: dict[str, WrittenFile]
    dropped: int = 0
    """Bad rows left out under `skip_bad`."""
    first_dropped: tuple[str, ...] = ()
    """Why, for the first few."""


def publish(
    out_dir: Path,
    dataset: str,
    splits: Mapping[str, Iterable[AnyRow]],
    *,
    source: Mapping[str, object],
    arguments: Mapping[str, object],
    progress: Progress | None = None,
    schema: pa.Schema = SCHEMA,
) -> dict[str, WrittenFile]:
    """Write the splits with their provenance: what they were made from, by which version, and how.

    Paths and times stay out of it, so that the same input gives the same bytes anywhere.
    """
    provenance = {
        "dataset": dataset,
        "source": dict(source),
        "rewardkit_version": __version__,
        "arguments": dict(arguments),
        "seed": arguments.get("seed"),
        "licence": DATASETS[dataset].licence,
    }
    return write_splits(out_dir, splits, provenance, progress, schema)


def prepare_source(
    out_dir: Path,
    dataset: str,
    source: Source,
    to_row: ToRow,
    *,
    limit: int | None,
    skip_bad: bool,
    arguments: Mapping[str, object],
    progress: Progress | None,
) -> Prepared:
    """Turn each record of a source into a row with `to_row(record, split)` and publish the splits.

    `limit` keeps the first rows of each split.

    Raises:
        InputError: a bad row while `skip_bad` is false, or no good row in a split.
    """
    check_count("limit", limit)
    bad = BadRows(skip=skip_bad)
    splits = {
        split: itertools.islice(_good_rows(read(bad), split, to_row, bad), limit)
        for split, read in source.splits.items()
    }
    files = publish(
        out_dir,
        dataset,
        splits,
        source=source.provenance,
        arguments={**arguments, "limit": limit, "skip_bad": skip_bad},
        progress=progress,
    )
    return Prepared(files, bad.dropped, tuple(bad.first))


def check_count(option: str, count: int | None) -> None:
    """Refuse to keep fewer than one of something; None keeps all.

    Raises:
        InputError: names the option.
    """
    if count is not None and count < 1:
        raise InputError(f"{option} must be at least 1, not {count}")


def refuse_repeats(to_row: ToRow) -> ToRow:
    """Return `to_row` with one more demand: no question occurs twice, neither within a split nor across."""
    first_seen: dict[bytes, str] = {}

    def to_new_row(record: Record, split: str) -> Row:
        row = to_row(record, split)
        # A digest for each question rather than its text: 16 bytes instead of hundreds.
        digest = hashlib.blake2b(row.question.strip().encode(), digest_size=16).digest()
        if digest in first_seen:
            raise InputError(f"{record.where}: the same question as {first_seen[digest]}")
        first_seen[digest] = record.where
        return row

    return to_new_row


def _good_rows(
    records: Iterable[Record],
    split: str,
    to_row: ToRow,
    bad: BadRows,
) -> Iterator[Row]:
    none_good = True
    for record in records:
        try:
            row = to_row(record, split)
        except InputError as error:
            bad.add(error)
            continue
        none_good = False
        yield row
    if none_good and bad.first:
        raise InputError(f"no row of split '{split}' can be used; the first: {bad.first[0]}")
