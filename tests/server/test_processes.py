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
from collections.abc import Callable
from pathlib import Path

import pytest

from rewardkit import AsyncClient, Client, Sample
from rewardkit.cli import run
from rewardkit.server import processes
from tests.living import descendants, state, until
from tests.server.serving import serving

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
        pytest.param(SUBREAPS, "1", id="subreaper"),
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


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("stop", [to_group, to_control_group, twice])
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
    begun = tmp_path / "begun"
    with serving(tmp_path, "--workers", workers, "--scorers", "2", "--drain-s", "300") as server:
        command = ["curl", "-s", f"{server.url}/score", "-d"]
        body = f'{{"data_source": "test/nap", "response": "{begun}", "ground_truth": "1000"}}'
        with subprocess.Popen([*command, body], stdout=subprocess.PIPE, text=True) as asking:
            until(begun.exists)
            server.process.send_signal(signal.SIGTERM)
            until(lambda: not listens(server.port))  # that is a second after it has heard it
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(120)
            said, _ = asking.communicate(timeout=120)
            assert "timeout" not in said, "it waited until the reward's own time was over"


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def test_a_request_that_is_on_its_way_at_the_stop_is_answered(tmp_path: Path) -> None:
    """Its connection has been accepted, and to close it would be to lose it."""
    with (
        serving(tmp_path) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as late,
    ):
        with Client(server.url) as client:
            assert client.score(Sample("gsm8k", "#### 72", "72")).correct
        server.process.send_signal(signal.SIGTERM)
        time.sleep(processes.LAME_DUCK_S + 0.5)
        late.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert late.recv(65_536).startswith(b"HTTP/1.1 200")
        assert server.process.wait(20) == 0


def test_a_port_that_another_server_shares_among_its_processes_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, "--workers", "2", "--scorers", "2") as server:
        for workers in ("1", "2"):
            options = ("--port", str(server.port), "--workers", workers, "--scorers", "2")
            assert run(["serve", *options]) == 2
            assert f"cannot listen on 127.0.0.1:{server.port}" in capfd.readouterr().err


def test_the_folder_that_processes_share_leaves_no_variable_behind() -> None:
    with processes._shared_folder() as folder:
        assert os.environ[processes.MULTIPROC_DIR] == str(folder)
    assert processes.MULTIPROC_DIR not in os.environ
    assert not folder.exists()


def test_processes_of_one_server_are_forked_from_one_that_has_imported_it_and_knows_their_folder() -> None:
    """Or each would import it all again; and the metrics look at the environment when they are imported."""
    script = """
import os, sys
from rewardkit.server import processes
class Family:
    stop = print
    def __init__(self, *args, **named): pass
    def fork(self, place):
        from prometheus_client import values
        print("rewardkit.server.app" in sys.modules, values.ValueClass is not values.MutexValue)
    def wait(self): return 0
processes._Family = Family
processes.supervise(None, None, [None, None])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n" * 2
