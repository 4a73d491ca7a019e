"""Reads raw datasets: finds the split files under `--raw`, or the hub, and streams their records.

What the columns mean is each dataset's business. Nothing here writes.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError, MissingDependencyError, did_you_mean

FORMATS = (".jsonl", ".json", ".csv", ".parquet")
SPLITS = ("train", "test")

_READ_BYTES = 1 << 20
"""Read from a parquet column at a time. Without it, a whole column of a row group: gigabytes of tests."""


@dataclass(frozen=True, slots=True)
class Record:
    """One raw record and where it stands, for messages."""

    where: str
    """`train.jsonl row 12`, counted from 1."""
    index: int
    """Position in the split, counted from 0."""
    values: dict[str, Any]

    def text(self, column: str) -> str:
        """Return a column that must hold text.

        Raises:
            InputError: there is no such column, or it is null, empty or not text.
        """
        if column not in self.values:
            near = did_you_mean(column, self.values)
            found = ", ".join(self.values) or "none"
            raise InputError(f"{self.where}: no column '{column}'; found: {found}{near}")
        value = self.values[column]
        if not isinstance(value, str):
            kind = "null" if value is None else type(value).__name__
            raise InputError(f"{self.where}: '{column}' must be text, found {kind}")
        if not value.strip():
            raise InputError(f"{self.where}: '{column}' is empty")
        return value


@dataclass(slots=True)
class BadRows:
    """What to do with a row that cannot be used: stop, or drop and count it."""

    skip: bool = False
    dropped: int = 0
    first: list[str] = field(default_factory=list)
    """The first few messages."""

    def add(self, error: InputError) -> None:
        """Count a bad row, or raise its error when bad rows are not to be skipped."""
        if not self.skip:
            raise InputError(f"{error}; fix it or pass --skip-bad to drop such rows") from error
        self.dropped += 1
        if len(self.first) < 20:
            self.first.append(str(error))


@dataclass(frozen=True, slots=True)
class Source:
    """Where raw records come from: files, or a dataset on the hub."""

    splits: dict[str, Callable[[BadRows], Iterator[Record]]]
    provenance: dict[str, object]
    """What identifies the raw data: name and sha256 of each file, or the hub's name and revision."""


@dataclass(frozen=True, slots=True)
class Hub:
    """A dataset on the Hugging Face hub."""

    name: str
    config: str | None
    splits: tuple[str, ...]
    raw_files: str
    """Which of its files a user without network should fetch, for messages."""


def open_source(raw: Path | None, hub: Hub, *, ignore: tuple[str, ...] = ()) -> Source:
    """Return the raw data that a user passed or, without any, the dataset on the hub.

    Raises:
        InputError: as of `open_raw` and `open_hub`.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    return open_hub(hub) if raw is None else open_raw(raw, ignore=ignore)


def open_raw(raw: Path, *, ignore: tuple[str, ...] = ()) -> Source:
    """Return the splits found in a file or a folder.

    A file belongs to the split whose name (`train`, `test`) stands in its own or a folder's name, the
    nearest first; a single file that names neither is `train`. Hidden files, and those with a word of
    `ignore` in their path, are left out.

    Raises:
        InputError: there is no such path, nothing usable in it, or a split in two formats.
    """
    try:
        raw.stat()
        found = _split_files(raw, ignore)
    except OSError as error:
        raise InputError(
            f"cannot read {raw}: {error.strerror}; pass the raw dataset's path with --raw"
        ) from error
    if not found:
        kinds = ", ".join(FORMATS)
        raise InputError(
            f"{raw} holds no train or test file; expected names like train.jsonl with one of {kinds} (.gz)"
        )
    for split, files in found.items():
        if len({_format(file) for file in files}) > 1:
            names = ", ".join(file.name for file in files[:4])
            raise InputError(f"{raw} holds split '{split}' in several formats: {names}; pass one with --raw")
    root = raw if raw.is_dir() else raw.parent
    described: list[object] = [
        {"name": file.relative_to(root).as_posix(), "sha256": _sha256(file)}
        for files in found.values()
        for file in files
    ]
    return Source(
        splits={split: _file_reader(files, root) for split, files in found.items()},
        provenance={"files": described},
    )


def open_hub(hub: Hub) -> Source:
    """Return the splits of a dataset on the hub, streamed at the revision of this moment.

    Raises:
        MissingDependencyError: the package `datasets` is not installed.
        InputError: the hub cannot be reached, or has no such dataset.
    """
    name = hub.name
    remedy = (
        f"download {hub.raw_files} from https://huggingface.co/datasets/{name} and pass the folder with --raw"
    )
    try:
        datasets = importlib.import_module("datasets")
        huggingface_hub = importlib.import_module("huggingface_hub")
    except ImportError:
        raise MissingDependencyError(
            f"fetching {name} needs the package datasets: {remedy}, or install rewardkit[hub]"
        ) from None
    try:
        revision = huggingface_hub.HfApi().dataset_info(name).sha
        loaded = {
            split: datasets.load_dataset(name, hub.config, split=split, streaming=True, revision=revision)
            for split in hub.splits
        }
    except Exception as error:
        # The hub client lets a dozen unrelated exception classes of its HTTP stack through.
        raise InputError(f"cannot fetch {name} ({type(error).__name__}): {remedy}") from error
    return Source(
        splits={split: _hub_reader(rows, f"{name} {split}", remedy) for split, rows in loaded.items()},
        provenance={"hub": name, "config": hub.config, "revision": revision},
    )


def _hub_reader(rows: Any, label: str, remedy: str) -> Callable[[BadRows], Iterator[Record]]:
    def read(bad: BadRows) -> Iterator[Record]:
        try:
            for index, values in enumerate(rows):
                yield Record(f"{label} row {index + 1}", index, values)
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"lost {label} while fetching ({type(error).__name__}): {remedy}") from error

    return read


def _split_files(raw: Path, ignore: tuple[str, ...]) -> dict[str, list[Path]]:
    if raw.is_file():
        _format(raw)
        return {_split_of(Path(raw.name)) or "train": [raw]}
    found: dict[str, list[Path]] = {}
    for path in sorted(raw.rglob("*")):
        relative = path.relative_to(raw)
        hidden = any(part.startswith(".") for part in relative.parts)
        ignored = any(word in relative.as_posix().casefold() for word in ignore)
        if hidden or ignored or not _is_data_file(path):
            continue
        split = _split_of(relative)
        if split is not None:
            found.setdefault(split, []).append(path)
    # The order of SPLITS, so that train is always prepared first.
    return {split: found[split] for split in SPLITS if split in found}


def _split_of(relative: Path) -> str | None:
    for part in reversed(relative.parts):
        for split in SPLITS:
            if re.search(rf"(?<![a-z]){split}(?![a-z])", part.casefold()):
                return split
    return None


def _is_data_file(path: Path) -> bool:
    return path.is_file() and Path(path.name.removesuffix(".gz")).suffix.lower() in FORMATS


def _format(path: Path) -> str:
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"cannot read {path}: expected one of {', '.join(FORMATS)} (.gz), found '{path.suffix}'"
        )
    return suffix


def _sha256(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _file_reader(files: list[Path], root: Path) -> Callable[[BadRows], Iterator[Record]]:
    def read(bad: BadRows) -> Iterator[Record]:
        index = 0
        for file in files:
            label = file.relative_to(root).as_posix()
            before = index
            try:
                for number, values in _READERS[_format(file)](file, label, bad):
                    yield Record(f"{label} row {number}", before + number - 1, values)
                    index = before + number
            except (OSError, EOFError, zlib.error, UnicodeDecodeError, pa.ArrowException) as error:
                # A truncated or damaged gzip or parquet file comes as any of these.
                why = str(error).partition("\n")[0]
                raise InputError(f"cannot read {file}: {why}") from error
            if index == before and not bad.dropped:
                raise InputError(f"{file} is empty: it holds no rows")

    return read


def _open(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if path.name.endswith(".gz") else open(path, "rb")


_Numbered = Iterator[tuple[int, dict[str, Any]]]
"""Row number, counted from 1, and its values."""


def _read_jsonl(path: Path, label: str, bad: BadRows) -> _Numbered:
    with _open(path) as file:
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


def _read_json(path: Path, label: str, bad: BadRows) -> _Numbered:
    """A `.json` file is a list of objects, one object or, as often on the hub, JSON lines by another name."""
    with _open(path) as file:
        first_line = file.readline().removeprefix(b"\xef\xbb\xbf").strip()
    if first_line.startswith(b"{") and _is_object(first_line):
        yield from _read_jsonl(path, label, bad)
        return
    with _open(path) as file:
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
        else:
            bad.add(InputError(f"{label} row {number}: expected an object, found {type(values).__name__}"))


def _read_csv(path: Path, label: str, bad: BadRows) -> _Numbered:
    # The module's own limit of 128 KiB is less than one worked solution can take.
    csv.field_size_limit(sys.maxsize)
    with _open(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        rows = csv.DictReader(text, strict=True)
        number = 0
        try:
            for number, values in enumerate(rows, start=1):
                if None in values:
                    bad.add(InputError(f"{label} row {number}: more cells than the header has columns"))
                    continue
                yield number, values
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{label} row {number + 1}: malformed CSV: {error}") from error


def _read_parquet(path: Path, label: str, bad: BadRows) -> _Numbered:
    number = 0
    # Few rows at a time and no reading ahead: a single row of a code set can hold megabytes of tests.
    with pq.ParquetFile(path, buffer_size=_READ_BYTES, pre_buffer=False) as file:
        for batch in file.iter_batches(batch_size=16):
            for values in batch.to_pylist():
                number += 1
                yield number, values


_READERS = {".jsonl": _read_jsonl, ".json": _read_json, ".csv": _read_csv, ".parquet": _read_parquet}


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
