"""The server as the init of a container, under signals to whole groups, and beside another on its port."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from rewardkit import AsyncClient, Client, Sample, Scorer
from rewardkit.cli import run
from rewardkit.server.app import create_app
from rewardkit.server.serve import SAME_SIGNAL_S
from tests.living import descendants, state, until
from tests.server.serving import Serving, serving

pytestmark = pytest.mark.slow

ORPHANS = '''
import os, subprocess, sys
from rewardkit import reward

@reward("test/orphan", timeout_s=30)
def orphan(sample):
    """Leaves a process behind whose parent has ended."""
    code = "import os, sys\\nif os.fork() == 0: os.execvp('sleep', ['sleep', '0.1'])"
    subprocess.run([sys.executable, "-c", code], start_new_session=True, check=True)
    return 1.0
'''
SUBREAPER = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


def can_make_pid_namespaces() -> bool:
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "true"]
    return (
        shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0
    )


INIT = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
SUBREAPS = [sys.executable, "-c", SUBREAPER]


@pytest.mark.parametrize(
    ("before", "workers"),
    [
        pytest.param(
            INIT,
            "1",
            marks=pytest.mark.skipif(not can_make_pid_namespaces(), reason="no PID namespaces here"),
            id="pid 1",
        ),
        pytest.param(SUBREAPS, "2", id="subreaper of two"),
    ],
)
def test_orphans_are_reaped_and_end_nothing(tmp_path: Path, before: list[str], workers: str) -> None:
    rewards = tmp_path / "orphans.py"
    rewards.write_text(ORPHANS)
    options = ("--workers", workers, "--scorers", "2", "--reward", str(rewards))
    with serving(tmp_path, *options, before=before) as server, Client(server.url) as client:
        for _ in range(3):
            assert client.score(Sample("test/orphan", "", "")).score == 1.0
        until(lambda: "sleep" not in names(server.process.pid))
        until(lambda: "Z" not in [state(pid) for pid in descendants(server.process.pid)])
        assert client.score(Sample("test/nap", "", "0")).ok
        assert server.process.poll() is None


def names(pid: int) -> list[str]:
    """What the descendants of a process are called, the dead ones too."""
    found = []
    for child in descendants(pid):
        try:
            found.append(Path(f"/proc/{child}/comm").read_text().strip())
        except OSError:
            continue
    return found


def to_group(pid: int) -> None:
    os.killpg(pid, signal.SIGTERM)


def to_control_group(pid: int) -> None:
    for one in [pid, *descendants(pid)]:
        with contextlib.suppress(ProcessLookupError):  # a scorer may end between the two
            os.kill(one, signal.SIGTERM)


def twice(pid: int) -> None:
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGINT)


@pytest.mark.parametrize(("workers", "stop"), [("1", to_group), ("2", to_control_group), ("2", twice)])
def test_a_stop_that_comes_by_several_ways_loses_nothing(
    tmp_path: Path, workers: str, stop: Callable[[int], None]
) -> None:
    notes = tmp_path / "notes"

    async def main() -> list[str]:
        async with AsyncClient(server.url, connections=8) as client:
            samples = [Sample("test/nap", str(notes), "1.0") for _ in range(2)]
            scoring = [asyncio.create_task(client.ascore_batch([sample])) for sample in samples]
            await asyncio.to_thread(until, lambda: notes.exists() and server.received() >= 2)
            stop(server.process.pid)
            return [scores[0].status for scores in await asyncio.gather(*scoring)]

    with serving(tmp_path, "--workers", workers, "--scorers", "2", own_group=True) as server:
        assert asyncio.run(main()) == ["ok"] * 2
        assert server.process.wait() == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_second_signal_some_time_later_ends_it_at_once(tmp_path: Path, workers: str) -> None:
    """Ctrl-C, that is: it reaches every process of the group."""
    begun = tmp_path / "begun"
    options = ("--workers", workers, "--scorers", "2", "--drain-s", "300")
    with serving(tmp_path, *options, own_group=True) as server:
        command = ["curl", "-s", f"{server.url}/score", "-d"]
        body = f'{{"data_source": "test/nap", "response": "{begun}", "ground_truth": "1000"}}'
        with subprocess.Popen([*command, body], stdout=subprocess.PIPE, text=True) as asking:
            until(begun.exists)
            os.killpg(server.process.pid, signal.SIGINT)
            time.sleep(SAME_SIGNAL_S + 1.0)
            os.killpg(server.process.pid, signal.SIGINT)
            server.process.wait(120)
            said, _ = asking.communicate(timeout=120)
            assert "timeout" not in said, "it waited until the reward's own time was over"


STOPPED_AT_ONCE = """
import os, runpy, signal, sys

def heard(fd, data, write=os.write):
    written = write(fd, data)
    if b"http://" in data:
        os.kill(os.getpid(), signal.SIGTERM)
    return written

os.write = heard
runpy.run_module("rewardkit", run_name="__main__")
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_stop_at_the_moment_of_the_address_is_orderly_and_leaves_nothing(
    tmp_path: Path, workers: str
) -> None:
    command = [sys.executable, "-c", STOPPED_AT_ONCE, "serve", "--port", "0", "--workers", workers]
    ended = subprocess.run(
        [*command, "--scorers", "2", "--no-sandbox"], env=os.environ | {"TMPDIR": str(tmp_path)}, timeout=120
    )
    assert ended.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_request_that_comes_just_after_the_signal_is_answered_and_its_connection_closed(
    tmp_path: Path,
) -> None:
    """A client that keeps its connection learns by the answer that it is to open another."""
    get = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
    with (
        serving(tmp_path) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as kept,
    ):
        kept.sendall(get)
        assert b"connection: close" not in answer_on(kept)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: draining(server.url))
        kept.sendall(get)
        answer = answer_on(kept)
        assert answer.startswith(b"HTTP/1.1 200") and b"connection: close" in answer
        assert server.process.wait(20) == 0


def test_a_request_that_is_on_its_way_at_the_stop_is_answered(tmp_path: Path) -> None:
    """Its connection has been accepted, and to close it would be to lose it."""
    with (
        serving(tmp_path) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as late,
    ):
        server.process.send_signal(signal.SIGTERM)
        until(lambda: not listens(server.port))
        time.sleep(0.5)
        late.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        answer = answer_on(late)
        assert answer.startswith(b"HTTP/1.1 200") and b"connection: close" in answer
        assert server.process.wait(20) == 0


def answer_on(connection: socket.socket) -> bytes:
    """The head and the body of `/healthz`, which may come in two pieces."""
    answer = b""
    while not answer.endswith(b"}"):
        piece = connection.recv(65_536)
        assert piece, answer
        answer += piece
    return answer


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def draining(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/readyz").close()
    except urllib.error.HTTPError as error:
        return error.code == 503
    return False


def test_a_port_that_another_server_shares_among_its_processes_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, "--workers", "2", "--scorers", "2") as server:
        for workers in ("1", "2"):
            options = ("--port", str(server.port), "--workers", workers, "--scorers", "2")
            assert run(["serve", *options]) == 2
            assert f"cannot listen on 127.0.0.1:{server.port}" in capfd.readouterr().err


def test_any_process_has_the_figures_of_all_and_a_killed_one_takes_none_away(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2", "--scorers", "2") as server:
        score(server, 20)
        until(lambda: server.received() == 20)
        before = server.workers()
        os.kill(before[0], signal.SIGKILL)
        until(lambda: len(server.workers()) == 2 and server.workers() != before)
        score(server, 20)
        until(lambda: server.received() == 40)


def test_a_process_that_is_killed_before_it_says_that_it_lives_is_replaced_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2", "--scorers", "2") as server:
        before = server.workers()
        os.kill(before[0], signal.SIGSTOP)
        time.sleep(2.0)  # the supervisor asks twice a second
        os.kill(before[0], signal.SIGKILL)
        until(lambda: len(server.workers()) == 2 and server.workers() != before, seconds=30.0)


def score(server: Serving, n: int) -> None:
    """Over connections of their own, so that any process may get each; a killed one's are made again."""
    for _ in range(n):
        with Client(server.url) as client:
            assert client.score(Sample("gsm8k", "#### 72", "72")).correct


def test_what_needs_one_process_is_refused_with_several(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--workers", "2", "--scorers", "2", "--tasks", str(tmp_path)]) == 2
    assert "--tasks needs --workers 1" in capfd.readouterr().err
    with Scorer(workers=1) as scorer, TestClient(create_app(scorer, processes=2)) as http:
        submitted = http.post("/roll/submit/gsm8k", json={"prompt": "q", "response": "#### 72"})
        assert submitted.status_code == 422 and "--workers 1" in submitted.text
        traffic = http.get("/traffic")
        assert traffic.status_code == 404 and "--workers 1" in traffic.text
