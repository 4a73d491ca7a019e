"""The same row gives the same Sample through every entrance: training, files, frames, adapters, --gold, view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardkit import Sample, Scorer, score_frame
from rewardkit.adapters.columns import samples_from
from rewardkit.commands.view import read_rows as read_shown
from rewardkit.offline import read_samples
from rewardkit.rows import GROUND_TRUTH, RESPONSE, to_sample
from rewardkit.server.ground_truths import GroundTruthIndex
from rewardkit.server.known import KnownRow

Row = dict[str, Any]


def _nested(name: str, value: Any) -> Row:
    """A row's field of a possibly dotted name."""
    head, dot, rest = name.partition(".")
    return {head: _nested(rest, value) if dot else value}


def _write(path: Path, row: Row) -> Path:
    pq.write_table(pa.Table.from_pylist([row]), path)
    return path


def _in_training(path: Path) -> Sample:
    pytest.importorskip("torch")
    from rewardkit.trainer.data import read_rows

    (row,) = read_rows(path, "prompt")
    return Sample(row["data_source"], "", row["ground_truth"], row["prompt"], row["extra_info"])


def _in_a_file(path: Path) -> Sample:
    (batch,) = read_samples([path])
    assert not batch.bad
    return batch.samples[0]


def _in_an_adapter(row: Row) -> Sample:
    (response,) = (row[name] for name in RESPONSE if name in row)
    columns = {name: [value] for name, value in row.items() if name != "prompt"}
    return samples_from([response], columns, prompts=[row["prompt"]])[0]


def _behind_gold(path: Path, row: Row) -> Sample:
    found = GroundTruthIndex([path]).lookup(row["prompt"])
    assert isinstance(found, KnownRow)
    return Sample(found.data_source, "", found.ground_truth, None, found.extra_info)


GROUND_TRUTHS = st.one_of(
    st.text("0123456789.-+ab", min_size=1, max_size=8),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.integers(0, 10**6).map(float),
    st.booleans(),
    st.lists(st.text("xyz", min_size=1, max_size=3), min_size=1, max_size=3),
    st.fixed_dictionaries(
        {"inputs": st.lists(st.text("12", min_size=1), min_size=1), "n": st.integers(0, 9)}
    ),
)
PROMPTS = st.one_of(
    st.text("abc def", min_size=1).filter(str.strip),
    st.text("abc", min_size=1).map(lambda text: [{"role": "user", "content": text}]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(GROUND_TRUTH),
    st.sampled_from(RESPONSE),
    GROUND_TRUTHS,
    PROMPTS,
    st.fixed_dictionaries({"index": st.integers(0, 9), "note": st.text("ab")}),
)
def test_every_entrance_reads_the_same_row_as_the_same_sample(
    tmp_path: Path, truth_name: str, response_name: str, ground_truth: Any, prompt: Any, extra: Row
) -> None:
    row = {"data_source": "gsm8k", "prompt": prompt, "extra_info": extra, response_name: "#### 72"}
    row |= _nested(truth_name, ground_truth)
    path = _write(tmp_path / "row.parquet", row)
    wanted = to_sample("gsm8k", "#### 72", ground_truth, prompt, extra)
    assert _in_a_file(path) == wanted
    if isinstance(ground_truth, str | int | dict | list):  # JSON has no floats of 32 bits
        lines = tmp_path / "row.jsonl"
        lines.write_text(json.dumps(row))
        assert _in_a_file(lines) == wanted
    assert _in_an_adapter(row) == wanted
    trained = _in_training(path)
    assert (trained.data_source, trained.ground_truth) == (wanted.data_source, wanted.ground_truth)
    assert (trained.prompt, trained.extra_info) == (wanted.prompt, wanted.extra_info)
    gold = _behind_gold(path, row)
    assert (gold.ground_truth, gold.extra_info) == (wanted.ground_truth, wanted.extra_info)
    (shown,) = read_shown([path])
    assert (shown["response"], shown["ground_truth"]) == (wanted.response, wanted.ground_truth)


def test_a_whole_number_scores_alike_in_training_and_in_files(tmp_path: Path) -> None:
    """72.0 was '72.0' in training and '72' elsewhere: paid 0.0 against 1.0 by verl's comparison of texts."""
    row = {"data_source": "gsm8k", "prompt": "q", "response": "#### 72"} | _nested(
        "reward_model.ground_truth", 72.0
    )
    path = _write(tmp_path / "row.parquet", row)
    trained = _in_training(path)
    with Scorer(options={"gsm8k": {"compat": "verl"}}) as scorer:
        in_training = scorer.score(Sample("gsm8k", "#### 72", trained.ground_truth))
        in_a_file = score_frame(pq.read_table(path), scorer=scorer)["score"].to_pylist()
    assert ([in_training.score], in_a_file) == ([1.0], [1.0])
