"""The working directory of runs at a level without a file system of their own: a folder on the host's disk.

Says whether a run has put too much into it, and empties it. Whatever is in it is hostile: it may be changed
while it is counted, lie deeper than a path can say, and have any mode.
"""

from __future__ import annotations

import os
import stat

PREFIX = "sandbox-scratch-"
"""What the names of such folders begin with. No other folder is ever emptied."""


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
    """Remove everything in `folder`, once nothing runs in it any more.

    Raises:
        ValueError: it is not the absolute path of a folder that was made to work in. Nothing is removed.
    """
    name = os.path.basename(folder)
    if not os.path.isabs(folder) or not name.startswith(PREFIX) or not _is_folder(folder):
        raise ValueError(f"{folder!r} is no folder of the sandbox's own; it is not emptied")
    moved = 0
    while names := os.listdir(folder):
        for name in names:
            path = os.path.join(folder, name)
            if _is_folder(path):
                moved = _empty_one(path, folder, moved)
                os.rmdir(path)
            else:
                os.unlink(path)


def _empty_one(path: str, top: str, moved: int) -> int:
    """Remove the files in a folder and move the folders in it to the top: no path gets long."""
    os.chmod(path, 0o700)
    for inner in os.listdir(path):
        below = os.path.join(path, inner)
        if not _is_folder(below):
            os.unlink(below)
            continue
        os.chmod(below, 0o700)  # else its owner could not move it
        while os.path.lexists(target := os.path.join(top, f"moved-{moved}")):
            moved += 1
        os.rename(below, target)
    return moved


def _is_folder(path: str) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)
