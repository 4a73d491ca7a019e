"""Where there is no file system of a run's own, it works in a folder that is bounded, and empty for the next run."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit.sandbox import Job, Limits, Sandbox
from rewardkit.sandbox.jail import scratch
from rewardkit.sandbox.levels import why_not
from rewardkit.sandbox.outcome import IsolationLevel
from rewardkit.sandbox.worker import Worker
from tests.living import alive, descendants, until

LEFT = {
    "a file": "open('left', 'w').write('x')",
    "a folder that nobody may read": "import os\nos.mkdir('a', 0o300)\nos.mkdir('a/b', 0)\nopen('a/x', 'w')",
    "a nest deeper than a path can say": "import os\nfor _ in range(60): os.mkdir('d' * 200); os.chdir('d' * 200)",
    "links to what is outside": "import os\nos.symlink('/etc', 'l')\nos.mkdir('d')\nos.symlink('/', 'd/l')",
}
TOO_MUCH = {
    "bytes": "for i in range(10_000): open(str(i), 'wb').write(bytes(1 << 20))",
    "files": "for i in range(1_000_000): open(str(i), 'w').close()",
    "folders that hide theirs": "import os, time\nfor i in range(1_000_000): os.mkdir(f'{i}', 0o300)",
}


@pytest.fixture(scope="module")
def guard() -> Iterator[Sandbox]:
    if reason := why_not("guard"):
        pytest.skip(reason)
    with Sandbox("guard") as sandbox:
        yield sandbox


def test_programs_write_temporary_files(guard: Sandbox) -> None:
    program = "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f:\n    f.write('x')\nopen('a', 'w').write('y')\nprint(open('a').read())"
    assert guard.run(program).stdout == b"y\n"


@pytest.mark.parametrize("what", LEFT)
def test_what_a_run_leaves_is_gone_for_the_next(guard: Sandbox, what: str) -> None:
    assert guard.run(LEFT[what]).status in ("ok", "output_limit")  # what cannot be counted is too much
    assert guard.run("import os\nprint(os.listdir('.'))").stdout == b"[]\n"


@pytest.mark.parametrize("what", TOO_MUCH)
def test_what_writes_too_much_is_ended(guard: Sandbox, what: str) -> None:
    assert guard.run(TOO_MUCH[what]).status == "output_limit"
    assert guard.run("import os\nprint(os.listdir('.'))").stdout == b"[]\n"


def test_nothing_is_left_when_it_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not("guard"):
        pytest.skip(reason)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Sandbox("guard") as sandbox:
        assert sandbox.run("open('a', 'w').write('y')").ok
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["", ".", "/", "kept", "sandbox-scratch-relative"])
def test_no_other_folder_is_ever_emptied(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "listdir", lambda *_: pytest.fail("it looks for what to remove"))
    (tmp_path / "sandbox-scratch-relative").mkdir()
    kept = tmp_path / "kept"
    kept.mkdir()
    with pytest.raises(ValueError, match="created by the sandbox"):
        scratch.empty(str(kept) if name == "kept" else name)


def test_no_link_is_followed_that_replaces_a_folder_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"{scratch.PREFIX}x"
    for inner in (kept := tmp_path / "kept", folder / "d"):
        inner.mkdir(parents=True)
        (inner / "file").touch()
    listdir = os.listdir

    def listed(of: str | int) -> list[str]:
        found = listdir(of)
        if found == ["file"] and not (folder / "d").is_symlink():
            (folder / "d").rename(folder / "e")
            (folder / "d").symlink_to(kept)
        return found

    monkeypatch.setattr(os, "listdir", listed)
    with contextlib.suppress(OSError):
        scratch.empty(str(folder))
    assert listdir(kept) == ["file"]


@pytest.mark.parametrize("level", ["warm", "guard", "none"])
def test_a_run_ends_with_its_server(level: IsolationLevel) -> None:
    if level != "none" and (reason := why_not(level)):
        pytest.skip(reason)
    worker = Worker(level)
    idle = descendants(worker.pid)
    worker.begin(Job(b"while True: pass", limits=Limits(cpu_s=600)))
    until(lambda: len(descendants(worker.pid)) > len(idle))
    below = descendants(worker.pid)
    worker.close()
    until(lambda: not any(alive(pid) for pid in below))


def test_without_isolation_a_program_works_in_such_a_folder_too() -> None:
    with Sandbox("none", allow_unsafe=True) as sandbox:
        outcome = sandbox.run("import os\nprint(os.getcwd())\nopen('left', 'w').write('x')")
        assert scratch.PREFIX in outcome.stdout.decode()
        assert sandbox.run("import os\nprint(os.listdir('.'))").stdout == b"[]\n"
