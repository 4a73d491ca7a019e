"""Which file of a raw folder is which split, by the names under which the sets are published.

Names only: nothing is opened here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rewardkit.datasets_prep.common.readers import FORMATS, format_of
from rewardkit.errors import InputError

TRAIN_AND_TEST = {"train": "train", "test": "test"}
TEST_ONLY = dict.fromkeys(("train", "test", "validation", "dev", "val"), "test")
"""A set that is for testing, whatever its one split is called."""
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
"""What stands beside data by the hub's, `datasets`' and our own habits."""
_ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".zst", ".xz", ".bz2")


@dataclass(frozen=True, slots=True)
class SplitLayout:
    """How a set's files are named."""

    splits: Mapping[str, str] = field(default_factory=lambda: TRAIN_AND_TEST)
    """A word in the name of a file or folder, and the split that it becomes. The nearest to the file
    counts."""
    alone: str = "train"
    """The split of files that name none."""
    ignore: tuple[str, ...] = ()
    """Words in the path of files that belong to something else."""
    validation_is_test: bool = False
    """Where there is no `test` that is read, `validation` takes its place: it is what everybody reports."""
    prefer: tuple[str, ...] = ()
    """Words in the paths of what to take where a folder holds several forms of the set; the first found
    counts."""
    header: tuple[str, ...] = ()
    """The columns of csv files that have no first line with their names."""


@dataclass(frozen=True, slots=True)
class Found:
    """What lies under a path."""

    splits: dict[str, list[Path]]
    """In the order train, validation, test, then others."""
    unread: tuple[str, ...]
    """Files that were left out, each with the reason."""


def find_files(raw: Path, layout: SplitLayout) -> Found:
    """Return the files of each split.

    Raises:
        InputError: a file in no known format, nothing usable in a folder, or a split in several formats.
        OSError: the path cannot be looked at.
    """
    if raw.is_file():
        format_of(raw)
        return Found({_split_of(Path(raw.name), layout) or layout.alone: [raw]}, ())
    found: dict[str, list[Path]] = {}
    nameless: list[Path] = []
    unread: list[str] = []
    files, passed_over = _candidates(raw, layout)
    for path in files:
        relative = path.relative_to(raw)
        why = _why_not(relative, layout)
        if why:
            unread.append(f"{relative.as_posix()} ({why})")
        elif (split := _split_of(relative, layout)) is not None:
            found.setdefault(split, []).append(path)
        else:
            nameless.append(path)
    if nameless and not found:
        found = {layout.alone: nameless}
    elif nameless:
        unread += [f"{path.relative_to(raw).as_posix()} (names no split)" for path in nameless]
    if not found:
        raise InputError(_nothing_in(raw, layout, unread))
    _refuse_several_formats(raw, found)
    if layout.validation_is_test and "test" not in found and "validation" in found:
        found["test"] = found.pop("validation")
    order = sorted(found, key=lambda split: _ORDER.index(split) if split in _ORDER else len(_ORDER))
    unread += [f"{path.relative_to(raw).as_posix()} (another form of the set)" for path in passed_over]
    return Found({split: found[split] for split in order}, tuple(unread))


def _candidates(raw: Path, layout: SplitLayout) -> tuple[list[Path], list[Path]]:
    """All files but hidden ones, of several forms the preferred one; and the files of the other forms."""
    files = [
        path
        for path in sorted(raw.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(raw).parts)
    ]
    for word in layout.prefer:
        begins = re.compile(rf"(?<![a-z]){re.escape(word)}")
        chosen = [path for path in files if begins.search(path.relative_to(raw).as_posix().casefold())]
        if any(map(_is_data, chosen)):
            others = set(files).difference(chosen)
            return chosen, sorted(path for path in others if _is_data(path))
    return files, []


def _why_not(relative: Path, layout: SplitLayout) -> str | None:
    """Why a file is not read; None if it is."""
    name = relative.as_posix().casefold()
    if not _is_data(relative):
        if relative.name in _DESCRIPTIONS:
            return "describes data"
        archive = relative.suffix.lower() in _ARCHIVES
        return "unpack it first" if archive else f"not one of {', '.join(FORMATS)}"
    word = next((word for word in layout.ignore if _has_word(name, word)), None)
    return f"'{word}' is another part of the set" if word else None


def _is_data(path: Path) -> bool:
    known = Path(path.name.removesuffix(".gz")).suffix.lower() in FORMATS
    return known and path.name not in _DESCRIPTIONS


def _split_of(relative: Path, layout: SplitLayout) -> str | None:
    for part in reversed(relative.parts):
        for word, split in layout.splits.items():
            if _has_word(part.casefold(), word):
                return split
    return None


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", text) is not None


def _nothing_in(raw: Path, layout: SplitLayout, unread: list[str]) -> str:
    words = " or ".join(dict.fromkeys(layout.splits.values()))
    there = f"; not read: {', '.join(unread[:4])}" if unread else ""
    kinds = ", ".join(FORMATS)
    return f"{raw} holds no {words} file; expected names like train.jsonl with one of {kinds} (.gz){there}"


def _refuse_several_formats(raw: Path, found: dict[str, list[Path]]) -> None:
    for split, files in found.items():
        if len({format_of(file) for file in files}) > 1:
            names = ", ".join(file.name for file in files[:4])
            raise InputError(f"{raw} holds split '{split}' in several formats: {names}; pass one with --raw")
