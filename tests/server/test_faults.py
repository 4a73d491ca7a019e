"""Faults under load: killed workers, clients that go, SIGTERM, full disks. Nothing is lost, nothing stays."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from rewardkit import AsyncClient, Client, Sample
from rewardkit.types import Score
from tests.living import alive, descendants, state, until
from tests.server.serving import serving


@pytest.mark.slow
def test_a_killed_scoring_worker_loses_and_doubles_no_sample(tmp_path: Path) -> None:
    with serving(tmp_path, "--scorers", "2") as server, Client(server.url) as client:
        client.score(Sample("test/nap", "", "0"))
        answers: list[list[Score]] = []
        notes = tmp_path / "notes"
        notes.touch()
        batch = [Sample("test/nap", str(notes), f"0.0{i % 3}") for i in range(40)]
        threads = [
            threading.Thread(target=lambda: answers.append(client.score_batch(batch))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for begun in (20, 60, 100):  # so that what was tried again has been scored before the next blow
            until(lambda begun=begun: len(notes.read_text().splitlines()) >= begun)  # type: ignore[misc]
            worker = int(notes.read_text().splitlines()[-1])
            if worker in descendants(server.process.pid):
                os.kill(worker, signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert [[s.status for s in scores] for scores in answers] == [["ok"] * 40] * 4
        until(lambda: "Z" not in [state(pid) for pid in descendants(server.process.pid)])
        workers = descendants(server.process.pid)
        assert len(workers) <= 2
        assert server.stop() == 0
    until(lambda: not any(alive(pid) for pid in workers))


def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing_behind(tmp_path: Path) -> None:
    with serving(tmp_path) as server, Client(server.url) as client:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(b"POST /score HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n[{")
        assert client.score(Sample("gsm8k", "#### 1", "1")).score == 1.0
        assert server.stop() == 0


def test_sigterm_under_load_drops_no_request(tmp_path: Path) -> None:
    """Every request that was sent is answered in full; the process goes when the last one is."""

    async def main() -> list[str]:
        async with AsyncClient(server.url, connections=200) as client:
            samples = [Sample("test/nap", str(notes), "0.04") for _ in range(150)]
            scoring = [asyncio.create_task(client.ascore_batch([sample])) for sample in samples]
            await asyncio.to_thread(until, lambda: server.received() >= 8 + 150)
            server.process.send_signal(signal.SIGTERM)
            return [scores[0].status for scores in await asyncio.gather(*scoring)]

    notes = tmp_path / "notes"
    with serving(tmp_path, "--scorers", "2") as server:
        with Client(server.url) as client:
            client.score_batch([Sample("test/nap", "", "0")] * 8)
        workers = descendants(server.process.pid)
        assert asyncio.run(main()) == ["ok"] * 150
        assert server.process.wait() == 0
        until(lambda: not any(alive(pid) for pid in workers))
    assert len(notes.read_text().splitlines()) == 150  # none was scored twice


@pytest.mark.slow
def test_the_drain_ends_when_its_time_is_over(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with serving(tmp_path, "--drain-s", "1") as server, Client(server.url) as client:
        answers: list[object] = []

        def ask() -> None:
            try:
                answers.append(client.score(Sample("test/nap", str(begun), "1000")))
            except Exception as error:
                answers.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        until(begun.exists)
        workers = descendants(server.process.pid)
        assert server.stop() == 0
        until(lambda: not any(alive(pid) for pid in workers))
        thread.join()
        assert "stopping" in str(answers[0]) or "cannot reach" in str(answers[0])
        assert server.process.stderr is not None
        said = server.process.stderr.read()
    assert "Traceback" not in said
    assert [line for line in said.splitlines() if "--drain-s" in line and "/score" in line]


SERVE = ["-m", "rewardkit", "serve", "--port", "0", "--no-sandbox", "--access-log"]


def test_a_full_disk_under_the_logs_hurts_no_answer(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.Popen([sys.executable, *SERVE], stderr=full)
    _answers_and_stops(process)


def test_closed_standard_streams_hurt_no_answer() -> None:
    serve = f"exec {shlex.join([sys.executable, *SERVE])} <&- >&- 2>&-"
    _answers_and_stops(subprocess.Popen(["bash", "-c", serve]))


def _answers_and_stops(process: subprocess.Popen[bytes]) -> None:
    try:
        until(lambda: _ports(process.pid))
        with Client(f"http://127.0.0.1:{_ports(process.pid)[0]}") as client:
            for _ in range(50):
                assert client.score(Sample("gsm8k", "#### 1", "1")).score == 1.0
        process.terminate()
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()


def _ports(pid: int) -> list[int]:
    """Where a process listens that cannot say it."""
    sockets = psutil.Process(pid).net_connections("tcp")
    return [each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN]


def test_nothing_outlives_a_killed_supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with serving(tmp_path, "--workers", "2", "--scorers", "2") as server:
        for _ in range(6):
            with Client(server.url) as client:
                assert client.score(Sample("test/nap", "", "0")).ok
        family = descendants(server.process.pid)
        assert len(family) >= 3
        server.process.kill()
        until(lambda: {state(pid) for pid in family} <= {"", "Z"})  # whoever adopts them reaps them
    assert list(folder.iterdir()) == []
