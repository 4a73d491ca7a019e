"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rewardkit.errors import InputError


@contextlib.contextmanager
def published(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`; on leaving, sync it to disk and rename it to `path`.

    If the block raises, the temporary file is removed and `path` is as it was.

    Raises:
        InputError: the folder cannot be made or written, or the disk is full.
    """
    make_folder_of(path)
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


def make_folder_of(path: Path) -> None:
    """Make the folder that a file is to be in.

    Raises:
        InputError: it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def exists_already(path: Path) -> InputError:
    """Return the error for an output that is not to be replaced."""
    return InputError(f"{path} exists; choose another --out, or pass --force to replace it")


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
