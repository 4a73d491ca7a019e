"""Writes batches of rows to parquet, with a single file or a folder of shards for each split.

This module does not depend on any dataset. `publishing` moves the files to the output folder.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.datasets_prep.common.card import is_card
from rewardkit.datasets_prep.common.publishing import explained, staging
from rewardkit.errors import InputError

PROVENANCE_KEY = "rewardkit"
"""Key of the provenance in the parquet metadata. The value is JSON."""

_REPEATED = [
    "data_source",
    "prompt.list.element.role",
    "ability",
    "reward_model.style",
    "agent_name",
    "extra_info.split",
    "extra_info.metadata",
    "extra_info.interaction_kwargs.name",
]
"""Columns with few distinct values, which are written with a dictionary.

A dictionary for other columns, such as the questions, would only cost time and space.
"""

OnWritten = Callable[[str, int], None]
"""Progress callback. It receives the split and the number of rows written so far, after each row group."""


Splits = Callable[[Path], Iterable[tuple[str, Iterable[pa.RecordBatch]]]]
"""Function that yields the splits with their batches. Each split must be consumed before the next one is
requested. The function's argument is a folder for temporary files."""


class Screen(Protocol):
    """Filter that examines rows before they are published and may leave out some of them."""

    def keep(self, split: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows to keep."""
        ...

    def finish(self) -> None:
        """Complete the filtering after the last row and before any file is published.

        Raises:
            InputError: The files must not be published.
        """
        ...

    def describe(self) -> dict[str, object]:
        """Return the screen's entry in the provenance of the files."""
        ...


_SCREEN: ContextVar[Screen | None] = ContextVar("screen", default=None)


@contextlib.contextmanager
def screened(screen: Screen | None) -> Iterator[None]:
    """Apply a screen to all rows that are written in the block.

    The split `train` is written last. Rows in `train` that repeat rows in other splits can then be left out.
    """
    token = _SCREEN.set(screen)
    try:
        yield
    finally:
        _SCREEN.reset(token)


def screen_of_this_run() -> Screen | None:
    """Return the screen for the current run, or None if there is no screen."""
    return _SCREEN.get()


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A published split."""

    path: Path
    """File of the split, or folder of its shards."""
    rows: int
    bytes: int

    @property
    def parts(self) -> list[Path]:
        """Return the parquet files of the split, in order."""
        return sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]


Beside = Callable[[Path, Mapping[str, list[Path]]], None]
"""Callback that may write additional files, such as a dataset card. It receives the folder and the files of
each split, after all splits are written and before they are published."""


@dataclass(frozen=True, slots=True)
class Writing:
    """Settings for writing files."""

    provenance: Mapping[str, object]
    shard_rows: int | None = None
    """Number of rows per file, or None to write a single file for each split."""
    progress: OnWritten | None = None
    beside: tuple[Beside, ...] = ()
    see: Callable[[str, pa.RecordBatch], None] | None = None
    """Callback that receives the split and each batch that is written."""


def write_splits(out_dir: Path, splits: Splits, writing: Writing) -> dict[str, WrittenFile]:
    """Write each split in turn to `out_dir/<split>.parquet`, or as shards to `out_dir/<split>/`.

    All files are first written to a separate folder and synced to disk, and then published in one step
    (see `publishing`). The content of the files depends only on the rows, the provenance and the version of
    pyarrow.

    Raises:
        InputError: The output folder cannot be written, the disk is full, a split has no rows, the screen
            prevents publishing, or another run is writing to the same folder.
    """
    screen = _SCREEN.get()
    if screen is not None:
        provenance = {**writing.provenance, "quality": screen.describe()}
        writing = replace(writing, provenance=provenance)
    with staging(out_dir, is_card) as folder, explained(out_dir):
        scratch = folder.parent / "scratch"
        scratch.mkdir(exist_ok=True)
        files = {
            split: _write_split(folder, split, batches, writing, screen) for split, batches in splits(scratch)
        }
        if screen is not None:
            screen.finish()
        for write in writing.beside:
            write(folder, files)
        published = {split: _described(found, folder, out_dir, split) for split, found in files.items()}
    return published


def _write_split(
    folder: Path, split: str, batches: Iterable[pa.RecordBatch], writing: Writing, screen: Screen | None
) -> list[Path]:
    """Write a split to a folder and return the paths of its files."""
    path = folder / f"{split}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = batches if screen is None else (screen.keep(split, batch) for batch in batches)
    counted = _counted(kept, split, writing)
    first = next(counted, None)
    if first is None:
        left = " left" if screen is not None else ""
        raise InputError(f"split '{split}' has no rows{left}; nothing was written")
    stream = itertools.chain([first], counted)
    if writing.shard_rows is None:
        _write_file(path, stream, writing)
        return [path]
    return _write_shards(path.with_suffix(""), stream, writing, writing.shard_rows)


def _counted(batches: Iterable[pa.RecordBatch], split: str, writing: Writing) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        if writing.see is not None:
            writing.see(split, batch)
        yield batch
        done += batch.num_rows
        if writing.progress is not None:
            writing.progress(split, done)


def _write_file(path: Path, batches: Iterable[pa.RecordBatch], writing: Writing) -> None:
    stream = iter(batches)
    head = next(stream)
    with open(path, "wb") as file:
        with pq.ParquetWriter(file, head.schema, compression="zstd", use_dictionary=_REPEATED) as writer:
            for batch in itertools.chain([head], stream):
                writer.write_batch(batch, row_group_size=batch.num_rows)
            writer.add_key_value_metadata(
                {PROVENANCE_KEY: json.dumps(writing.provenance, sort_keys=True, default=str)}
            )
        file.flush()
        os.fsync(file.fileno())


def _write_shards(
    folder: Path, batches: Iterable[pa.RecordBatch], writing: Writing, shard_rows: int
) -> list[Path]:
    """Write files of `shard_rows` rows each and return their paths.

    The files are renamed at the end, because the hub's naming scheme includes the number of files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pieces = _pieces(batches, shard_rows)
    shards = itertools.groupby(pieces, key=lambda numbered: numbered[0])
    written = []
    for number, piece in shards:
        written.append(folder / f"{number:05d}.partial")
        _write_file(written[-1], (batch for _, batch in piece), writing)
    named = [folder / f"{number:05d}-of-{len(written):05d}.parquet" for number in range(len(written))]
    for old, new in zip(written, named, strict=True):
        os.replace(old, new)
    return named


def _pieces(batches: Iterable[pa.RecordBatch], shard_rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Split the batches at shard boundaries, and yield each piece with the number of its shard."""
    done = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            room = shard_rows - done % shard_rows
            piece = batch.slice(start, min(room, batch.num_rows - start))
            yield done // shard_rows, piece
            start += piece.num_rows
            done += piece.num_rows


def _described(files: list[Path], folder: Path, out_dir: Path, split: str) -> WrittenFile:
    first = out_dir / files[0].relative_to(folder)
    path = first if first.name == f"{Path(split).name}.parquet" else first.parent
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    return WrittenFile(path, rows, sum(file.stat().st_size for file in files))
