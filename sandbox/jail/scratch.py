"""The working directory of runs at a level without a file system of their own: a folder on the host's disk.

Says whether a run has put too much into it, and empties it. Whatever is in it is hostile: it may be changed
while it is counted, lie deeper than a path can say, and have any mode.
"""

from __future__ import annotations

import os
import stat

PREFIX = "sandbox-scratch-"
"""What the names of such folders begin with. No other folder is ever emptied."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def is_overfull(folder: str, most_bytes: int, most_entries: int) -> bool:
    """Return whether more is in `folder` than may be, or what cannot be counted."""
    folders = [folder]
    entries = used = 0
    for each in folders:  # which grows
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
            continue  # the run has just removed it
        except OSError:
            return True
    return False


def empty(folder: str) -> None:
    """Remove everything in `folder`, following no link, whatever still changes it meanwhile.

    Raises:
        ValueError: it is not the absolute path of a folder that was made to work in. Nothing is removed.
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
    """Remove an entry of the top folder; the folders in it move up to the top, so that no path gets long."""
    if not _is_left(name, top):
        return
    folder = _open_folder(name, top)
    try:
        for inner in os.listdir(folder):
            if _is_left(inner, folder):
                os.close(_open_folder(inner, folder))  # else its owner could not move it
                os.rename(inner, f"moved-{os.urandom(8).hex()}", src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _is_left(name: str, folder: int) -> bool:
    """Remove an entry unless it is a folder, which is left."""
    try:
        os.unlink(name, dir_fd=folder)
    except IsADirectoryError:
        return True
    return False


def _open_folder(name: str, parent: int) -> int:
    """Open a folder for all that can be done in it; never what a link leads to."""
    found = os.open(name, os.O_PATH | _FOLDER, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{found}", 0o700)
        return os.open(".", _FOLDER, dir_fd=found)
    finally:
        os.close(found)
