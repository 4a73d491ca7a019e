"""Whatever a reward function of somebody else's does, its failure is a status and never a zero."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from rewardkit import Sample, Scorer
from rewardkit.errors import InputError
from rewardkit.foreign import client, load_reward
from rewardkit.registry import Registry
from rewardkit.types import Score
from tests.living import until

FILE = """
import asyncio, ctypes, gc, math, os, re, signal, sys, threading, time

def do(what):
    if what == "raise": raise ValueError("no\\nmore")
    if what == "exit": raise SystemExit(0)
    if what == "interrupt": raise KeyboardInterrupt
    if what == "os_exit": os._exit(0)
    if what == "segfault": ctypes.string_at(0)
    if what == "hang": time.sleep(1e6)
    if what == "hang_in_c": re.match(r"(a+)+$", "a" * 60 + "b")
    if what == "nan": return math.nan
    if what == "inf": return -math.inf
    if what == "huge": return 10 ** 400
    if what == "none": return None
    if what == "text": return "1.0"
    if what == "keyless": return {"value": 1.0}
    if what == "none_in_dict": return {"score": None}
    if what == "list": return []
    if what == "object": return object()
    if what == "half": return {"score": 1.0, "note": "\\ud800", "nan": math.nan}
    if what == "print": print("x" * 100_000_000)
    if what == "gigabyte": return "x" * 1_000_000_000
    if what == "gigabyte_beside": return {"score": 1.0, "note": "x" * 1_000_000_000}
    if what == "fork":
        if os.fork() == 0: time.sleep(1e6)
    if what == "fork_back": os.fork()
    if what == "close": os.close(1); os.close(2); sys.stdout.close()
    if what == "chdir": os.chdir("/")
    if what == "alarm": signal.setitimer(signal.ITIMER_REAL, 0.01)
    if what == "thread": threading.Thread(target=time.sleep, args=(1e6,)).start()
    if what == "recursion": return do(what)
    if what == "lost": return asyncio.sleep(0)
    return 1.0

def compute_score(data_source, solution_str, ground_truth, extra_info=None): return do(solution_str)
async def later(data_source, solution_str, ground_truth, extra_info=None): return do(solution_str)
"""

FINE = ("fine", "half", "fork_back", "close", "chdir", "alarm", "thread")
LARGE = {"print": "ok", "gigabyte_beside": "ok", "gigabyte": "error"}
TIMEOUTS = ("hang", "hang_in_c")
ERRORS = (
    *("raise", "exit", "interrupt", "os_exit", "segfault", "nan", "inf", "huge", "none", "text", "keyless"),
    *("none_in_dict", "list", "object", "recursion", "lost"),
)


SOME = ("fine", "fork_back", "alarm", "raise", "exit", "os_exit", "segfault", "nan", "lost", "hang")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "faults"), [("compute_score", (*FINE, *ERRORS, *TIMEOUTS, "fork")), ("later", SOME)]
)
def test_no_fault_becomes_a_zero_and_none_touches_another_row(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch, name: str, faults: tuple[str, ...]
) -> None:
    monkeypatch.setenv("FAULTS_OF", str(tmp_path))
    (tmp_path / "theirs.py").write_text(FILE)
    load_reward(f"x={tmp_path}/theirs.py:{name}")
    asked = [what for fault in faults for what in (fault, "fine")]
    with Scorer(workers=2, timeout_s=3.0) as scorer:
        found = scorer.score_batch([Sample("x", what, "") for what in asked])
    wrong = [(what, score) for what, score in zip(asked, found, strict=True) if score.status != _due(what)]
    assert wrong == []
    assert all(score.score == 1.0 for score in found if score.ok)
    _nothing_is_left(tmp_path)


@pytest.mark.slow
def test_a_gigabyte_is_no_zero_and_reaches_nobody(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "theirs.py").write_text(FILE)
    load_reward(f"x={tmp_path}/theirs.py:compute_score")
    with Scorer(workers=1, timeout_s=60.0) as scorer:
        found = [scorer.score(Sample("x", what, "")) for what in LARGE]
    assert [score.status for score in found] == list(LARGE.values())
    assert max(len(score.detail or "") for score in found) < 1_000


def test_rows_that_are_sent_ahead_get_their_own_scores_whatever_their_sizes(
    tmp_path: Path, registry: Registry
) -> None:
    (tmp_path / "theirs.py").write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return {'score': len(solution_str), 'note': solution_str[:300]}\n"
    )
    load_reward(f"x={tmp_path}/theirs.py:compute_score")
    draw = random.Random(0)
    texts = [draw.choice("aä字") * int(10 ** draw.uniform(0, 3.5)) for _ in range(1_000)]
    texts[::100] = ["b" * 300_000] * 10  # more than a pipe holds
    with Scorer(workers=1) as scorer:
        found = scorer.score_batch([Sample("x", text, "") for text in texts])
    assert [score.score for score in found] == [len(text) for text in texts]


def _due(what: str) -> str:
    return "timeout" if what in TIMEOUTS else "error" if what in ERRORS else "ok"


def _nothing_is_left(folder: Path) -> None:
    """No process that was started meanwhile, by us or by a reward, lives on."""
    started = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get("FAULTS_OF") == str(folder):
                started.append(process)
    _, alive = psutil.wait_procs(started, timeout=20)
    assert alive == []


def test_an_import_that_hangs_is_named_and_not_tried_again(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    theirs = tmp_path / "theirs.py"
    theirs.write_text(f"import time\nopen({str(tmp_path / 'starts')!r}, 'a').write('x')\ntime.sleep(1e6)\n")
    monkeypatch.setattr(client, "_NOTE_S", 0.1)
    monkeypatch.setenv("REWARDKIT_LOAD_TIMEOUT_S", "3")
    with pytest.raises(InputError, match=r"theirs\.py was still loading after 3 s.*REWARDKIT_LOAD_TIMEOUT_S"):
        load_reward(f"x={theirs}")
    assert (tmp_path / "starts").read_text() == "x"
    assert "theirs.py" in caplog.text


OWNER = """
import sys
from rewardkit import Sample, Scorer
from rewardkit.foreign import load_reward
load_reward("x=" + sys.argv[1])
Scorer(workers=1).score(Sample("x", "", ""))
"""
CHILDREN = """
import subprocess, sys
child = [sys.executable, "-c", "import time; time.sleep(1e6)"]
subprocess.Popen(child)
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    subprocess.Popen(child)
    open(sys.argv[1] + ".called", "w")
    while True: pass
"""


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_what_a_reward_has_started_dies_with_whoever_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blow: signal.Signals
) -> None:
    (tmp_path / "theirs.py").write_text(CHILDREN.replace("sys.argv[1]", repr(str(tmp_path / "it"))))
    monkeypatch.setenv("FAULTS_OF", str(tmp_path))
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path / "theirs.py")])
    until((tmp_path / "it.called").exists)
    owner.send_signal(blow)
    owner.wait()
    _nothing_is_left(tmp_path)


def test_a_list_of_another_length_fails_for_all_of_its_rows(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "theirs.py").write_text("def f(completions, **kwargs): return [1.0, 1.0]\n")
    load_reward(f"x={tmp_path}/theirs.py:f")
    with Scorer(workers=1) as scorer:
        score: Score = scorer.score(Sample("x", "", ""))
    assert score.status == "error" and "2 results for 1 rows" in str(score.detail)
