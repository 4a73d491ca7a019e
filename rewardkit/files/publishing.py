"""Atomic writing of files, and locks that let only one run at a time write an output."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rewardkit.errors import InputError


@contextlib.contextmanager
def published(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path` for the block, then sync it to disk and rename it to `path`.

    If the block raises, the temporary file is removed and `path` is unchanged.

    Raises:
        InputError: The folder does not exist or is not writable, or the disk is full.
    """
    require_folder_of(path)
    temporary = path.with_name(f".{path.name}.partial")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def sole_writer(
    out: Path, lock: Path | None = None, *, patience_s: float = 0.0, instead: str = "pass another --out"
) -> Iterator[None]:
    """Hold a lock on an output file or folder for the block. The lock is released even if the run is killed.

    Args:
        out: Output file or folder.
        lock: File to lock, by default `.NAME.lock` next to the output.
        patience_s: Seconds to wait for another run to end.
        instead: Alternative to waiting that the error message suggests.

    Raises:
        InputError: Another run is writing the output, or its folder does not exist or is not writable.
    """
    path = lock or out.with_name(f".{out.name}.lock")
    require_folder_of(path)
    try:
        descriptor = _lock(path, time.monotonic() + patience_s)
    except BlockingIOError:
        raise InputError(
            f"another run is writing to {out}; wait until that run has ended, or {instead}"
        ) from None
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(path: Path, until: float) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if time.monotonic() >= until:
                raise
            time.sleep(0.1)
            continue
        except OSError:
            # On file systems without locks, writing without a lock is better than failing.
            return descriptor
        with contextlib.suppress(FileNotFoundError):
            if os.stat(path).st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        os.close(descriptor)  # The previous run has just removed the lock file.


def require_folder_of(path: Path) -> None:
    """Check that the folder of a file exists and is writable.

    A missing folder is not created, since its name has probably been mistyped.

    Raises:
        InputError: The folder does not exist, is not a folder, or is not writable.
    """
    folder = path.parent
    if not os.path.isdir(folder):
        if os.path.exists(folder):
            raise InputError(f"cannot write {path}: {folder} is not a folder; choose another name")
        raise InputError(
            f"cannot write {path}: the folder {folder} does not exist; create it, or choose another name"
        )
    if (why := why_unwritable(folder)) is not None:
        raise InputError(f"cannot write {path}: the folder {folder} is not writable ({why.strerror})")


def why_unwritable(folder: Path) -> OSError | None:
    """Return the error that writing to a folder would raise, or None if the folder is writable."""
    if os.access(folder, os.W_OK):
        return None
    is_read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
    number = errno.EROFS if is_read_only else errno.EACCES
    return OSError(number, os.strerror(number))


def make_folder(folder: Path) -> None:
    """Create a folder for a run, including its parents.

    Raises:
        InputError: The folder cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder {folder}: {error.strerror or error}") from None


def exists_already(path: Path, instead: str = "pass --force to replace the output") -> InputError:
    """Return the error for an existing output that must not be replaced."""
    return InputError(f"{path} already exists; choose another name, or {instead}")


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, has been written to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
