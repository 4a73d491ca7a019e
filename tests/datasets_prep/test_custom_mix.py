"""`prep custom` on mixes: each row's own data source, and ground truths that its reward can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.datasets_prep import custom
from rewardkit.datasets_prep.common.recipe import PrepResult
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.errors import InputError, UnknownDataSourceError
from tests.datasets_prep.test_custom import write_jsonl

_KEPT = {"instruction_id_list": ["change_case:english_lowercase"], "kwargs": [{}]}
MIX: list[dict[str, Any]] = [
    {"question": "2 + 3?", "ground_truth": "5", "dataset": "gsm8k"},
    {"question": "Half?", "ground_truth": "\\frac{1}{2}", "dataset": "math"},
    {"question": "Say hello in lower case.", "ground_truth": json.dumps(_KEPT), "dataset": "ifeval"},
]


def prepared(folder: Path, rows: list[dict[str, Any]], **options: Any) -> tuple[PrepResult, list[Any]]:
    skip = bool(options.pop("skip_bad", False))
    raw = write_jsonl(folder / "mix.jsonl", rows)
    made = custom.prepare(folder / "out", PrepSettings(raw=raw, skip_bad=skip), **options)
    return made, pq.read_table(folder / "out" / "train.parquet").to_pylist()


def test_each_row_of_a_mix_is_scored_by_its_own_reward(tmp_path: Path) -> None:
    raw = write_jsonl(tmp_path / "mix.jsonl", MIX)
    out = tmp_path / "out"
    said = ["prep", "custom", "--raw", str(raw), "--data-source-key", "dataset", "--verify", "fail"]
    assert run([*said, "--out", str(out)]) == 0
    rows = pq.read_table(out / "train.parquet").to_pylist()
    assert [row["data_source"] for row in rows] == ["gsm8k", "math", "ifeval"]
    assert [row["extra_info"]["answer"] for row in rows] == [
        "#### 5",
        "The answer is \\boxed{\\frac{1}{2}}.",
        "",
    ]
    assert not (out / "rewards.yaml").exists()


@pytest.mark.slow
def test_words_of_a_column_get_the_rewards_that_are_named(tmp_path: Path) -> None:
    rows = [*MIX, {"question": "Capital of Peru?", "ground_truth": "Lima", "dataset": "trivia"}]
    raw = write_jsonl(tmp_path / "mix.jsonl", rows)
    out = tmp_path / "out"
    said = ["--data-source-key", "dataset", "--data-source", "mixed/set", "--verify", "fail"]
    said += ["--reward-of", "gsm8k=math", "--reward-of", "trivia=qa"]
    assert run(["prep", "custom", "--raw", str(raw), *said, "--out", str(out)]) == 0
    made = pq.read_table(out / "train.parquet")
    names = [f"mixed/set/{row['dataset']}" for row in rows]
    assert made.column("data_source").to_pylist() == names
    responses = [{**row, "response": row["extra_info"]["answer"]} for row in made.to_pylist()]
    write_jsonl(tmp_path / "said.jsonl", [row for row in responses if row["response"]])
    scored = tmp_path / "scored.jsonl"
    words = ["score", str(tmp_path / "said.jsonl"), "--rewards", str(out / "rewards.yaml")]
    assert run([*words, "--out", str(scored)]) == 0
    scores = [json.loads(line) for line in scored.read_text().splitlines()]
    assert [row["score"] for row in scores] == [1.0, 1.0, 1.0]
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(
        "data_source_key: dataset\ndata_source: mixed/set\nreward_of: {gsm8k: math, trivia: qa}\n"
    )
    again = ["prep", "custom", "--raw", str(raw), "--mapping", str(mapping), "--out", str(tmp_path / "b")]
    assert run(again) == 0
    assert pq.read_table(tmp_path / "b" / "train.parquet").equals(made)
    assert (tmp_path / "b" / "rewards.yaml").read_text() == (out / "rewards.yaml").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"row 3: .* 'mystery'.*--reward-of mystery=REWARD"),
        ({"data_source_key": "datset"}, "'datset'.*did you mean dataset"),
        (
            {"reward_of": ("gsm8k=math",)},
            "'gsm8k' .* gsm8k, not math.*--data-source PREFIX",
        ),
        (
            {"data_source_key": None, "reward": "math", "reward_of": ("a=math",)},
            "--data-source-key",
        ),
    ],
)
def test_a_mix_that_cannot_be_scored_is_one_line(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    rows = [*MIX, {"question": "?", "ground_truth": "1", "dataset": "mystery"}]
    with pytest.raises(InputError, match=message) as caught:
        prepared(tmp_path, rows, **{"data_source_key": "dataset", **options})
    assert "\n" not in str(caught.value)
    with pytest.raises(UnknownDataSourceError, match="did you mean math"):
        prepared(tmp_path, rows, data_source_key="dataset", reward_of=("mystery=maht",))


def test_rows_without_a_data_source_are_bad_rows(tmp_path: Path) -> None:
    rows = [*MIX, {"question": "?", "ground_truth": "1", "dataset": None}]
    made, kept = prepared(tmp_path, rows, data_source_key="dataset", skip_bad=True)
    assert (made.dropped, len(kept)) == (1, 3)
    assert made.first_dropped == ("mix.jsonl row 3: 'dataset' has no data source",)


def test_a_mix_under_one_reward_is_not_taken_silently(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 2: math cannot score it.*JSON object.*--data-source-key"):
        prepared(tmp_path, MIX, reward="math")
    made, _ = prepared(tmp_path, MIX[:2], reward="math")
    assert "column 'dataset' contains gsm8k" in made.notes[-1]
    assert "--data-source-key dataset" in made.notes[-1]
    made, _ = prepared(tmp_path, MIX[1:2], reward="math")
    assert not any("column" in note for note in made.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reward", "good", "bad", "why"),
    [
        ("math", "\\frac{1}{2}", "\\frac{1}{", "is truncated"),
        ("choice", "B", "Paris", "not one of the options"),
        ("qa", '["Lima"]', "[]", "no answer to accept"),
        ("regex", "a+", "(", "not a regular expression"),
        ("ifeval", json.dumps(_KEPT), '{"name": "validate_lowercase"}', "instruction_id_list"),
    ],
)
def test_every_ground_truth_is_read_by_its_reward(
    tmp_path: Path, reward: str, good: str, bad: str, why: str
) -> None:
    rows = [{"question": "Do it.", "answer": truth} for truth in (good, bad, good)]
    with pytest.raises(
        InputError, match=rf"mix.jsonl row 1: \w+ cannot score it: .*{why}.*--skip-bad"
    ) as caught:
        prepared(tmp_path, rows, reward=reward)
    assert "\n" not in str(caught.value)
    made, kept = prepared(tmp_path, rows, reward=reward, skip_bad=True)
    assert (made.dropped, len(kept)) == (1, 2)


def test_the_options_that_are_kept_may_be_the_ground_truth(tmp_path: Path) -> None:
    rows = [{"question": "Capital of France?", "choices": ["Rome", "Paris"], "answer": "Paris"}]
    _, kept = prepared(tmp_path, rows, reward="choice", keep=("choices",))
    assert [row["prompt"][0]["content"] for row in kept] == ["Capital of France?"]
    with pytest.raises(InputError, match="one of the options"):
        prepared(tmp_path, [{**rows[0], "answer": "Bonn"}], reward="choice", keep=("choices",))
