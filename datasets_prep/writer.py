"""The only code here that writes: rows in, `train.parquet` and `test.parquet` out, whole or not at all.

Knows the Row contract and nothing of any dataset.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.datasets_prep.schema import SCHEMA, AnyRow, to_batch, validate
from rewardkit.errors import InputError

ROW_GROUP_ROWS = 4096
ROW_GROUP_CHARS = 32 * 2**20
"""A row group is written when it holds this many rows or characters, whichever comes first: memory stays
bounded when single rows hold megabytes of test cases."""

PROVENANCE_KEY = "rewardkit"
"""The parquet metadata key under which the provenance stands, as JSON."""

_PARTIAL = ".parquet.partial"

Progress = Callable[[str, int], None]
"""Called with the split and the rows written so far, once for each row group."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file that was published."""

    path: Path
    rows: int
    bytes: int


def write_splits(
    out_dir: Path,
    splits: Mapping[str, Iterable[AnyRow]],
    provenance: Mapping[str, object],
    progress: Progress | None = None,
    schema: pa.Schema = SCHEMA,
) -> dict[str, WrittenFile]:
    """Write each split to `out_dir/<split>.parquet`.

    Every file is written in full under a temporary name and synced to disk; only then are all of them
    renamed. After an error or a kill at any moment before that, the files of an earlier run stand as they
    were; temporary files are removed at once or, after a kill, by the next run. The bytes depend on the
    rows, the provenance and the version of pyarrow alone.

    Raises:
        InputError: the folder cannot be written, the disk is full, a split has no rows, a row breaks the
            contract, or another run is writing to the same folder.
    """
    with _folder(out_dir) as folder_fd:
        partial = {split: out_dir / f".{split}{_PARTIAL}" for split in splits}
        try:
            counts = {
                split: _write_file(partial[split], split, rows, provenance, progress, schema)
                for split, rows in splits.items()
            }
            with _explained(out_dir):
                for split, path in partial.items():
                    os.replace(path, out_dir / f"{split}.parquet")
                os.fsync(folder_fd)
        finally:
            # Whatever is left under these names, of this run or a killed one: the lock says nobody writes it.
            for path in out_dir.glob(f".*{_PARTIAL}"):
                path.unlink(missing_ok=True)
    published = {split: out_dir / f"{split}.parquet" for split in splits}
    return {s: WrittenFile(path, counts[s], path.stat().st_size) for s, path in published.items()}


def read_provenance(path: Path) -> dict[str, object]:
    """Return the provenance of a file that `write_splits` made; empty for any other parquet file."""
    metadata = pq.read_metadata(path).metadata or {}
    found: dict[str, object] = json.loads(metadata.get(PROVENANCE_KEY.encode(), b"{}"))
    return found


def _write_file(
    path: Path,
    split: str,
    rows: Iterable[AnyRow],
    provenance: Mapping[str, object],
    progress: Progress | None,
    schema: pa.Schema,
) -> int:
    written = 0
    with _explained(path.parent), open(path, "wb") as file:
        writer = pq.ParquetWriter(file, schema, compression="zstd")
        try:
            for batch in _batches(rows, schema):
                writer.write_batch(batch, row_group_size=batch.num_rows)
                written += batch.num_rows
                if progress is not None:
                    progress(split, written)
            if not written:
                raise InputError(f"split '{split}' has no rows; nothing was written to {path.parent}")
            writer.add_key_value_metadata({PROVENANCE_KEY: json.dumps(provenance, sort_keys=True)})
        finally:
            writer.close()
        file.flush()
        os.fsync(file.fileno())
    return written


def _batches(rows: Iterable[AnyRow], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    held: list[AnyRow] = []
    characters = 0
    for row in rows:
        validate(row)
        held.append(row)
        characters += row.size()
        if len(held) >= ROW_GROUP_ROWS or characters >= ROW_GROUP_CHARS:
            yield to_batch(held, schema)
            held, characters = [], 0
    if held:
        yield to_batch(held, schema)


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int]:
    """Make the folder, hold it locked, and remove what was made of it if the work fails."""
    with _explained(path):
        made = [p for p in (path, *path.parents) if not p.exists()]
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, path)
        yield descriptor
    except BaseException:
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    """Keep a second run out of the folder: both would write the same temporary files."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"another run is writing to {path}; wait for it or pass another --out") from None
    except OSError:
        # Some network file systems cannot lock a folder. Losing the guard is better than refusing them.
        return


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an operating system error while writing into one line that says what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(
            f"cannot write to {path}: {why}; free or unlock it, or pass another --out"
        ) from error
