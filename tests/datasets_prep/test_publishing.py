"""Publication in one step: after a kill at any moment, all files are of one run."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from rewardkit.datasets_prep.common import publishing
from rewardkit.datasets_prep.common.publishing import staging
from rewardkit.errors import InputError

NAMES = ("train.parquet", "test.parquet", "sft/train.parquet")


def publish(out: Path, generation: str, names: tuple[str, ...] = NAMES) -> None:
    with staging(out) as folder:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(generation)


def found(out: Path) -> set[str]:
    return {(out / name).read_text() if (out / name).exists() else "none" for name in NAMES}


def in_child(work: Callable[[], None]) -> int:
    """Run something in a forked process; return its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at_line(number: int, work: Callable[[], None]) -> None:
    """Do the work, and die by SIGKILL when so many lines of `publishing` have run."""
    left = number

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal left
        if frame.f_code.co_filename != publishing.__file__:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    work()


def prepared(tmp_path: Path, kind: str) -> Path:
    """A target of each kind: none yet, one that is exchanged, one that is not."""
    out = tmp_path / "out"
    if kind != "new":
        publish(out, "old")
        (out / "notes.txt").write_text("mine")
    if kind == "with folders":
        (out / "checkpoints").mkdir()
        (out / "checkpoints" / "1").write_text("mine")
    return out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["new", "exchanged", "with folders"])
def test_a_kill_at_any_line_leaves_one_run_or_what_the_next_completes(tmp_path: Path, kind: str) -> None:
    killed = 0
    for line in range(0, 1000, 11):
        out = prepared(tmp_path / str(line), kind)
        status = in_child(lambda line=line, out=out: killed_at_line(line, lambda: publish(out, "new")))  # type: ignore[misc]
        if status == 0:
            break
        assert status == -signal.SIGKILL
        killed += 1
        if kind != "with folders":
            assert found(out) in ({"old"}, {"new"}, {"none"})
        else:
            with pytest.raises(ZeroDivisionError), staging(out):
                _ = 1 // 0
            assert found(out) in ({"old"}, {"new"})
        if kind != "new":
            assert (out / "notes.txt").read_text() == "mine"
        publish(out, "next")
        assert found(out) == {"next"}
        assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert killed > 5
    assert found(out) == {"new"}


def test_a_reader_beside_a_loop_of_runs_sees_only_whole_ones(tmp_path: Path) -> None:
    out = tmp_path / "out"
    publish(out, "0")
    child = os.fork()
    if child == 0:
        for generation in range(1, 10**9):
            publish(out, str(generation))
    seen: set[str] = set()
    try:
        while len(seen) < 4:
            folder = os.open(out, os.O_RDONLY)  # one folder, whatever its name becomes
            try:
                texts = {read_at(folder, name) for name in NAMES}
            except FileNotFoundError:
                continue  # it was replaced, and is being removed
            finally:
                os.close(folder)
            assert len(texts) == 1
            seen |= texts
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def read_at(folder: int, name: str) -> str:
    with open(name, opener=lambda path, flags: os.open(path, flags, dir_fd=folder)) as file:
        return file.read()


def test_other_files_stay_and_an_error_changes_nothing(tmp_path: Path) -> None:
    out = prepared(tmp_path, "exchanged")
    inode = (out / "notes.txt").stat().st_ino
    with pytest.raises(ZeroDivisionError), staging(out) as folder:
        (folder / "train.parquet").write_text("half")
        _ = 1 // 0
    assert found(out) == {"old"}
    publish(out, "new", ("train.parquet",))
    assert (out / "train.parquet").read_text() == "new"
    assert (out / "test.parquet").read_text() == "old"
    assert (out / "notes.txt").stat().st_ino == inode
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_folder_that_one_stands_in_is_not_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = prepared(tmp_path, "exchanged")
    monkeypatch.chdir(out)
    publish(Path("."), "new")
    assert found(Path(".")) == {"new"}


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    out = prepared(tmp_path, "exchanged")
    (tmp_path / "link").symlink_to(out)
    publish(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert found(out) == {"new"}


def test_without_exchange_the_files_are_moved_by_a_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(publishing, "_rename_exchange", refuse)
    out = prepared(tmp_path, "exchanged")
    publish(out, "new")
    assert found(out) == {"new"}
    assert (out / "notes.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_in_the_way_of_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "out" / "train.parquet").mkdir(parents=True)
    with pytest.raises(InputError, match=r"out.*: Is a directory"):
        publish(tmp_path / "out", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
