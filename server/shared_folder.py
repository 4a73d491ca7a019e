"""The folder through which the processes of one server find each other, and what became of earlier ones.

A server that is killed leaves its folder behind; the next one of the same user takes it away.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "rewardkit-serve-"
_LOCK = "owner"
"""A file that the supervisor and those that it forks hold locked for as long as any of them lives."""


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """Make a folder that is there while this process lives, or one forked within the context."""
    sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = _locked(folder / f"{_LOCK}.new")
    assert lock is not None
    (folder / f"{_LOCK}.new").rename(folder / _LOCK)  # nobody ever sees it unlocked while we live
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep(parent: Path) -> None:
    """Remove the folders of servers of which no process lives; what cannot be told is left alone."""
    for folder in parent.glob(f"{_PREFIX}*"):
        lock = _locked(folder / _LOCK, create=False)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _locked(path: Path, *, create: bool = True) -> int | None:
    """Open and lock a file of ours; None where it is not ours, not there, or locked by another."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | (os.O_CREAT if create else 0)
    try:
        lock = os.open(path, flags, 0o600)
    except OSError:
        return None
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
    except OSError:
        pass
    os.close(lock)
    return None
