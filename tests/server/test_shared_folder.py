"""What a killed server leaves behind is taken away by the next one, and what a living one has is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rewardkit.server.shared_folder import shared_folder, sweep

HOLDS = """
import os, sys
from rewardkit.server.shared_folder import shared_folder
with shared_folder() as folder:
    if sys.argv[1] == "forks":
        reading, writing = os.pipe()
        if not os.fork():
            os.close(writing)
            print(folder, flush=True)
            sys.stdin.read()
            os._exit(0)
        os.kill(os.getpid(), 9)
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holder(parent: Path, how: str) -> tuple[subprocess.Popen[str], Path]:
    """A process that holds a folder, or has forked one that does and was killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, how],
        env={**os.environ, "TMPDIR": str(parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.communicate()  # what it has forked reads the same input, and ends with it


@pytest.mark.parametrize("how", ["lives", "forks"])
def test_only_what_no_living_process_holds_is_swept(parent: Path, how: str) -> None:
    process, folder = holder(parent, how)
    (folder / "0.sock").touch()
    if how == "forks":
        process.wait()
    with shared_folder() as own:
        sweep(parent)
        assert folder.is_dir()
        assert own.is_dir()
    assert not own.exists()
    process.kill()
    end(process)
    assert folder.is_dir()
    with shared_folder():
        assert not folder.exists()


def test_what_is_not_known_to_be_left_behind_is_left_alone(parent: Path) -> None:
    unlocked = parent / "rewardkit-serve-made-by-another-version"
    unlocked.mkdir()
    elsewhere = parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "owner").touch()
    linked = parent / "rewardkit-serve-linked"
    linked.mkdir()
    (linked / "owner").symlink_to(elsewhere / "owner")
    sweep(parent)
    assert unlocked.is_dir() and elsewhere.is_dir() and linked.is_dir()
