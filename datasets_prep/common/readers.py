"""Reads the formats in which raw datasets are published, row by row: jsonl, json, csv, parquet, Arrow; gzip
too.

What the columns mean is each dataset's business.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError

FORMATS = (".jsonl", ".json", ".csv", ".parquet", ".arrow", ".ndjson")

READ_ERRORS = (OSError, EOFError, zlib.error, UnicodeDecodeError, pa.ArrowException)
"""What a truncated or damaged file comes as."""

_READ_BYTES = 1 << 20
"""Read from a parquet column at a time. Without it, a whole column of a row group: gigabytes of tests."""


class LeftOutError(InputError):
    """A row that is as it should be, and of no use here (a proof, a test without answer): counted, no
    mistake."""


@dataclass(slots=True)
class BadRows:
    """What to do with a row that cannot be used: stop, or drop and count it."""

    skip: bool = False
    dropped: int = 0
    first: list[str] = field(default_factory=list)
    """The first few messages."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Rows that the set has and that are of no use here, by the reason; they are no mistakes."""

    def add(self, error: InputError, count: int = 1) -> None:
        """Count a bad row, or several, or raise its error when bad rows are not to be skipped."""
        if isinstance(error, LeftOutError):
            self.left_out[str(error)] += count
            return
        if not self.skip:
            raise InputError(f"{error}; fix it or pass --skip-bad to drop such rows") from error
        self.dropped += count
        if len(self.first) < 20:
            self.first.append(str(error))


Numbered = Iterator[tuple[int, dict[str, Any]]]
"""Row number, counted from 1, and its values."""

Reader = Callable[[Path, str, BadRows, tuple[str, ...]], Numbered]
"""Reads a file, with its label for messages and, for csv without a header, the names of the columns."""


def format_of(path: Path) -> str:
    """Return which of `FORMATS` a file is in, by its name.

    Raises:
        InputError: none of them.
    """
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"cannot read {path}: expected one of {', '.join(FORMATS)} (.gz), found '{path.suffix}'"
        )
    return suffix


def read_file(path: Path, label: str, bad: BadRows, header: tuple[str, ...] = ()) -> Numbered:
    """Read a file of any of `FORMATS`.

    Raises:
        InputError: it cannot be read as what its name says, or has a bad row that is not to be skipped.
    """
    return _READERS[format_of(path)](path, label, bad, header)


def open_plain(path: Path) -> gzip.GzipFile | io.BufferedReader:
    """Open a file for reading what it holds, unpacked."""
    return gzip.open(path, "rb") if path.name.endswith(".gz") else open(path, "rb")


def _read_jsonl(path: Path, label: str, bad: BadRows, header: tuple[str, ...]) -> Numbered:
    with open_plain(path) as file:
        number = 0
        for line in file:
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line
            number += 1
            if not line.strip():
                continue
            try:
                yield number, _decode_object(line)
            except ValueError as error:
                bad.add(InputError(f"{label} line {number}: malformed JSON: {error}"))


def _read_json(path: Path, label: str, bad: BadRows, header: tuple[str, ...]) -> Numbered:
    """A `.json` file is a list of objects, one object or, as often on the hub, JSON lines by another name."""
    with open_plain(path) as file:
        first_line = file.readline().removeprefix(b"\xef\xbb\xbf").strip()
    if first_line.startswith(b"{") and _is_object(first_line):
        yield from _read_jsonl(path, label, bad, header)
        return
    with open_plain(path) as file:
        text = file.read().removeprefix(b"\xef\xbb\xbf")
    if not text.strip():
        return
    try:
        whole = _decode(text)
    except ValueError as error:
        raise InputError(f"{label}: malformed JSON: {error}") from error
    rows = whole if isinstance(whole, list) else [whole]
    for number, values in enumerate(rows, start=1):
        if isinstance(values, dict):
            yield number, values
        elif isinstance(values, list) and values and all(isinstance(said, dict) for said in values):
            yield number, {"conversations": values}  # a chat alone, as Open-Reasoner-Zero has them
        else:
            bad.add(
                InputError(f"{label} row {number - 1}: expected an object, found {type(values).__name__}")
            )


def _read_csv(path: Path, label: str, bad: BadRows, header: tuple[str, ...]) -> Numbered:
    # The module's own limit of 128 KiB is less than one worked solution can take.
    csv.field_size_limit(sys.maxsize)
    with open_plain(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        rows = csv.DictReader(text, fieldnames=header or None, strict=True)
        number = 0
        try:
            for number, values in enumerate(rows, start=1):
                if None in values:
                    bad.add(InputError(f"{label} row {number - 1}: more cells than the header has columns"))
                    continue
                yield number, values
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{label} row {number}: malformed CSV: {error}") from error


def _read_parquet(path: Path, label: str, bad: BadRows, header: tuple[str, ...]) -> Numbered:
    # Few rows at a time and no reading ahead: a single row of a code set can hold megabytes of tests.
    with pq.ParquetFile(path, buffer_size=_READ_BYTES, pre_buffer=False) as file:
        yield from _numbered(file.iter_batches(batch_size=16))


def _read_arrow(path: Path, label: str, bad: BadRows, header: tuple[str, ...]) -> Numbered:
    """The stream format that `datasets` saves, or the file format."""
    with pa.memory_map(str(path)) as source:
        if source.read(6) == b"ARROW1":
            file = pa.ipc.open_file(source)
            yield from _numbered(file.get_batch(i) for i in range(file.num_record_batches))
        else:
            source.seek(0)
            yield from _numbered(pa.ipc.open_stream(source))


def _numbered(batches: Iterator[pa.RecordBatch]) -> Numbered:
    number = 0
    for batch in batches:
        for start in range(0, batch.num_rows, 16):
            for values in batch.slice(start, 16).to_pylist():
                number += 1
                yield number, values


_READERS: dict[str, Reader] = {
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": _read_json,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".arrow": _read_arrow,
}


def _decode(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _decode_object(line: bytes) -> dict[str, Any]:
    values = _decode(line)
    if not isinstance(values, dict):
        raise ValueError(f"expected an object, found {type(values).__name__}")
    return values


def _is_object(line: bytes) -> bool:
    try:
        _decode_object(line)
    except ValueError:
        return False
    return True
