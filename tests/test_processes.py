"""What supervisors share: a started process has our modules and clean pipes, and ends with its parent."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rewardkit import processes
from rewardkit.errors import InputError
from tests.living import alive, until

CHILD = """
import os, subprocess, sys, time
from rewardkit import processes

def echo(parent):
    requests, answers = processes.take_standard_streams()
    print("not for the pipe")
    answers.write(requests.readline() + str(parent).encode())
    answers.flush()

def family(parent):
    grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print(grandchild.pid, flush=True)
    time.sleep(60)

def faithful(parent):
    processes.die_with_parent(parent)
    print(os.getpid(), flush=True)
    time.sleep(60)

def orphan(parent):
    print(processes.die_with_parent(parent + 1), flush=True)
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rewardkit_child.py").write_text(CHILD)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_a_process_has_our_modules_and_its_pipe_holds_answers_only(child: None) -> None:
    process = processes.start_python("rewardkit_child:echo", stderr=subprocess.DEVNULL)
    said, _ = process.communicate(b"hello\n")
    assert said == b"hello\n" + str(os.getpid()).encode()


def test_what_a_process_started_is_killed_with_it(child: None) -> None:
    process = processes.start_python("rewardkit_child:family")
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())
    processes.kill_group(process)
    assert process.wait() == -signal.SIGKILL
    until(lambda: not alive(grandchild))
    processes.kill_group(process)  # once more does no harm


def test_a_process_ends_when_its_parent_is_killed(child: None) -> None:
    start = "from rewardkit import processes; p = processes.start_python('rewardkit_child:faithful');"
    wait = "import sys; sys.stdout.buffer.write(p.stdout.readline()); sys.stdout.flush(); p.wait()"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    command = [sys.executable, "-c", start + wait]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
    until(lambda: not alive(pid))


def test_a_process_learns_that_its_parent_died_before_it_asked(child: None) -> None:
    process = processes.start_python("rewardkit_child:orphan")
    assert process.communicate()[0] == b"False\n"


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_looked_for_after_large_imports_as_before(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(ImportError), processes.large_imports():
            assert not gc.isenabled()
            raise ImportError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_what_large_imports_leave_is_searched_for_garbage_when_the_interpreter_ends_and_not_before() -> None:
    script = """
import atexit, gc
from rewardkit.processes import large_imports
atexit.register(lambda: print(gc.get_freeze_count()))
with large_imports():
    import decimal
print(any(found is decimal.Decimal.__dict__ for found in gc.get_objects()), gc.get_freeze_count() > 10_000)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "False True\n0\n"


@pytest.mark.parametrize("given", ["nan", "inf", "0", "-1", "long"])
def test_a_time_limit_of_loading_that_is_no_number_is_refused(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(processes.LOAD_TIMEOUT, given)
    with pytest.raises(InputError, match=f"={given}: expected "):
        processes.load_timeout_s()
