"""`serve --config`: the file is the command line's defaults, and SIGHUP reads it anew without losing a request."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from websockets.sync.client import connect

from rewardkit import Client, Sample
from rewardkit.cli import run
from rewardkit.server.processes import LAME_DUCK_S
from tests.living import descendants, until
from tests.server.serving import serve
from tests.server.test_ors import RIGHT, write_tasks

REWARD = """
import os
from rewardkit import reward

@reward("test/pid")
def pid(sample):
    return float(os.getppid())

@reward("test/fixed")
def fixed(sample):
    return {value}
"""


def write(folder: Path, value: float, **more: object) -> Path:
    (folder / "mine.py").write_text(REWARD.format(value=value))
    lines = {
        "reward": [str(folder / "mine.py")],
        "no-sandbox": True,
        "scorers": 2,
        "tokens": ["secret"],
        "options": {"gsm8k": {"method": "strict"}},
        **more,
    }
    path = folder / "serve.yaml"
    path.write_text("".join(f"{key}: {str(entry).replace('True', 'true')}\n" for key, entry in lines.items()))
    return path


def fixed(client: Client) -> float | None:
    return client.score(Sample("test/fixed", "", "")).score


def asked_once(url: str) -> float:
    """The score over a new connection, by a client that never tries again."""
    body = json.dumps({"data_source": "test/fixed", "response": "", "ground_truth": ""}).encode()
    headers = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/score", body, headers)) as answer:
        found: float = json.load(answer)["score"]
        return found


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_sighup_reads_the_file_anew_and_loses_no_request(tmp_path: Path, workers: str) -> None:
    path = write(tmp_path, 1.0)
    with serve("--config", str(path), "--workers", workers) as server:
        seen: list[float | None] = []
        failed: list[OSError] = []
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                try:
                    seen.append(asked_once(server.url))
                except OSError as error:
                    failed.append(error)

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for thread in asking:
            thread.start()
        until(lambda: 1.0 in seen)
        for value in (2.0, 3.0):
            write(tmp_path, value)
            server.process.send_signal(signal.SIGHUP)
            until(lambda value=value: value in seen)
        until(lambda: seen[-30:] == [3.0] * 30)
        done.set()
        for thread in asking:
            thread.join()
        assert failed == []
        assert set(seen) == {1.0, 2.0, 3.0}
        assert server.stop() == 0


@pytest.mark.slow
def test_a_scoring_process_that_starts_late_has_the_rewards_of_its_generation(tmp_path: Path) -> None:
    path = write(tmp_path, 1.0)
    with serve("--config", str(path)) as server, Client(server.url, token="secret") as client:
        assert fixed(client) == 1.0
        before = round(client.score(Sample("test/pid", "", "")).score)
        write(tmp_path, 2.0)
        for _ in range(3):
            for pid in descendants(before):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert fixed(client) == 1.0  # though the file says something else by now
        server.process.send_signal(signal.SIGHUP)
        until(lambda: fixed(client) == 2.0)


@pytest.mark.slow
def test_what_clients_will_come_back_for_outlives_the_process_that_was_replaced(tmp_path: Path) -> None:
    """A ROLL result that is not fetched, a session and an episode that have begun: none of them is lost."""
    tasks = write_tasks(tmp_path / "sums")
    path = write(tmp_path, 1.0, tasks=[str(tasks)])
    body = {"prompt": "q", "response": RIGHT, "reward_info": {"ground_truth": "72"}}
    with serve("--config", str(path)) as server, Client(server.url, token="secret") as client:
        assert asked_once(server.url) == 1.0  # its scoring process has read the file
        submitted = asked(server.url, "/roll/submit/gsm8k", body)["reward_request_id"]
        session = opened_session(server.url)
        address = f"{server.url.replace('http', 'ws', 1)}/ws"
        with connect(address, additional_headers={"Authorization": "Bearer secret"}) as episode:
            episode.send(json.dumps({"type": "reset", "data": {"index": 0}}))
            episode.recv(timeout=20)
            write(tmp_path, 2.0, tasks=[str(tasks)])
            (before,) = children(server.process.pid)
            server.process.send_signal(signal.SIGHUP)
            until(lambda: asked_once(server.url) == 2.0)
            time.sleep(LAME_DUCK_S + 0.5)  # after which it is gone, if nobody needs it
            episode.send(json.dumps({"type": "step", "data": {"response": RIGHT}}))
            assert json.loads(episode.recv(timeout=20))["data"]["reward"] == 1.0
        assert fixed(client) == 2.0
        answer = asked(server.url, "/roll/result", {"reward_request_id": submitted}, method="GET")
        assert (answer["errcode"], answer["reward_score"]) == (0, 1.0)
        call = {"name": "submit", "input": {"response": RIGHT}}
        said = said_by(server.url, "/sums/call", call, {"X-Session-ID": session})
        assert '"reward":1.0' in said
        until(lambda: before not in children(server.process.pid))
        assert server.stop() == 0


def said_by(
    url: str, path: str, body: object, headers: dict[str, str] | None = None, method: str = "POST"
) -> str:
    """The answer over a new connection, by a client that never tries again."""
    sent = {"Authorization": "Bearer secret", **(headers or {})}
    request = urllib.request.Request(f"{url}{path}", json.dumps(body).encode(), sent, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        text: str = answer.read().decode()
        return text


def asked(url: str, path: str, body: object, method: str = "POST") -> dict[str, object]:
    found: dict[str, object] = json.loads(said_by(url, path, body, method=method))
    return found


def opened_session(url: str) -> str:
    """Begin a session of the Open Reward Standard."""
    session = said_by(url, "/create_session", {}).split("data: ")[1].split("\n")[0]
    task = {"env_name": "sums", "split": "train", "index": 0}
    said_by(url, "/create", task, {"X-Session-ID": session})
    return session


@pytest.mark.slow
def test_a_file_that_cannot_be_served_leaves_the_server_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path, 1.0)
    with serve("--config", str(path)) as server, Client(server.url, token="secret") as client:
        assert fixed(client) == 1.0
        (before,) = children(server.process.pid)
        write(tmp_path, 2.0, gsm9k=1)
        os.kill(server.process.pid, signal.SIGHUP)
        said = ""
        assert server.process.stderr is not None
        while "goes on" not in said:
            said += server.process.stderr.readline()
        assert f"{path} has no key 'gsm9k'" in said
        until(lambda: children(server.process.pid) == [before])
        assert fixed(client) == 1.0


def children(pid: int) -> list[int]:
    """The processes that a supervisor has started."""
    return [child for child in descendants(pid) if parent(child) == pid]


def parent(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0  # it is no more


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot: 1", "has no key 'prot'; did you mean port"),
        ("tools: calculator", "tools: the server has no episodes of its own; serve environments with tasks"),
        ("- a", "is not a YAML mapping of options to values"),
        ("tokens: abc", "tokens: Expected `array`, got `str`"),
        ("options: {gsm8k: {method: nowhere}}", "method"),
        ("reward: [nowhere.py]", "nowhere.py"),
        ("port: many", "many"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_line(
    text: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "serve.yaml").write_text(text)
    with pytest.raises(SystemExit) if "reward" in text or "options" in text else contextlib.nullcontext():
        assert run(["serve", "--config", str(tmp_path / "serve.yaml")]) == 2
    err = capfd.readouterr().err
    assert message in err
    assert "Traceback" not in err
