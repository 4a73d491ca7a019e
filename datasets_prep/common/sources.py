"""Streams raw records, split by split, from the files in `--raw` or from a dataset on the hub.

`readers` reads the rows, `layout` interprets file names, and each dataset interprets its own columns.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardkit.datasets_prep.common.layout import SplitLayout, find_files
from rewardkit.datasets_prep.common.readers import BadRows, read_file
from rewardkit.errors import InputError, MissingDependencyError, did_you_mean
from rewardkit.files.inputs import Input

_MOST_LISTED = 16
"""Maximum number of files that are recorded individually. For more files, only a digest of their list is
recorded."""

_CONVERTED = "refs/convert/parquet"
"""Branch with the hub's parquet version of a dataset that is published as a script."""


@dataclass(frozen=True, slots=True)
class Record:
    """Raw record with its location."""

    where: str
    """Location for error messages, such as `train.jsonl row 12`, with rows counted from 0."""
    index: int
    """Zero-based position in the split."""
    values: dict[str, Any]

    def text(self, column: str) -> str:
        """Return the text in a column.

        Raises:
            InputError: The column is missing, or its value is null, empty or not text.
        """
        value = self.value(column)
        if not isinstance(value, str):
            kind = "null" if value is None else type(value).__name__
            raise InputError(f"{self.where}: '{column}' must be text, found {kind}")
        if not value.strip():
            raise InputError(f"{self.where}: '{column}' is empty")
        return value

    def value(self, column: str) -> Any:
        """Return the value of a column.

        Raises:
            InputError: The column is missing.
        """
        if column not in self.values:
            near = did_you_mean(column, self.values)
            found = ", ".join(self.values) or "none"
            raise InputError(f"{self.where}: there is no column '{column}'; columns: {found}{near}")
        return self.values[column]

    def texts(self, column: str) -> list[str]:
        """Return the list of strings in a column.

        Raises:
            InputError: The column is missing, or its value is not a nonempty list of strings.
        """
        value = self.value(column)
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise InputError(
                f"{self.where}: '{column}' must be a non-empty list of strings, found {str(value)[:40]!r}"
            )
        return value


@dataclass(frozen=True, slots=True)
class Source:
    """Source of raw records, either files or a dataset on the hub."""

    splits: Mapping[str, Callable[[BadRows], Iterator[Record]]]
    provenance: dict[str, object]
    """Identity of the raw data, such as the name and sha256 of each file, or the hub dataset and revision."""
    unread: tuple[str, ...] = ()
    """Files that were left out, each with the reason."""
    digests: tuple[tuple[str, str], ...] = ()
    """Name and sha256 of every raw file."""
    notes: tuple[str, ...] = ()
    """Additional notes for the user, one line each."""


@dataclass(frozen=True, slots=True)
class Hub:
    """Dataset on the Hugging Face hub."""

    name: str
    config: str | None
    splits: tuple[str, ...]
    """Names of the splits on the hub, or empty if `datasets` cannot load the files on the hub."""
    raw_files: str
    """Description of the files to download manually, for error messages."""
    script: bool = False
    """True if the dataset is published as a loading script. `datasets` no longer runs such scripts, so the
    hub's parquet version is loaded instead."""


def open_source(raw: str | Path | None, hub: Hub, layout: SplitLayout, revision: str | None = None) -> Source:
    """Open the user's raw data, or the dataset on the hub if `raw` is None.

    Raises:
        InputError: The raw data cannot be found or used, or the hub cannot be reached.
        MissingDependencyError: `raw` is None and the package `datasets` is not installed.
    """
    return open_hub(hub, layout, revision) if raw is None else open_raw(raw, layout)


def open_raw(raw: str | Path, layout: SplitLayout | None = None) -> Source:
    """Open the splits in a file, folder, glob pattern or URL according to the layout.

    Raises:
        InputError: No file exists, no file is usable, or a split has files in several formats.
        MissingDependencyError: The driver for a URL is not installed.
    """
    layout = layout or SplitLayout()
    found = find_files(raw, layout)
    return Source(
        splits={split: file_reader(files, layout.header) for split, files in found.splits.items()},
        unread=found.unread,
        **described([file for files in found.splits.values() for file in files]),
    )


def described(files: Iterable[Input]) -> dict[str, Any]:
    """Return the fields `provenance` and `digests` for a `Source` that reads these raw files.

    A few files are recorded individually. For thousands of files, as in MATH with one file per problem, only
    a digest of the file list is recorded. It is the sha256 of the list in `sha256sum` format, which the
    dataset card contains. For files at a URL, only the URL is recorded.
    """
    files = list(files)
    if any("://" in file.path for file in files):
        return {"provenance": {"files": [file.path for file in files]}}
    digests = tuple((file.name, _sha256(file.path)) for file in files)
    if len(digests) <= _MOST_LISTED:
        listed = [{"name": name, "sha256": digest} for name, digest in digests]
        return {"provenance": {"files": listed}, "digests": digests}
    whole = hashlib.sha256(sha256sums(digests).encode()).hexdigest()
    return {"provenance": {"files": len(digests), "sha256_of_list": whole}, "digests": digests}


def sha256sums(digests: Iterable[tuple[str, str]]) -> str:
    """Format file names and digests for `sha256sum --check`."""
    return "".join(f"{digest}  {name}\n" for name, digest in digests)


def open_hub(hub: Hub, layout: SplitLayout | None = None, revision: str | None = None) -> Source:
    """Open the splits of a dataset on the hub for streaming, at the given or the latest revision.

    Raises:
        MissingDependencyError: The package `datasets` is not installed.
        InputError: The hub cannot be reached, or has no such dataset.
    """
    layout = layout or SplitLayout()
    name = hub.name
    remedy = (
        f"download {hub.raw_files} from https://huggingface.co/datasets/{name} and pass the folder with --raw"
    )
    if not hub.splits:
        raise InputError(f"rewardkit cannot fetch {name} itself: {remedy}")
    try:
        datasets = importlib.import_module("datasets")
        huggingface_hub = importlib.import_module("huggingface_hub")
    except ImportError:
        raise MissingDependencyError(
            f"fetching {name} needs the package datasets: pip install 'rewardkit[hub]', or {remedy}"
        ) from None
    try:
        asked = revision or (_CONVERTED if hub.script else None)
        revision = huggingface_hub.HfApi().dataset_info(name, revision=asked).sha
        loaded = {split: _load(datasets, hub, split, str(revision)) for split in hub.splits}
    except Exception as error:
        # The hub client raises about a dozen unrelated exception classes from its HTTP stack.
        raise InputError(f"cannot fetch {name} ({type(error).__name__}): {remedy}") from error
    names = {split: layout.splits.get(split, split) for split in loaded}
    if layout.validation_is_test and "test" not in names.values():
        names = {split: "test" if to == "validation" else to for split, to in names.items()}
    return Source(
        splits={names[split]: _hub_reader(rows, f"{name} {split}", remedy) for split, rows in loaded.items()},
        provenance={"hub": name, "config": hub.config, "revision": revision},
    )


def _load(datasets: Any, hub: Hub, split: str, revision: str) -> Any:
    """Load a split of a hub dataset as a stream, without decoding images."""
    if hub.script:
        files = f"hf://datasets/{hub.name}@{revision}/{hub.config or 'default'}/{split}/*.parquet"
        rows = datasets.load_dataset("parquet", data_files={split: files}, split=split, streaming=True)
    else:
        rows = datasets.load_dataset(hub.name, hub.config, split=split, streaming=True, revision=revision)
    return rows.decode(False) if hasattr(rows, "decode") else rows


def _hub_reader(rows: Any, label: str, remedy: str) -> Callable[[BadRows], Iterator[Record]]:
    def read(bad: BadRows) -> Iterator[Record]:
        try:
            for index, values in enumerate(rows):
                yield Record(f"{label} row {index}", index, values)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"the download of {label} was interrupted ({type(error).__name__}): {remedy}"
            ) from error

    return read


def file_reader(
    files: Sequence[Input], header: tuple[str, ...] = ()
) -> Callable[[BadRows], Iterator[Record]]:
    """Return a function that reads the records in the files, one file after another."""

    def read(bad: BadRows) -> Iterator[Record]:
        index = 0
        for file in files:
            before = index
            for number, values in read_file(replace(file, header=header), bad):
                yield Record(f"{file.name} row {number}", before + number, values)
                index = before + number + 1
            if index == before and not bad.dropped:
                raise InputError(f"{file.path} has no rows")

    return read


def _sha256(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
