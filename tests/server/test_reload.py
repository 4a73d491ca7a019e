"""`serve --config`: the file is the command line's defaults, and SIGHUP reads it anew without losing a request."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import urllib.request
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Client, Sample
from rewardkit.cli import run
from rewardkit.commands.serve import command as serve_command
from rewardkit.commands.serve_file import ignored_by_reload
from tests.living import descendants, until
from tests.server.serving import serve

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


def figures(url: str) -> str:
    """The server's metrics."""
    asked = urllib.request.Request(f"{url}/metrics", headers={"Authorization": "Bearer secret"})
    with urllib.request.urlopen(asked) as answer:
        text: str = answer.read().decode()
        return text


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_sighup_reads_the_file_anew_and_loses_no_request(tmp_path: Path, workers: str) -> None:
    path = write(tmp_path, 1.0)
    with serve("--config", str(path), "--workers", workers) as server:
        seen: list[float | None] = []
        failed: list[OSError] = []
        done = threading.Event()

        def ask() -> None:
            while not done.wait(0.02):  # often enough, and leaving the new process a processor
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
        until(lambda: 'rewardkit_reloads_total{outcome="ok"} 2.0' in figures(server.url))
        assert failed == []
        assert set(seen) == {1.0, 2.0, 3.0}
        assert server.stop() == 0


@pytest.mark.slow
def test_a_file_of_ground_truths_is_indexed_once_and_looked_at_before(tmp_path: Path) -> None:
    gold = tmp_path / "gold.parquet"
    pq.write_table(pa.table({"prompt": ["q"], "data_source": ["gsm8k"], "ground_truth": ["1"]}), gold)
    path = tmp_path / "serve.yaml"
    path.write_text(f"gold: [{gold}]\n")
    with serve("--config", str(path)) as server:
        until(lambda: Client(server.url).score(Sample("gsm8k", "#### 1", "1")).ok)
        assert server.stop() == 0
        assert server.process.stderr is not None
        assert (server.said + server.process.stderr.read()).count("indexed by prompt") == 1
    pq.write_table(pa.table({"prompt": ["q"]}), gold)
    assert run(["serve", "--config", str(path)]) == 2


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
def test_a_file_that_cannot_be_served_leaves_the_server_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path, 1.0)
    with serve("--config", str(path)) as server, Client(server.url, token="secret") as client:
        assert fixed(client) == 1.0
        assert server.process.stderr is not None
        write(tmp_path, 1.0, **{"drain-s": 7})
        os.kill(server.process.pid, signal.SIGHUP)
        assert "drain-s stays 30" in server.process.stderr.readline()
        until(lambda: 'rewardkit_reloads_total{outcome="ok"} 1.0' in figures(server.url))
        (before,) = server.workers()
        write(tmp_path, 2.0, gsm9k=1)
        os.kill(server.process.pid, signal.SIGHUP)
        said = ""
        assert server.process.stderr is not None
        while "keeping worker" not in said:
            said += server.process.stderr.readline()
        assert f"{path}: unknown key 'gsm9k'" in said
        until(lambda: server.workers() == [before])
        until(lambda: 'rewardkit_reloads_total{outcome="failed"} 1.0' in figures(server.url))
        assert fixed(client) == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot: 1", "'prot'; did you mean port"),
        ("max-memory-mb: 1", "max-bodies-mb"),
        ("tools: calculator", "serve environments with tasks"),
        ("- a", "not a YAML mapping"),
        ("tokens: abc", "Expected `array`"),
        ("options: {gsm8k: {method: nowhere}}", "method"),
        ("reward: {mine: x.py}", "reward: expected one value or a list"),
        ("host: [a, b]", "host: expected one value, found"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_line(
    text: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "serve.yaml").write_text(text)
    assert run(["serve", "--config", str(tmp_path / "serve.yaml")]) == 2
    err = capfd.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_an_option_that_may_be_repeated_takes_one_value(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A reward's file as in `--reward x.py`: the value is read, so that what is missing is the file."""
    (tmp_path / "serve.yaml").write_text(f"reward: {tmp_path}/nowhere.py\n")
    assert run(["serve", "--config", str(tmp_path / "serve.yaml")]) == 2
    assert "no such file" in (err := capfd.readouterr().err) and "nowhere.py" in err


@pytest.mark.parametrize("command", ["serve", "train", "eval"])
def test_a_second_file_is_refused(command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("{}\n")
    words = [word for name in ("a.yaml", "b.yaml") for word in ("--config", str(tmp_path / name))]
    assert run([command, *words]) == 2
    assert "--config was given 2 times" in capfd.readouterr().err


def test_a_reload_names_the_settings_that_it_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text("port: 8001\nrequest-timeout: 5\n")
    kept = {"host": "127.0.0.1", "port": 8001, "workers": 1, "drain_s": 30.0}
    arguments = ["--config", str(path)]
    assert ignored_by_reload(serve_command, arguments, kept) == ""
    path.write_text("port: 8002\nrequest-timeout: 6\ndrain_s: 5\n")
    said = ignored_by_reload(serve_command, arguments, kept)
    assert "port stays 8001 (the file has 8002)" in said and "drain-s stays 30" in said and "restart" in said
    assert "host" not in said and "timeout" not in said and "\n" not in said
    assert ignored_by_reload(serve_command, [*arguments, "--port", "8001", "--drain-s", "30"], kept) == ""
    path.write_text("prot: 1\n")
    assert ignored_by_reload(serve_command, arguments, kept) == "", "the new process says what is wrong"


def test_an_option_that_has_another_name_now_is_refused_with_that_name(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert run(["serve", "--max-memory-mb", "100"]) == 2
    assert "max-bodies-mb" in capfd.readouterr().err
