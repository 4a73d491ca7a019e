"""Tests that are run in several processes count as those that one process runs, whatever happens to a process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

CONFTEST = """
import sys
from tests.forks import run_in_forks

found = sys.stderr
print("said while collecting")

def pytest_runtestloop(session):
    run_in_forks(session, 2, lambda item: item.path.name)
    return True
"""
FILES = {
    "test_a.py": """
import os, sys, warnings
from pathlib import Path
import pytest

LOG = Path(__file__).with_name("log")

def note(name):
    with LOG.open("a") as log:
        print(name, os.getpid(), file=log)

@pytest.fixture(scope="module", autouse=True)
def whole():
    note("opened")
    yield
    note("closed")

@pytest.mark.parametrize("i", range(3))
def test_in_order(i, tmp_path):
    note(i)
    (tmp_path / "mine").write_text("")

def test_fails():
    print("what it printed")
    print("to the stream of before", file=sys.modules["conftest"].found, flush=True)
    warnings.warn("look out")
    assert [1, 2] == [1, 3]

@pytest.mark.skip(reason="not today")
def test_is_skipped():
    pass
""",
    "test_b.py": """
import os, signal, warnings

def test_before():
    warnings.warn("it is tired")

def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)

def test_after():
    pass
""",
    "test_c.py": "import os\ndef test_dies_last():\n    os._exit(7)\n",
    "test_d.py": "def test_last():\n    pass\n",
}


@dataclass(frozen=True)
class _Run:
    folder: Path
    code: int
    said: str

    def outcomes(self) -> dict[str, str]:
        """What the file of results says of each test."""
        cases = ElementTree.parse(self.folder / "results.xml").getroot().iter("testcase")
        return {case.get("name", ""): next((found.tag for found in case), "passed") for case in cases}


def _run(folder: Path, *words: str) -> _Run:
    for name, text in FILES.items() | {("conftest.py", CONFTEST), ("pytest.ini", "[pytest]")}:
        (folder / name).write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "-p",
        "no:cacheprovider",
        "--junitxml=results.xml",
    ]
    place = {"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run([*command, *words], cwd=folder, env=place, capture_output=True, text=True)
    return _Run(folder, ended.returncode, ended.stdout + ended.stderr)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> _Run:
    return _run(tmp_path_factory.mktemp("suite"))


def test_each_test_is_run_once_and_its_outcome_told(run: _Run) -> None:
    passed = dict.fromkeys(["test_in_order[0]", "test_in_order[1]", "test_in_order[2]"], "passed")
    passed |= dict.fromkeys(["test_before", "test_after", "test_last"], "passed")
    failed = dict.fromkeys(["test_fails", "test_dies", "test_dies_last"], "failure")
    assert run.outcomes() == passed | failed | {"test_is_skipped": "skipped"}, run.said
    assert run.code == pytest.ExitCode.TESTS_FAILED
    assert "3 failed, 6 passed, 1 skipped, 2 warnings" in run.said


def test_a_file_is_run_by_one_process_in_order_with_its_fixtures_opened_once(run: _Run) -> None:
    noted = [line.split() for line in (run.folder / "log").read_text().splitlines()]
    assert [name for name, _ in noted] == ["opened", "0", "1", "2", "closed"]
    assert len({pid for _, pid in noted}) == 1


def test_a_failure_comes_with_what_was_compared_and_printed_and_warned_of(run: _Run) -> None:
    assert "At index 1 diff: 2 != 3" in run.said
    assert "what it printed" in run.said
    assert "to the stream of before" in run.said
    assert "look out" in run.said


def test_what_ran_when_a_process_died_is_told_with_the_signal_or_the_code(run: _Run) -> None:
    assert "ended with -9" in run.said
    assert "ended with 7" in run.said


def test_the_first_failure_ends_all_where_that_is_asked_for(tmp_path: Path) -> None:
    ended = _run(tmp_path, "-x", "test_b.py", "test_d.py")
    assert ended.code == pytest.ExitCode.TESTS_FAILED
    assert "stopping after 1 failures" in ended.said
    assert "test_after" not in ended.outcomes()
