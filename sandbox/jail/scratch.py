"""Measures and empties the working directory of runs at levels without a file system of their own.

The directory is a folder on the host's disk. Its content may be hostile. Files and folders may have any mode,
may change while they are being counted, and may be nested so deeply that their paths are too long to use.
"""

from __future__ import annotations

import os
import stat

PREFIX = "sandbox-scratch-"
"""Prefix of the names of working directories. Only folders with this prefix are ever emptied."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def is_overfull(folder: str, most_bytes: int, most_entries: int) -> bool:
    """Return True if `folder` has more content than allowed, or content that cannot be counted."""
    folders = [folder]
    entries = used = 0
    for each in folders:  # the loop appends to this list
        try:
            for entry in os.scandir(each):
                found = entry.stat(follow_symlinks=False)
                entries += 1
                used += found.st_blocks * 512
                if stat.S_ISDIR(found.st_mode):
                    folders.append(entry.path)
                if entries > most_entries or used > most_bytes:
                    return True
        except (FileNotFoundError, NotADirectoryError):
            continue  # the run has just removed the folder
        except OSError:
            return True
    return False


def empty(folder: str) -> None:
    """Remove everything in `folder` without following links, even while processes change it.

    Raises:
        ValueError: `folder` is not the absolute path of a working directory. Nothing is removed.
    """
    name = os.path.basename(folder)
    if not os.path.isabs(folder) or not name.startswith(PREFIX):
        raise ValueError(f"{folder!r} was not created by the sandbox, so the sandbox does not empty it")
    top = os.open(folder, _FOLDER)
    try:
        while names := os.listdir(top):
            for name in names:
                _remove(name, top)
    finally:
        os.close(top)


def _remove(name: str, top: int) -> None:
    """Remove an entry of the top folder. Subfolders are first moved to the top, so that paths stay short."""
    if not _is_left(name, top):
        return
    folder = _open_folder(name, top)
    try:
        for inner in os.listdir(folder):
            if _is_left(inner, folder):
                # Opening a folder also gives it the permissions needed to move it.
                os.close(_open_folder(inner, folder))
                os.rename(inner, f"moved-{os.urandom(8).hex()}", src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _is_left(name: str, folder: int) -> bool:
    """Remove an entry unless it is a folder. Return True if the entry is a folder."""
    try:
        os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        return True
    return False


def _open_folder(name: str, parent: int) -> int:
    """Open a folder with all permissions, without following links."""
    found = os.open(name, os.O_PATH | _FOLDER, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700)
        return os.open(".", _FOLDER, dir_fd=found)
    finally:
        os.close(found)
