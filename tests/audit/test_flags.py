"""A flag that an audit gives to a row reaches everything that reads the row."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import rewardkit
from rewardkit.audit import Audit, Hole, Payment, SourceAudit, WeakRow
from rewardkit.audit.flags import find_flags, write_flags
from rewardkit.cli import run
from rewardkit.errors import InputError
from rewardkit.labels.labelled import read_labelled
from rewardkit.rows import FLAGS, RowNames, flags_of
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.config.root import DataConfig
from rewardkit.trainer.data import load_rows

ROWS = 30


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompts")
    raw = folder / "test.jsonl"
    raw.write_text(
        "".join(json.dumps({"q": f"What is {i} + 1?", "a": str(i + 1)}) + "\n" for i in range(ROWS))
    )
    rewardkit.prepare("custom", folder / "out", raw=str(raw), prompt_key="q", answer_key="a", reward="gsm8k")
    return folder / "out" / "test.parquet"


def _kept(file: Path, **settings: object) -> list[int]:
    config = DataConfig(train_files=str(file))
    rows = load_rows(str(file), None, config, tokenise=lambda raw: [1], **settings)  # type: ignore[arg-type]
    return [int(row.ground_truth) - 1 for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_a_flag_reaches_prep_training_and_evaluation(seed: int, prompts: Path, tmp_path: Path) -> None:
    chance = random.Random(seed)
    given = {row: chance.sample(FLAGS, chance.randint(1, 3)) for row in chance.sample(range(ROWS), 12)}
    flagged = tmp_path / "flagged.parquet"
    counts = write_flags(prompts, flagged, given)

    table = pq.read_table(flagged)
    assert table.drop_columns("extra_info") == pq.read_table(prompts).drop_columns("extra_info")
    found = dict(enumerate(map(flags_of, table["extra_info"].to_pylist())))
    assert {row: list(flags) for row, flags in found.items() if flags} == given

    settings = {"prompt_key": "prompt", "answer_key": "ground_truth", "data_source_key": "data_source"}
    raw = str(flagged)
    whole = rewardkit.prepare("custom", tmp_path / "whole", raw=raw, split_name="test", **settings)
    clean = rewardkit.prepare(
        "custom", tmp_path / "clean", raw=raw, split_name="test", skip_bad=True, **settings
    )
    assert whole.result.files["test"].rows == ROWS
    assert clean.result.dropped == len(given)
    kept = pq.read_table(clean.files["test"])["extra_info"].to_pylist()
    assert [info["index"] for info in kept] == [row for row in range(ROWS) if row not in given]

    for flags in [[flag] for flag in FLAGS] + [list(FLAGS)]:
        left = [row for row in range(ROWS) if set(flags).isdisjoint(given.get(row, ()))]
        assert _kept(flagged, leave_out=flags) == left
    assert _kept(flagged) == list(range(ROWS))

    answered = tmp_path / "responses.parquet"
    right = [chance.random() < 0.5 for _ in range(ROWS)]
    responses = [f"#### {i + 1 if right[i] else -1}" for i in range(ROWS)]
    pq.write_table(table.append_column("response", [responses]), answered)
    by_flag = {name.rpartition(": ")[2]: one for name, one in rewardkit.evaluate(answered).by_flag.items()}
    assert {name: one.prompts for name, one in by_flag.items() if name in FLAGS} == dict(counts)
    clear = [right[i] for i in range(ROWS) if i not in given]
    assert by_flag["no flags"].accuracy is not None
    assert by_flag["no flags"].accuracy.mean == pytest.approx(sum(clear) / len(clear))


def test_training_refuses_to_leave_out_rows_that_no_audit_has_flagged(prompts: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--flag"):
        _kept(prompts, leave_out=["weak_tests"])
    write_flags(prompts, tmp_path / "none.parquet", {})
    assert len(_kept(tmp_path / "none.parquet", leave_out=["weak_tests"])) == ROWS
    with pytest.raises(InputError, match="weak_tests"):
        _kept(tmp_path / "none.parquet", leave_out=["weak_test"])


def test_flags_are_added_to_lines_of_json_and_replace_earlier_ones(tmp_path: Path) -> None:
    rows = [
        {"prompt": "a", "ground_truth": "1"},
        {"prompt": "b", "ground_truth": "2", "extra_info": {"index": 7}},
    ]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_flags(lines, tmp_path / "one.parquet", {0: ["weak_tests"]})
    write_flags(tmp_path / "one.parquet", tmp_path / "two.parquet", {1: ["pays_constant"]})
    found = pq.read_table(tmp_path / "two.parquet")["extra_info"].to_pylist()
    assert found == [{"index": None, "audit": []}, {"index": 7, "audit": ["pays_constant"]}]


def test_rows_get_flags_for_what_an_audit_found(tmp_path: Path) -> None:
    answers = ["#### 1", "#### 72", "#### 5", ""]
    rows = [
        {
            "data_source": "gsm8k",
            "prompt": f"Question {i}",
            "ground_truth": truth,
            "extra_info": {"answer": answers[i]},
        }
        for i, truth in enumerate(["1", "73", "5", "7"])
    ]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    weak = WeakRow(2, "a change", "def f(): ...", "f()", "1", "2")
    hole = Hole("constant", 1.0, 1.0, "", (Payment("#### 7", 1.0, 1.0, 3, "7"),))
    audit = Audit(str(lines), (SourceAudit("gsm8k", 4, holes=(hole,), weak_rows=(weak,)),))
    with Scorer() as scorer:
        found = find_flags(read_labelled(lines, RowNames(), None), scorer, audit)
        assert found == {1: ["denies_reference"], 2: ["weak_tests"], 3: ["pays_constant"]}
        framed = Audit(str(lines), (SourceAudit("gsm8k", 4, "#### {}"),))
        assert find_flags(read_labelled(lines, RowNames(), None), scorer, framed) == {}


def test_the_command_flags_rows_whose_tests_a_wrong_program_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "```python\ndef even(n):\n    return n % 2 == 0\n```"
    tests = (
        ["assert even(2) == True", "assert even(8) == True"],
        ["assert even(2) == True", "assert even(3) == False"],
    )
    rows = [
        {
            "data_source": "mbpp",
            "prompt": f"Write a function, {i}",
            "ground_truth": json.dumps({"test_list": tests[i % 2]}),
            "extra_info": {"answer": code if i < 3 else "I do not know."},
        }
        for i in range(4)
    ]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    flagged = tmp_path / "flagged.parquet"
    assert run(["audit", str(lines), "--flag", str(flagged), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["sources"]
    assert (found["tested_rows"], [weak["row"] for weak in found["weak_rows"]]) == (3, [0, 2])
    flags = [flags_of(info) for info in pq.read_table(flagged)["extra_info"].to_pylist()]
    assert flags == [("weak_tests",), (), ("weak_tests",), ("denies_reference",)]
