"""`rewardkit generate --score` scores each response from when it ends, as `rewardkit score` would afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Sample, Scorer
from rewardkit.cli import run
from rewardkit.errors import InputError, UnknownDataSourceError
from rewardkit.generation.scoring_along import ScoringAlong
from rewardkit.generation.types import Completion
from rewardkit.logs.layout import ReadOptions
from rewardkit.registry import Registry, Reward, Running
from rewardkit.scoring.pending import Pending
from tests.generation.endpoints import Server

TRUTHS = ["0", "1", "nothing"]


@pytest.fixture
def server() -> Iterator[Server]:
    with closing(Server()) as server:
        yield server


def prompts(**columns: Any) -> pa.Table:
    return pa.table({"prompt": [f"#### {i}" for i in range(3)], "ground_truth": TRUTHS, **columns})


def longest(samples: Sequence[Sample]) -> list[float]:
    most = max(len(sample.response) for sample in samples)
    return [float(len(sample.response) == most) for sample in samples]


class Watched(Scorer):
    """Keeps what it was given."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.given: list[list[str]] = []

    def submit(self, samples: Sequence[Sample]) -> Pending:
        self.given.append([sample.response for sample in samples])
        return super().submit(samples)


def test_a_file_is_scored_as_score_would_score_it(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text('prompt,ground_truth\n"#### 0\n",0\n"#### 1\n",1\n"#### 2\n",7\n')
    out = tmp_path / "gen.parquet"
    words = ["generate", str(path), "--url", server.url, "--model", "m", "-n", "2", "--data-source", "gsm8k"]
    assert run([*words, "--out", str(out), "--score", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["data_sources"]["gsm8k"]["accuracy"] == pytest.approx(2 / 3)
    found = pq.read_table(out).to_pylist()
    assert [row["score"] for row in found] == [[1.0, 1.0], [1.0, 1.0], [0.1, 0.1]]
    assert run([*words, "--out", str(tmp_path / "bare.parquet")]) == 0
    assert run(["score", str(tmp_path / "bare.parquet"), "--data-source", "gsm8k"]) == 0
    assert pq.read_table(tmp_path / "bare.scored.parquet").to_pylist() == found


def test_each_response_is_scored_from_when_it_ends() -> None:
    table = prompts(data_source=["gsm8k"] * 3)
    with Watched() as scorer:
        along = ScoringAlong(scorer, table, ReadOptions(), 2)
        ends = [(2, 1), (0, 0), (1, 1), (0, 1), (2, 0), (1, 0)]
        for number, (row, sample) in enumerate(ends, 1):
            along.take(Completion(row, sample, f"#### {row}"))
            assert len(scorer.given) == number
        scored, report = along.into(table)
    assert scored["score"].to_pylist() == [[1.0, 1.0], [1.0, 1.0], [None, None]]
    assert (report.scored, report.failures["invalid"]) == (4, 2)


def test_a_group_is_scored_when_all_of_it_is_there() -> None:
    registry = Registry()
    registry.register(Reward("best", 1, longest, ("best",), running=Running(runs="inline", batch="group")))
    table = prompts(data_source=["best"] * 3)
    with Watched(registry=registry) as scorer:
        along = ScoringAlong(scorer, table, ReadOptions(), 2)
        for sample in range(2):
            for row in range(3):
                along.take(Completion(row, 1 - sample, "long" if sample else "longer"))
                assert len(scorer.given) == sample * (row + 1)
        assert along.into(table)[0]["score"].to_pylist() == [[0.0, 1.0]] * 3


def test_what_cannot_be_scored_is_said_before_anything_is_generated(server: Server, tmp_path: Path) -> None:
    with Scorer() as scorer, pytest.raises(InputError, match="--data-source"):
        ScoringAlong(scorer, prompts(), ReadOptions(), 1)
    with Scorer() as scorer, pytest.raises(UnknownDataSourceError):
        ScoringAlong(scorer, prompts(), ReadOptions(data_source="gsm9k"), 1)
    path = tmp_path / "prompts.parquet"
    pq.write_table(prompts(), path)
    words = ["generate", str(path), "--url", server.url, "--model", "m", "--out", str(tmp_path / "o.parquet")]
    assert run([*words, "--score"]) == 2
    assert not server.asked


def test_a_row_without_ground_truth_is_generated_and_invalid() -> None:
    table = pa.table({"prompt": ["a", "b"], "ground_truth": ["1", None]})
    with Scorer() as scorer:
        along = ScoringAlong(scorer, table, ReadOptions(data_source="gsm8k"), 1)
        for row in range(2):
            along.take(Completion(row, 0, "#### 1"))
        scored, _ = along.into(table)
    assert scored["status"].to_pylist() == [["ok"], ["invalid"]]
    assert "null" in scored["detail"].to_pylist()[1][0]
