"""Publishes a folder of new files atomically.

Readers see either all new files or none, even if the process is killed.

New files are written to a hidden folder next to the target. If the target does not exist, a single rename
creates it. If it exists, the files to keep are linked into the new folder, and
the two folders are exchanged with `renameat2`. If an exchange is impossible (the target is a mount or the
current folder, or contains other folders), the files are renamed one by one according to a journal. After an
interruption, the next run completes the journal. This module does not depend on parquet.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from rewardkit.errors import InputError
from rewardkit.files.publishing import sole_writer, sync, why_unwritable

_NEW = "new"
_JOURNAL = "journal.json"
_SHARD = re.compile(r"\d{5}-of-\d{5}\.parquet")
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextlib.contextmanager
def staging(out_dir: Path, outdated: Callable[[Path], bool] = lambda path: False) -> Iterator[Path]:
    """Yield an empty folder, and publish its files in `out_dir` in one step at the end of the block.

    Existing files in `out_dir` are kept, except the shards of a split that is now a single file (or vice
    versa) and top-level files that are outdated. After an error, or if the process is killed at any moment,
    `out_dir` is either unchanged or complete. If the process is killed, the next run cleans up.

    Args:
        out_dir: Folder in which the files are published.
        outdated: Function that returns True for an existing file that the new files make obsolete.

    Raises:
        InputError: The output folder cannot be written, or another run is writing to it.
    """
    out = out_dir.resolve()
    with explained(out_dir):
        made = _make_parents(out)
    try:
        with _working(_work_folder(out), out_dir) as work, explained(out_dir):
            _finish_journal(work, out)
            new = work / _NEW
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            yield new
            _publish(new, out, work, outdated)
    except BaseException:
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise


def _make_parents(out: Path) -> list[Path]:
    """Create the missing parent folders of the target and return their paths, deepest first."""
    missing = [p for p in out.parents if not p.exists()]
    there = next(p for p in (out, *out.parents) if p.exists())
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if (why := why_unwritable(there)) is not None:
        raise why
    out.parent.mkdir(parents=True, exist_ok=True)
    return missing


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Convert an OSError that is raised in the block into an InputError with advice."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"cannot write to {path}: {why}; fix this, or pass another --out") from error


def _work_folder(out: Path) -> Path:
    """Return the path of the working folder.

    The folder is next to the target, or inside the target if the target is a mount or its parent is not
    writable.
    """
    beside = out.parent / f".{out.name}.prep"
    inside = out.exists() and (os.path.ismount(out) or not os.access(out.parent, os.W_OK))
    return out / ".prep" if inside else beside


@contextlib.contextmanager
def _working(work: Path, out_dir: Path) -> Iterator[Path]:
    """Create the working folder for the block and lock the output folder against other runs.

    The working folder is removed after the block, unless it contains an unfinished journal.
    """
    inside = work.parent == out_dir.resolve()
    with sole_writer(out_dir.resolve(), work.with_name(".lock") if inside else None):
        with explained(out_dir):
            work.mkdir(exist_ok=True)
        try:
            yield work
        finally:
            if not (work / _JOURNAL).exists():
                shutil.rmtree(work, ignore_errors=True)


def _publish(new: Path, out: Path, work: Path, outdated: Callable[[Path], bool]) -> None:
    for folder in (new, *(p for p in new.rglob("*") if p.is_dir())):
        sync(folder)
    _refuse_folders_in_the_way(new, out)
    if not out.exists():
        os.rename(new, out)
        sync(out.parent)
        return
    stale = _stale_files(new, out)
    tops = {path.relative_to(out) for path in out.iterdir() if path.is_file() and outdated(path)}
    stale |= {name for name in tops if not (new / name).exists()}
    if not (_can_be_exchanged(new, out, stale) and _exchange(new, out, stale)):
        _write_journal(new, work, stale)
        _finish_journal(work, out)


def _refuse_folders_in_the_way(new: Path, out: Path) -> None:
    for path in new.rglob("*"):
        there = out / path.relative_to(new)
        if there.is_dir() and not path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _can_be_exchanged(new: Path, out: Path, stale: set[Path]) -> bool:
    """Return True if the target can be exchanged with the new folder without loss.

    The target must not contain other folders, must not be a mount, and must not be or contain the current
    folder.
    """
    if os.path.ismount(out) or out == Path.cwd() or out in Path.cwd().parents:
        return False
    folders = (p.relative_to(out) for p in out.rglob("*") if p.is_dir() and not p.is_symlink())
    return all(
        (new / folder).is_dir() or all(p.relative_to(out) in stale for p in (out / folder).iterdir())
        for folder in folders
    )


def _stale_files(new: Path, out: Path) -> set[Path]:
    """Return old files that the new splits replace under other names, such as a file replaced by shards."""
    stale: set[Path] = set()
    for name in {p.relative_to(new) for p in _files(new) if p.suffix == ".parquet"}:
        folder = name.parent if _SHARD.fullmatch(name.name) else name.with_suffix("")
        found = [folder.with_name(f"{folder.name}.parquet")] if folder.name else []
        if (out / folder).is_dir():
            found += [folder / p.name for p in (out / folder).iterdir() if _SHARD.fullmatch(p.name)]
        stale |= {path for path in found if (out / path).is_file() and not (new / path).exists()}
    return stale


def _exchange(new: Path, out: Path, stale: set[Path]) -> bool:
    """Link the files to keep into the new folder and exchange the folders. Return False if this fails."""
    shutil.copymode(out, new)
    try:
        for path in _files(out):
            relative = path.relative_to(out)
            if relative not in stale and not (new / relative).exists():
                os.link(path, new / relative, follow_symlinks=False)
        sync(new)
        _rename_exchange(new, out)
    except OSError:
        for path in _files(new):  # The links to old files are removed from the new folder.
            there = out / path.relative_to(new)
            if there.exists() and path.samefile(there):
                path.unlink()
        return False
    sync(out.parent)
    _clear(new, out, stale)
    return True


def _clear(old: Path, out: Path, stale: set[Path]) -> None:
    """Move files that were added to the old folder during the exchange into the published folder."""
    for path in _files(old):
        relative = path.relative_to(old)
        if relative not in stale and not (out / relative).exists():
            (out / relative).parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, out / relative)


def _rename_exchange(one: Path, other: Path) -> None:
    """Exchange the names of two folders atomically.

    Raises:
        OSError: The kernel or the file system does not support the exchange.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    names = (os.fsencode(one), os.fsencode(other))
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _write_journal(new: Path, work: Path, stale: set[Path]) -> None:
    moves = [str(path.relative_to(new)) for path in _files(new)]
    removes = sorted(map(str, stale))
    partial = work / f"{_JOURNAL}.partial"
    with open(partial, "w") as file:
        json.dump({"moves": moves, "removes": removes}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, work / _JOURNAL)
    sync(work)


def _finish_journal(work: Path, out: Path) -> None:
    """Complete the moves and removals in the journal and delete it. Without a journal, do nothing."""
    journal = work / _JOURNAL
    if not journal.exists():
        return
    plan = json.loads(journal.read_text())
    for name in plan["moves"]:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # The interrupted run has already moved the file.
            os.replace(work / _NEW / name, out / name)
    for name in plan["removes"]:
        (out / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            (out / name).parent.rmdir()
    sync(out)
    journal.unlink()


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir())
