"""`rewardkit eval DATASET --model M`: one command from a dataset's name to its figures, resumed by itself."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from tests.conftest import REFERENCE_DATA
from tests.generation.endpoints import Server, completion

RAW = REFERENCE_DATA
TINY = ("--prep", "level=tiny", "--prep", "n-test=6", "--prep", "n_train=1")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture
def server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Server]:
    """Answers every second question of the tiny set rightly."""
    sizes = ("--n-train", "1", "--n-test", "6", "--level", "tiny")
    assert run(["prep", "arithmetic", *sizes, "--out", str(tmp_path / "known")]) == 0
    rows = pq.read_table(tmp_path / "known" / "test.parquet").to_pylist()
    truths = {row["prompt"][-1]["content"]: row["ground_truth"] for row in rows[::2]}

    def says(body: dict[str, Any]) -> tuple[int, Any]:
        answer = f"#### {truths.get(body['messages'][-1]['content'], 'none')}"
        said = completion(body, "")
        said["choices"][0]["message"]["content"] = answer
        return 200, said

    with closing(Server()) as server:
        server.says = says
        capsys.readouterr()
        yield server


def evaluate(server: Server, *words: str) -> int:
    return run(["eval", *words, "--model", "some/m", "--url", server.url, "--retries", "0"])


def test_a_name_and_a_model_become_figures(
    server: Server, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate(server, "arithmetic", *TINY, "--report", "page.html") == 0
    table = capsys.readouterr().out
    assert "0.5000" in table and "arithmetic" in table and Path("page.html").exists()
    kept = json.loads(Path("eval/m/arithmetic.json").read_text())
    (figures,) = kept["figures"].values()
    assert (figures["responses"], figures["accuracy"]["mean"]) == (6, 0.5)
    assert (kept["prompt_tokens"], kept["response_tokens"]) == (6 * 7, 6 * 2)
    assert kept["seconds"].keys() == {"generate", "score"}
    assert len(pq.read_table("eval/m/arithmetic.responses.parquet")) == 6

    (folder,) = (cache / "rewardkit" / "prepared").iterdir()
    before = (folder / "test.parquet").stat().st_mtime_ns
    server.asked.clear()
    assert evaluate(server, "arithmetic", *TINY, "--json") == 0, "what is answered is not asked again"
    assert json.loads(capsys.readouterr().out)["datasets"]["arithmetic"]["figures"] == kept["figures"]
    assert server.asked == [] and (folder / "test.parquet").stat().st_mtime_ns == before
    assert evaluate(server, "arithmetic", *TINY, "--temperature", "0.5") == 2
    assert "different settings (temperature)" in capsys.readouterr().err
    assert evaluate(server, "arithmetic", *TINY, "--temperature", "0.5", "--force") == 0
    assert len(server.asked) == 6
    assert evaluate(server, "arithmetic", *TINY, "--prep", "seed=1", "--out", "other") == 0
    assert len(list((cache / "rewardkit" / "prepared").iterdir())) == 2


def test_the_same_command_goes_on_with_what_is_left(server: Server) -> None:
    right, refused = server.says, []

    def refuses(body: dict[str, Any]) -> tuple[int, Any]:
        assert right is not None
        if len(server.asked) > 4:
            refused.append(body["messages"][-1]["content"])
            return 400, {"error": "no"}
        return right(body)

    server.says = refuses
    assert evaluate(server, "arithmetic", *TINY, "--concurrency", "1") == 1
    server.says = right
    server.asked.clear()
    assert evaluate(server, "arithmetic", *TINY, "--concurrency", "1") == 0
    assert sorted(body["messages"][-1]["content"] for body in server.asked) == sorted(refused)
    assert 0 < len(refused) < 6


def test_a_suite_has_datasets_with_settings_of_their_own(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "greedy: {dataset: arithmetic, prep: {level: tiny, n_test: 6, n_train: 1}, temperature: 0}\n"
        "twice: {dataset: arithmetic, prep: {level: tiny, n-test: 6, n_train: 1}, n: 2, limit: 3, stop: [a, b]}\n"
    )
    assert evaluate(server, "--suite", str(suite), "--out", "out", "--json", "--max-tokens", "9") == 0
    found = json.loads(capsys.readouterr().out)["datasets"]
    counts = {name: [one["responses"] for one in found[name]["figures"].values()] for name in found}
    assert counts == {"greedy": [6], "twice": [6]}
    assert {(body["temperature"], str(body.get("stop"))) for body in server.asked} == {
        (0.0, "None"),
        (1.0, "['a', 'b']"),
    }
    assert {body["max_tokens"] for body in server.asked} == {9}


def test_raw_data_is_known_by_its_content(server: Server, tmp_path: Path, cache: Path) -> None:
    if not (RAW / "gsm8k").is_dir():
        pytest.skip("GSM8K is not here")
    shutil.copytree(RAW / "gsm8k", tmp_path / "raw")
    prepared = cache / "rewardkit" / "prepared"
    for count, folder in ((1, RAW / "gsm8k"), (1, tmp_path / "raw"), (2, tmp_path / "raw")):
        assert evaluate(server, "gsm8k", "--raw", str(folder), "--limit", "2", "--out", str(count)) == 0
        assert len(list(prepared.iterdir())) == count
        if folder != RAW / "gsm8k":
            (tmp_path / "raw" / "NOTES.txt").write_text("another source")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gsm8x"], "did you mean gsm8k"),
        (["gsm8k"], "pass --model"),
        (["arithmetic", "--model", "m", "--prep", "levle=tiny"], "did you mean level"),
        (["arithmetic", "--model", "m", "--prep", "n_test=many"], "valid integer"),
        (["arithmetic", "--model", "m", *TINY, "--split", "tset"], "did you mean test"),
        (["arithmetic", "known.jsonl", "--model", "m"], "known.jsonl is a file"),
        (["known.jsonl", "--split", "test"], "--split apply only to datasets"),
        (["--suite", "suite.yaml", "--model", "m"], "did you mean temperature"),
        (["--suite", "none.yaml", "--model", "m"], "cannot read none.yaml"),
        (["--suite", "suite.yaml", "gsm8k"], "--suite cannot be combined"),
    ],
)
def test_what_cannot_be_evaluated_is_said_in_a_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("known.jsonl").write_text("{}\n")
    Path("suite.yaml").write_text("arithmetic: {temprature: 0}\n")
    assert run(["eval", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_datasets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "--list"]) == 0
    assert "openai/gsm8k" in capsys.readouterr().out
