"""`rewardkit serve --gold`: a real server process, and a trainer that sends prompts and responses alone."""

from __future__ import annotations

from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.datasets_prep.common.schema import SCHEMA, Row, chat
from tests.server.serving import serve


@pytest.mark.slow
def test_serve_answers_from_its_gold_and_reports_what_it_cannot_use(tmp_path: Path) -> None:
    rows = [
        Row("gsm8k", chat(question), "math", truth, "train", i, question, "")
        for i, (question, truth) in enumerate([("Six times 12?", "72"), ("Twice?", "1"), ("Twice?", "2")])
    ]
    path = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist([row.as_record() for row in rows], schema=SCHEMA), path)
    texts = [
        f"<|user|>\n{question}<|assistant|>\n#### 72<|end|>" for question in ("Six times 12?", "Twice?", "?")
    ]
    with serve("--no-sandbox", "--gold", str(path), "--on-failure", "-1") as server:
        answer = httpx.post(f"{server.url}/llama_factory", json={"model": "model", "messages": texts})
    assert answer.json()["scores"] == [1.0, -1.0, -1.0]
    flat = " ".join(server.said.split())
    assert "rows indexed by prompt: 3; " in flat


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on-failure", "nan"], "'--on-failure': nan "),
        (["--gold", "{folder}/bad.parquet"], "no column 'prompt'"),
    ],
)
def test_serve_refuses_what_it_cannot_use(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"data_source": ["a"]}), tmp_path / "bad.parquet")
    assert run(["serve", "--port", "0", *(word.format(folder=tmp_path) for word in words)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
