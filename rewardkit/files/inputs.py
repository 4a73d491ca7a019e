"""Finding and opening of files. Users name files by path, folder, glob, URL or `-`."""

from __future__ import annotations

import functools
import glob
import gzip
import io
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TextIO, cast

import pyarrow as pa

from rewardkit.assets import asset_path
from rewardkit.errors import InputError, MissingDependencyError, reason_of
from rewardkit.extensions import added_rows
from rewardkit.http_addresses import Address, public_text

FORMATS: dict[str, str] = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".eval": "inspect",
}
"""Formats by file suffix. Installed packages add more formats (see `rewardkit.files.formats.OPENERS`)."""
COMPRESSIONS = (".gz", ".zst")
ZIP = ".zip"
RECEIPT = ".receipt"
"""Suffix that turns the name of a scored file into the name of its receipt (see `rewardkit.offline.receipt`).
A receipt has no rows."""
STDIN = "-"
SAMPLE = "sample://"
"""Prefix that names a file shipped with the package, as in `sample://responses.jsonl`."""

_DRIVERS = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hf": "huggingface_hub",
    "https": "aiohttp",
    "http": "aiohttp",
}
"""Package that fsspec needs for each URL scheme."""


@dataclass(frozen=True, slots=True)
class Input:
    """One file of rows."""

    path: str
    """Local path, `-` for standard input, or a URL as an `Address`, which shows only its public part."""
    name: str
    """Path relative to the folder that the user named, or the file's own name if the user named the file."""
    member: str = ""
    """Name of the file within a zip archive, if `path` refers to an archive."""
    keys: dict[str, str] = field(default_factory=dict)
    """Fields that hive partitions (`data_source=gsm8k/part-0.parquet`) add to every row."""
    header: tuple[str, ...] = ()
    """Column names of a CSV file whose first line is not a header."""

    @property
    def format(self) -> str:
        """Format according to the file's name, or `jsonl` for standard input.

        Raises:
            InputError: The file's name does not indicate a known format.
        """
        if self.path == STDIN:
            return "jsonl"
        found = format_of(self.member or self.path)
        if found is None:
            raise InputError(
                f"{self.path}: unknown file format; the name must end in one of {', '.join(suffixes())} "
                f"(text formats may be compressed: {' or '.join(COMPRESSIONS)}, or in a {ZIP})"
            )
        return found


def format_of(path: str) -> str | None:
    """Return the format that a path's suffix indicates, or None if the suffix is not known."""
    suffix = suffix_of(path)
    if suffix in FORMATS:
        return FORMATS[suffix]
    return suffix[1:] if suffix[1:] in added_rows("file_formats") else None


def suffixes() -> list[str]:
    """Return the suffixes of all known formats, in lower case."""
    return [*FORMATS, *(f".{name}" for name in added_rows("file_formats"))]


def suffix_of(path: str) -> str:
    """Return the suffix of a path in lower case. For a compressed file, this is the inner suffix."""
    name = PurePosixPath(path.lower())
    return name.with_suffix("").suffix if name.suffix in COMPRESSIONS else name.suffix


def find_inputs(
    words: Iterable[str | Path], on_note: Callable[[str], None] = lambda line: None
) -> list[Input]:
    """Return the files that paths, folders, globs and URLs refer to, in order and without duplicates.

    A folder refers to all files of a known format in the folder and its subfolders, except hidden files. If
    the folder also has files of other formats, its .json files are left out, because they usually contain
    settings and totals.

    Args:
        words: Paths, folders, globs and URLs.
        on_note: Function that is called with a message about files in a folder that are left out.

    Raises:
        InputError: One of the words refers to no file.
    """
    found: dict[tuple[str, str], Input] = {}
    for word in words:
        for one in _meant(word if isinstance(word, str) else str(word), on_note):
            if not one.path.endswith(RECEIPT):  # A glob such as `out.*` also matches receipts.
                found.setdefault((one.path, one.member), one)
    if not found:
        raise InputError("no input files given; pass at least one file, folder or glob")
    return list(found.values())


def _meant(word: str, on_note: Callable[[str], None]) -> list[Input]:
    if word == STDIN:
        return [Input(STDIN, "stdin.jsonl")]
    if word.startswith(SAMPLE):
        word = str(asset_path(word.removeprefix(SAMPLE)))
    if "://" in word:
        return _remote(Address(word))
    path = Path(word)
    if path.is_dir():
        return _inside(path, on_note)
    if path.exists() and not path.is_file():  # Reading a pipe a second time would hang.
        raise InputError(f"{word} is a pipe or a device, not a file; to read JSON lines from a pipe, pass -")
    if path.exists():
        return _zipped(word) if path.suffix.lower() == ZIP else [_input(word, Path(path.name))]
    matching = sorted(glob.glob(word, recursive=True)) if glob.has_magic(word) else []
    files = [p for p in matching if Path(p).is_file()]
    if not files:
        raise InputError(f"no such file: {word}")
    base = Path(*_before_magic(path.parts))
    return [_input(p, Path(p).relative_to(base)) for p in files]


def _inside(folder: Path, on_note: Callable[[str], None]) -> list[Input]:
    files = [
        p for p in sorted(folder.rglob("*")) if p.is_file() and format_of(p.name) and not _hidden(p, folder)
    ]
    rows = [p for p in files if format_of(p.name) != "json"] or files
    if len(rows) < len(files):
        left = len(files) - len(rows)
        on_note(
            f"{folder}: skipped {left} .json files next to other data files; pass a file by name to read it"
        )
    if not rows:
        raise InputError(f"{folder} has no data files; expected names that end in {', '.join(suffixes())}")
    return [_input(str(p), p.relative_to(folder)) for p in rows]


def _zipped(path: str) -> list[Input]:
    """Return the text data files in a zip archive. Its .json files may be left out, as in a folder."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist())
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot read {path}: {reason_of(error)}") from None
    found = [n for n in names if format_of(n) in _IN_ZIPS and not _hidden(Path(n), Path())]
    found = [n for n in found if format_of(n) != "json"] or found
    if not found:
        raise InputError(f"{path} contains no data file (jsonl, csv or json)")
    return [Input(path, str(Path(path).stem / Path(n)) if len(found) > 1 else n, n) for n in found]


_IN_ZIPS = ("jsonl", "csv", "json")


def _input(path: str, name: Path | PurePosixPath) -> Input:
    pairs = [part.partition("=") for part in name.parts[:-1]]
    return Input(path, str(name), keys={key: value for key, equals, value in pairs if key and equals})


def _hidden(path: Path, below: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(below).parts)


def _before_magic(parts: Sequence[str]) -> list[str]:
    before: list[str] = []
    for part in parts[:-1]:
        if glob.has_magic(part):
            break
        before.append(part)
    return before


def _remote(url: Address) -> list[Input]:
    system, path = _file_system(url)
    try:
        if glob.has_magic(path):
            paths = sorted(system.glob(path))
        elif system.isdir(path):
            paths = [p for p in sorted(system.find(path)) if format_of(p)]
        else:
            return [_input(url, PurePosixPath(PurePosixPath(url).name))]
    except Exception as error:  # The driver for a URL scheme may raise any exception.
        raise InputError(f"cannot read {url}: {url.unsaid(f'{type(error).__name__}: {error}')}") from None
    base = path.partition("*")[0].rpartition("/")[0] if glob.has_magic(path) else path.rstrip("/")
    if not paths:
        raise InputError(f"no such file: {url}")
    return [
        _input(one := Address(system.unstrip_protocol(p)), PurePosixPath(_below(one, base))) for p in paths
    ]


def _below(path: Address, base: str) -> str:
    """Return the public part of a remote path, relative to a folder. The folder's URL may lack a scheme."""
    public = str(Address(base))
    below = path.partition(public)[2] if public else path
    return below.lstrip("/") or path.rpartition("/")[2]


def _file_system(url: Address):  # type: ignore[no-untyped-def]  # fsspec has no types
    scheme = url.partition("://")[0]
    try:
        import fsspec

        return fsspec.core.url_to_fs(url.given)
    except ImportError as error:
        raise MissingDependencyError(
            f"reading {url} needs fsspec and {_DRIVERS.get(scheme, f'a driver for {scheme}')} ({error}); "
            "install both packages with: pip install 'rewardkit[remote]'"
        ) from None
    except ValueError as error:
        raise InputError(f"{url}: {url.unsaid(str(error))}") from None


def open_binary(source: Input) -> BinaryIO:
    """Open a file for reading, with decompression.

    Raises:
        InputError: The file cannot be opened.
    """
    if source.path == STDIN:
        return open(f"/proc/self/fd/{_spooled(sys.stdin).fileno()}", "rb")
    try:
        if isinstance(source.path, Address):
            system, path = _file_system(source.path)
            file = cast("BinaryIO", system.open(path, "rb"))
        else:
            file = open(source.path, "rb")  # noqa: SIM115  (the caller closes it)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {source.path}: {public_text(reason_of(error))}") from None
    packed = source.path.lower()
    if source.member:
        return zipfile.ZipFile(file).open(source.member)  # type: ignore[return-value]
    if packed.endswith(".gz"):
        return cast("BinaryIO", gzip.GzipFile(fileobj=file, mode="rb"))
    if packed.endswith(".zst"):
        return cast("BinaryIO", io.BufferedReader(pa.CompressedInputStream(file, "zstd"), 1 << 20))
    return file


@functools.lru_cache(maxsize=1)
def _spooled(stream: TextIO) -> Any:
    """Copy standard input, which can be read only once, to a temporary file that is deleted at exit."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  (kept by the cache)
    shutil.copyfileobj(stream.buffer, file)
    file.flush()
    return file
