"""Columns of any type: what nobody scores does not stop a run, and every format of output can hold it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from rewardkit import score_frame
from rewardkit.cli import run
from rewardkit.errors import InputError
from rewardkit.generation.files import write_table
from rewardkit.offline import read_samples

ROWS = {"data_source": ["gsm8k"] * 2, "response": ["#### 3", "#### 4"], "ground_truth": ["3", "3"]}
COLUMNS: dict[str, Any] = {
    "nanoseconds": pa.array([1, None], pa.timestamp("ns")),
    "duration": pa.array([1, None], pa.duration("ns")),
    "nested": pa.array([{"a": [1]}, None], pa.struct({"a": pa.list_(pa.duration("ns"))})),
    "late": pa.array([10**7, 1], pa.date32()),
    "later": pa.array([10**14, 1], pa.timestamp("s")),
    "elsewhere": pa.array([1, None], pa.timestamp("us", "Mars/Base")),
    "no_keys": pa.array([{}, None], pa.struct([])),
    "months": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "runs": pa.RunEndEncodedArray.from_arrays([2], [7]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_column_of_any_type_goes_into_any_output(tmp_path: Path, name: str, suffix: str) -> None:
    source = tmp_path / "in.arrow"
    feather.write_feather(pa.table({**ROWS, name: COLUMNS[name]}), source, compression="uncompressed")
    out = tmp_path / f"out.{suffix}"
    assert run(["score", str(source), "--out", str(out)]) == 0
    scored = [sample for batch in read_samples([out]) for sample in batch.usable]
    assert [sample.response for sample in scored] == ROWS["response"]


def test_dates_that_python_has_are_as_before(tmp_path: Path) -> None:
    pq.write_table(pa.table({**ROWS, "day": [date(2020, 1, 1)] * 2}), tmp_path / "in.parquet")
    out = tmp_path / "out.jsonl"
    assert run(["score", str(tmp_path / "in.parquet"), "--out", str(out)]) == 0
    assert json.loads(out.read_text().splitlines()[0])["day"] == "2020-01-01"


def test_what_parquet_cannot_hold_is_one_line_and_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    column = pa.array([10**17, 1], pa.timestamp("s"))  # parquet counts milliseconds
    source = tmp_path / "in.arrow"
    feather.write_feather(pa.table({**ROWS, "then": column}), source, compression="uncompressed")
    assert run(["score", str(source), "--out", str(tmp_path / "out.parquet")]) == 2
    assert "error: cannot write parquet: " in capsys.readouterr().err
    assert not (tmp_path / "out.parquet").exists()


def test_generated_rows_with_columns_that_parquet_lacks_are_written(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["a", "b"], "no_keys": COLUMNS["no_keys"], "late": COLUMNS["late"]})
    for suffix in ("parquet", "jsonl"):
        write_table(table, tmp_path / f"out.{suffix}")
    assert pq.read_table(tmp_path / "out.parquet")["no_keys"].to_pylist() == ["{}", None]
    assert '"late":"29349-01-26"' in (tmp_path / "out.jsonl").read_text()


def test_half_a_character_in_a_json_file_is_one_as_in_lines(tmp_path: Path) -> None:
    row = '{"data_source": "gsm8k", "response": "\\ud800 #### 3", "ground_truth": "3"}'
    (tmp_path / "in.json").write_text(f"[{row}]")
    (batch,) = read_samples([tmp_path / "in.json"])
    assert [sample.response for sample in batch.usable] == ["� #### 3"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, "a"]),
        pd.Series([10**30, 1]),
        pd.Series([{1, 2}, None]),
        pd.Series([1j, 2j]),
        pd.Series([{"a": 1}, {"a": "b"}]),
    ],
    ids=["numbers and text", "large", "sets", "complex", "fields of two types"],
)
def test_a_frame_with_columns_that_arrow_refuses_is_scored(column: pd.Series[Any]) -> None:
    assert score_frame(pd.DataFrame({**ROWS, "other": column}))["score"].tolist() == [1.0, 0.1]


def test_a_frame_of_mixed_values_is_read_as_lines_are() -> None:
    frame = pd.DataFrame({**ROWS, "response": ["#### 3", 5], "ground_truth": [3, "4"]})
    scored = score_frame(frame, mark_bad=True)
    assert scored["status"].tolist() == ["ok", "invalid"]
    assert scored["detail"][1].startswith("the response is 5")


def test_two_columns_of_one_name_are_named() -> None:
    frame = pd.concat([pd.DataFrame(ROWS)] * 2, axis=1)
    table = pa.table([pa.array(["x"])] * 2, names=["response", "response"])
    for one in (frame, table):
        with pytest.raises(InputError, match="two columns named"):
            score_frame(one)
