"""Progress of a scoring run on disk: results of finished chunks, scores of others, and the run's fingerprint.

The folder `.NAME.progress` beside the output exists during a run and remains after an interrupted run.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from rewardkit.errors import InputError
from rewardkit.files.publishing import published
from rewardkit.offline.chunk import ChunkResult
from rewardkit.types import Score

_results = msgspec.msgpack.Decoder(ChunkResult)
_scores = msgspec.msgpack.Decoder(list[Score | None])


class Progress:
    """Progress folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, out: Path, fingerprint: dict[str, Any], *, resume: bool, restart: bool) -> Progress:
        """Create the progress folder for an output, or open the folder of an interrupted run.

        Raises:
            InputError: The folder exists and neither `resume` nor `restart` is True, it belongs to a
                different run, or it cannot be written.
        """
        folder = _folder_of(out)
        about = folder / "run.json"
        if restart and folder.exists():
            shutil.rmtree(folder)
        if about.exists():
            _check_same(about, fingerprint, out, resume)
            return cls(folder)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write to {out.parent}: {error.strerror}") from None
        with published(about) as file:
            file.write(msgspec.json.encode(fingerprint))
        return cls(folder)

    @staticmethod
    def left_by(out: Path) -> bool:
        """Return True if an interrupted run for this output has left a progress folder."""
        return (_folder_of(out) / "run.json").exists()

    def has(self, index: int) -> bool:
        """Return True if the result of the chunk is saved."""
        return self._path(index).exists()

    def load(self, index: int) -> ChunkResult:
        """Return the result of a finished chunk."""
        return _results.decode(self._path(index).read_bytes())

    def save(self, index: int, result: ChunkResult) -> None:
        """Save the result of a chunk."""
        with published(self._path(index)) as file:
            file.write(msgspec.msgpack.encode(result))

    def save_scores(self, index: int, scores: list[Score | None]) -> None:
        """Save the scores of a chunk that is not finished, with None for missing scores."""
        with published(self._path(index, "scores")) as file:
            file.write(msgspec.msgpack.encode(scores))

    def load_scores(self, index: int) -> list[Score | None] | None:
        """Return the scores that `save_scores` saved, or None if there are none."""
        path = self._path(index, "scores")
        return _scores.decode(path.read_bytes()) if path.exists() else None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the folder if the run is complete or has no scores. Otherwise keep it."""
        if kind is None or not any(self.folder.glob("*.msgpack")):
            shutil.rmtree(self.folder)

    def _path(self, index: int, kind: str = "") -> Path:
        return self.folder / f"{index:06d}{kind}.msgpack"


def _folder_of(out: Path) -> Path:
    return out.with_name(f".{out.name}.progress")


def _check_same(about: Path, fingerprint: dict[str, Any], out: Path, resume: bool) -> None:
    if not resume:
        raise InputError(
            f"an earlier run that wrote to {out} was interrupted; pass --resume to continue that run, "
            "or --restart to discard its results"
        )
    before = msgspec.json.decode(about.read_bytes())
    now = msgspec.json.decode(msgspec.json.encode(fingerprint))
    changed = [key for key in now if before.get(key) != now[key]]
    if changed:
        raise InputError(
            f"cannot resume {out}: {', '.join(changed)} changed since the interrupted run; use the earlier "
            "values, or pass --restart to discard the results of that run"
        )
