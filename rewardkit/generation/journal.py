"""Keeps a journal of a run on disk, to which each finished response is appended as one line.

The first line identifies the run. A killed process leaves at most one incomplete line at the end.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from rewardkit.errors import InputError
from rewardkit.generation.types import Completion
from rewardkit.json_objects import NOT_JSON

_decoder = msgspec.json.Decoder(Completion)


class Journal:
    """Journal next to an output file."""

    def __init__(self, path: Path, file: Any, found: dict[tuple[int, int], Completion]) -> None:
        self.path = path
        self._file = file
        self.found = found
        """Completions from an interrupted run, by (row, sample)."""
        self._empty = not found

    @classmethod
    def open(cls, out: Path, about: dict[str, Any], *, resume: bool, restart: bool) -> Journal:
        """Create a journal, or continue the journal that an interrupted run left.

        Args:
            out: Output file of the run.
            about: Values that identify the run, such as the prompts, the model and the settings.
            resume: True to continue an existing journal.
            restart: True to replace an existing journal.

        Raises:
            InputError: A journal exists and neither `resume` nor `restart` is given, the journal belongs to a
                different run, or the journal cannot be read or written.
        """
        path = out.with_name(f".{out.name}.journal.jsonl")
        if restart:
            path.unlink(missing_ok=True)
        found: dict[tuple[int, int], Completion] = {}
        if path.exists():
            if not resume:
                raise InputError(
                    f"an interrupted run left {path.name}; pass --resume to continue the run, or --restart "
                    "to discard its responses"
                )
            found = _read(path, about)
        try:
            path.touch()
            file = path.open("r+b", buffering=0)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None
        file.seek(_whole_length(path))
        file.truncate()
        if file.tell() == 0:
            file.write(msgspec.json.encode(about) + b"\n")
        return cls(path, file, found)

    def add(self, completion: Completion) -> None:
        """Append a completion to the journal."""
        self._file.write(msgspec.json.encode(completion) + b"\n")
        self._empty = False

    def remove(self) -> None:
        """Delete the journal, which is no longer needed after the output is written."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.fsync(self._file.fileno())
        self._file.close()
        if self._empty:  # a run without any response has nothing to resume
            self.remove()


def _whole_length(path: Path) -> int:
    """Return the number of bytes up to the end of the last complete line."""
    return path.read_bytes().rfind(b"\n") + 1


def _read(path: Path, about: dict[str, Any]) -> dict[tuple[int, int], Completion]:
    whole = path.read_bytes()[: _whole_length(path)]
    lines = whole.splitlines()
    if not lines:
        return {}
    try:
        theirs = msgspec.json.decode(lines[0])
        completions = [_decoder.decode(line) for line in lines[1:]]
    except NOT_JSON as error:
        raise InputError(f"cannot read {path} ({error}); pass --restart to discard this file") from None
    changed = sorted(key for key in {*theirs, *about} if theirs.get(key) != about.get(key))
    if changed:
        raise InputError(
            f"cannot resume: the interrupted run used different values for {', '.join(changed)}; use the "
            "same values, or pass --restart to discard that run's responses"
        )
    return {(one.row, one.sample): one for one in completions if one.error is None}
