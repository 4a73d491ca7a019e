"""On Ray the output has the same bytes as without, in the same order, whatever dies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Scorer
from rewardkit.cli import run
from rewardkit.errors import ConfigError
from rewardkit.files import formats
from rewardkit.offline import on_ray, score_file
from rewardkit.offline.on_ray import RaySettings, RayWorkers, connected
from rewardkit.offline.verl_evaluation import read_evaluation_config
from rewardkit.registry import Registry, load_reward_file
from tests.generation.endpoints import Server

if find_spec("ray") is None:  # importing it takes a second, in each process that collects
    pytest.skip("Ray is not installed: pip install 'rewardkit[ray]'", allow_module_level=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One cluster for all tests: it takes seconds to start."""
    with connected(RaySettings(num_cpus=2)):
        yield


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of two formats and rewards of two kinds, in chunks of 50 rows, a row in ten not to be used."""
    monkeypatch.setattr(formats, "CHUNK_ROWS", 50)
    rows = [
        {"data_source": ("gsm8k", "math")[i % 2], "response": f"so \\boxed{{{i}}}\n#### {i}"}
        | {"ground_truth": None if i % 10 == 9 else str(i if i % 3 else 0)}
        for i in range(400)
    ]
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows[:200]), folder / "a.parquet")
    (folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[200:]))
    return folder


def _scored(files: Path, out: Path, **given: Any) -> bytes:
    with Scorer(workers=1) as scorer:
        score_file(files, out, scorer=scorer, **given)
    return out.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_the_bytes_are_those_of_a_local_run(cluster: None, files: Path, tmp_path: Path, suffix: str) -> None:
    local = _scored(files, tmp_path / f"local{suffix}")
    with Scorer(workers=1) as scorer, RayWorkers(RaySettings(), scorer, 2) as workers:
        score_file(files, tmp_path / f"ray{suffix}", scorer=scorer, workers=workers)
    assert (tmp_path / f"ray{suffix}").read_bytes() == local


KILLER = """
import os
from pathlib import Path
from rewardkit import Sample, reward

@reward("my/killer", runs="inline")
def killer(sample: Sample) -> float:
    deaths = list(Path("FOLDER").iterdir())
    if sample.response == "7" and os.getpid() != CALLER and len(deaths) < MOST:
        Path("FOLDER", str(os.getpid())).touch()
        os._exit(1)
    return float(sample.response)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("most", "deaths"), [(1, 1), (99, 3)], ids=["killed once", "killed for ever"])
def test_a_process_that_is_killed_loses_nothing(
    cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry, most: int, deaths: int
) -> None:
    monkeypatch.setattr(formats, "CHUNK_ROWS", 5)
    killed = tmp_path / "killed"
    killed.mkdir()
    text = KILLER.replace("FOLDER", str(killed)).replace("CALLER", str(os.getpid()))
    (tmp_path / "mine.py").write_text(text.replace("MOST", str(most)))
    load_reward_file(str(tmp_path / "mine.py"))
    path = tmp_path / "in.jsonl"
    rows = [{"data_source": "my/killer", "response": str(i), "ground_truth": ""} for i in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Scorer(workers=1) as scorer, RayWorkers(RaySettings(), scorer, 2) as workers:
        score_file(path, tmp_path / "out.jsonl", scorer=scorer, workers=workers)
    found = [json.loads(line)["score"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == [float(i) for i in range(20)]
    assert len(list(killed.iterdir())) == deaths


@pytest.mark.slow
def test_what_ray_has_begun_is_ended_without_it(cluster: None, files: Path, tmp_path: Path) -> None:
    local = _scored(files, tmp_path / "local.jsonl")
    out = tmp_path / "ray.jsonl"

    def interrupt(done: int, total: int | None) -> None:
        if done >= 200:
            raise KeyboardInterrupt

    with (
        Scorer(workers=1) as scorer,
        RayWorkers(RaySettings(), scorer, 2) as workers,
        pytest.raises(KeyboardInterrupt),
    ):
        score_file(files, out, scorer=scorer, workers=workers, on_progress=interrupt)
    assert not out.exists()
    assert _scored(files, out, resume=True) == local


@pytest.mark.slow
def test_a_reward_file_and_its_options_reach_the_tasks(
    cluster: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reward = tmp_path / "mine.py"
    reward.write_text(
        "from dataclasses import dataclass\nfrom rewardkit import Sample, reward\n"
        "@dataclass(frozen=True)\nclass Options:\n    bonus: float = 0.0\n"
        "@reward('my/ray')\ndef mine(sample: Sample, options: Options) -> float:\n"
        "    return len(sample.response) + options.bonus\n"
    )
    path = tmp_path / "in.jsonl"
    rows = [{"data_source": "my/ray", "response": "x" * i, "ground_truth": ""} for i in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["score", str(path), "--reward", str(reward), "--option", "my/ray:bonus=0.5", "--engine", "ray"]
    assert run([*words, "--workers", "1"]) == 0, capsys.readouterr().err
    found = [json.loads(line)["score"] for line in (tmp_path / "in.scored.jsonl").read_text().splitlines()]
    assert found == [0.5, 1.5, 2.5, 3.5]


@pytest.mark.slow
def test_generation_and_evaluation_run_on_ray(
    cluster: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "prompts.jsonl"
    rows = [{"data_source": "gsm8k", "prompt": f"#### {i}\n", "ground_truth": str(i)} for i in range(5)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    server = Server()
    words = [str(path), "--model", "m", "--url", server.url, "-n", "2"]
    assert run(["generate", *words, "--out", str(tmp_path / "local.parquet")]) == 0
    assert run(["generate", *words, "--out", str(tmp_path / "ray.parquet"), "--engine", "ray"]) == 0
    assert (tmp_path / "ray.parquet").read_bytes() == (tmp_path / "local.parquet").read_bytes()
    capsys.readouterr()
    assert run(["eval", *words, "--out", str(tmp_path / "o.jsonl"), "--engine", "ray", "--json"]) == 0
    server.close()
    assert json.loads(capsys.readouterr().out)["data_sources"]["gsm8k"]["accuracy"]["mean"] == 1.0


@pytest.mark.slow
def test_what_fails_in_an_engine_s_actor_is_said_in_a_line(
    cluster: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "p"}\n')
    on_ray = ("--out", str(tmp_path / "out.parquet"), "--engine", "ray", "--retries", "0")
    assert run(["generate", str(path), "--model", "m", "--url", "x", *on_ray]) != 0
    assert "Traceback" not in capsys.readouterr().err


def test_verl_s_ray_settings_reach_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "evaluation.yaml"
    config.write_text("ray_kwargs: {ray_init: {num_cpus: 3}, timeline_json_file: t.json}\n")
    found = read_evaluation_config(config).cluster
    assert found == RaySettings(None, 3, "t.json")
    asked: list[dict[str, Any]] = []

    def init(**given: Any) -> None:
        asked.append(given)
        raise ConnectionError("nobody there\nmore")

    monkeypatch.setattr("ray.init", init)
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(ConfigError, match="this machine: nobody there"), connected(found):
        pass
    with pytest.raises(ConfigError, match="Ray at host:1"), connected(RaySettings("host:1", 3)):
        pass
    assert (asked[0]["num_cpus"], asked[1]["address"]) == (3, "host:1")
    assert "num_cpus" not in asked[1], "a cluster that runs has its own"


def test_a_timeline_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr("ray.init", lambda **_: None)
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.shutdown", lambda: None)
    monkeypatch.setattr("ray.timeline", lambda filename: written.append(filename))
    monkeypatch.setattr(on_ray, "EVENTS_S", 0.0)
    with connected(RaySettings(timeline="t.json")):
        pass
    assert written == ["t.json"]


def test_an_address_without_ray_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["score", "x.jsonl", "--address", "auto"]) == 2
    assert "--address needs --engine ray" in capsys.readouterr().err
