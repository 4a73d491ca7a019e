"""Assigns raw files to splits according to their published names, without opening the files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rewardkit.errors import InputError
from rewardkit.files.inputs import FORMATS, Input, find_inputs, format_of

TRAIN_AND_TEST = {"train": "train", "test": "test"}
TEST_ONLY = dict.fromkeys(("train", "test", "validation", "dev", "val"), "test")
"""Mapping of published split names to splits, for datasets that have only a test split."""
ALL_THREE = {
    "train": "train",
    "test": "test",
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
}

_ORDER = ("train", "validation", "test")
_DESCRIPTIONS = (
    *("dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json"),
    *("croissant.json", "dropped.jsonl"),
)
"""Names of files that the hub, `datasets` or rewardkit writes next to the data."""
_ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".xz", ".bz2")
_KNOWN = ", ".join(suffix for suffix, kind in FORMATS.items() if kind != "inspect")


@dataclass(frozen=True, slots=True)
class SplitLayout:
    """Naming scheme of a dataset's files."""

    splits: Mapping[str, str] = field(default_factory=lambda: TRAIN_AND_TEST)
    """Split for each word in file and folder names.

    If several names in a path match, the innermost name decides.
    """
    alone: str = "train"
    """Split for files whose paths contain none of the words in `splits`."""
    ignore: tuple[str, ...] = ()
    """Words that occur in the paths of files outside the dataset."""
    validation_is_test: bool = False
    """True if a missing split `test` is replaced by `validation`, as in most publications."""
    prefer: tuple[str, ...] = ()
    """Words in the paths of the preferred version, for folders with several versions of the dataset. The
    first word that matches a data file decides."""
    header: tuple[str, ...] = ()
    """Column names for csv files without a header."""


@dataclass(frozen=True, slots=True)
class Found:
    """Raw files found under a path."""

    splits: dict[str, list[Input]]
    """Files by split. The splits train, validation and test come before all other splits."""
    unread: tuple[str, ...]
    """Files that were left out, each with the reason."""
    nameless: tuple[str, ...] = ()
    """Files whose names contain no split. They are assigned to the layout's default split."""


def find_files(raw: str | Path, layout: SplitLayout) -> Found:
    """Find the raw files and assign them to splits.

    Raises:
        InputError: No file exists, no file has a known format, or a split has files in several formats.
        MissingDependencyError: The driver for a URL is not installed.
    """
    files, passed_over = _candidates(raw, layout)
    if len(files) == 1 and not Path(raw).is_dir():
        (file,) = files
        if not _is_data(file):
            raise InputError(
                f"cannot read {raw}: the name must end in one of {_KNOWN}, optionally followed by .gz or .zst"
            )
        split = _split_of(PurePosixPath(file.name), layout)
        return Found({split or layout.alone: files}, (), () if split else (file.name,))
    found: dict[str, list[Input]] = {}
    nameless: list[Input] = []
    unread: list[str] = []
    for file in files:
        why = _why_not(file, layout)
        if why:
            unread.append(f"{file.name} ({why})")
        elif (split := _split_of(PurePosixPath(file.name), layout)) is not None:
            found.setdefault(split, []).append(file)
        else:
            nameless.append(file)
    if nameless and not found:
        found = {layout.alone: nameless}
    elif nameless:
        unread += [f"{file.name} (the file name has no split)" for file in nameless]
    if not found:
        raise InputError(_nothing_in(raw, layout, unread))
    _refuse_several_formats(raw, found)
    if layout.validation_is_test and "test" not in found and "validation" in found:
        found["test"] = found.pop("validation")
    order = sorted(found, key=lambda split: _ORDER.index(split) if split in _ORDER else len(_ORDER))
    unread += [f"{file.name} (another form of the dataset)" for file in passed_over]
    guessed = tuple(file.name for file in nameless) if nameless in found.values() else ()
    return Found({split: found[split] for split in order}, tuple(unread), guessed)


def _candidates(raw: str | Path, layout: SplitLayout) -> tuple[list[Input], list[Input]]:
    """Return the files in the preferred version of the dataset, and the data files in other versions."""
    files = named_files(raw)
    for word in layout.prefer:
        begins = re.compile(rf"(?<![a-z]){re.escape(word)}")
        chosen = [file for file in files if begins.search(file.name.casefold())]
        if any(map(_is_data, chosen)):
            return chosen, [file for file in files if file not in chosen and _is_data(file)]
    return files, []


def named_files(raw: str | Path) -> list[Input]:
    """Return all files at a path or URL, or matching a glob pattern.

    For a folder, the result includes files in unknown formats, which are later reported as unread, but no
    hidden files.

    Raises:
        InputError: No file exists.
    """
    folder = Path(raw)
    if not folder.is_dir():
        return find_inputs([raw])
    relative = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    shown = [name for name in relative if not any(part.startswith(".") for part in name.parts)]
    return [Input(str(folder / name), name.as_posix()) for name in shown]


def _why_not(file: Input, layout: SplitLayout) -> str | None:
    """Return the reason for leaving out a file, or None if the file is read."""
    if not _is_data(file):
        name = PurePosixPath(file.name)
        if name.name in _DESCRIPTIONS:
            return "describes data"
        return "unpack this archive first" if name.suffix.lower() in _ARCHIVES else f"not one of {_KNOWN}"
    word = next((word for word in layout.ignore if _has_word(file.name.casefold(), word)), None)
    return f"'{word}' is another part of the set" if word else None


def _is_data(file: Input) -> bool:
    known = format_of(file.member or file.path) not in (None, "inspect")
    return known and PurePosixPath(file.name).name not in _DESCRIPTIONS


def _split_of(relative: PurePosixPath, layout: SplitLayout) -> str | None:
    for part in reversed(relative.parts):
        for word, split in layout.splits.items():
            if _has_word(part.casefold(), word):
                return split
    return None


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", text) is not None


def _nothing_in(raw: str | Path, layout: SplitLayout, unread: list[str]) -> str:
    words = " or ".join(dict.fromkeys(layout.splits.values()))
    there = f"; not read: {', '.join(unread[:4])}" if unread else ""
    return (
        f"{raw} contains no {words} file; expected names like train.jsonl that end in one of {_KNOWN}, "
        f"optionally followed by .gz or .zst{there}"
    )


def _refuse_several_formats(raw: str | Path, found: dict[str, list[Input]]) -> None:
    for split, files in found.items():
        if len({file.format for file in files}) > 1:
            names = ", ".join(file.name for file in files[:4])
            raise InputError(
                f"{raw} contains split '{split}' in several formats: {names}; pass one of them with --raw"
            )
