"""APPS, TACO, CodeContests and LiveCodeBench: published forms become rows that the code reward judges."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.datasets_prep import DATASETS, apps, code_contests, livecodebench, taco
from rewardkit.datasets_prep.common.recipe import PrepResult
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.verification import solutions_scored_by, verify_file
from rewardkit.errors import InputError
from rewardkit.sandbox.levels import why_not
from rewardkit.scoring.scorer import Scorer

Record = dict[str, Any]
Prepare = Callable[..., PrepResult]

DOUBLE = "print(2 * int(input()))"
WRONG = "print(3 * int(input()))"
STDIN = {"inputs": ["1\n", "5\n", "0\n"], "outputs": ["2\n", "10\n", "0\n"]}
CALLS = {"fn_name": "double", "inputs": [[1], [5]], "outputs": [[2], [10]]}
STARTER = "class Solution:\n    def double(self, x: int) -> int:\n"

APPS = {
    "problem_id": 7,
    "question": "Double the number.",
    "solutions": json.dumps([DOUBLE, "not tried"]),
    "input_output": json.dumps(STDIN),
    "difficulty": "interview",
    "url": "https://example.org/7",
    "starter_code": "",
}
CONTEST = {
    "name": "7_A. Double",
    "description": "Double the number.",
    "public_tests": {"input": ["1\n"], "output": ["2\n"]},
    "private_tests": {"input": [], "output": []},
    "generated_tests": {"input": ["5\n", "0\n"], "output": ["10\n", "0\n"]},
    "solutions": {"language": [1, 2, 3], "solution": ["print 2 * input()", "int main() {}", DOUBLE]},
    "time_limit": {"seconds": 1, "nanos": 500000000},
    "memory_limit_bytes": 64000000,
    "input_file": "",
}
CASES = [{"input": "1\n", "output": "2\n", "testtype": "stdin"}]
HIDDEN = [{"input": "5\n", "output": "10\n", "testtype": "stdin"}]
LIVE = {
    "question_title": "Double",
    "question_content": "Double the number.",
    "platform": "atcoder",
    "question_id": "abc1_a",
    "starter_code": "",
    "difficulty": "easy",
    "public_test_cases": json.dumps(CASES),
    "private_test_cases": json.dumps(HIDDEN),
    "metadata": "{}",
}


class Runs:
    """A pickle of this would call a function when loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("loaded",))


def packed(value: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def made(
    prepare: Prepare,
    folder: Path,
    *records: Record,
    split: str = "train",
    skip_bad: bool = False,
    **options: Any,
) -> list[Record]:
    raw = folder / f"{split}.jsonl"
    raw.write_text("".join(json.dumps(record) + "\n" for record in records))
    prepare(folder / "out", PrepSettings(raw=raw, skip_bad=skip_bad), **options)
    rows: list[Record] = pq.read_table(folder / "out" / f"{split}.parquet").to_pylist()
    return rows


def failed_rows(folder: Path) -> list[int]:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    with Scorer() as scorer:
        return [failure.row for failure in verify_file(folder / "out" / "train.parquet", scorer).failures]


@pytest.mark.slow
def test_of_several_solutions_the_first_that_passes_stands_where_they_are_verified(tmp_path: Path) -> None:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    several = [WRONG, "print(raw_input())", "def broken(:", WRONG + "\n", DOUBLE, "print(0)"]
    record = {**CONTEST, "solutions": {"language": [3, 1, 1, 3, 3, 3], "solution": several}}
    none = with_solution(CONTEST, WRONG)
    first = made(code_contests.prepare, tmp_path, record, none)
    assert [row["extra_info"]["answer"] for row in first] == [f"```python\n{WRONG}\n```"] * 2
    with Scorer() as scorer, solutions_scored_by(scorer):
        verified = made(code_contests.prepare, tmp_path, record, none)
    answers = [row["extra_info"]["answer"] for row in verified]
    assert answers == [f"```python\n{DOUBLE}\n```", f"```python\n{WRONG}\n```"]
    assert failed_rows(tmp_path) == [1]


def with_solution(record: Record, program: str) -> Record:
    if record is CONTEST:
        return {**record, "solutions": {"language": [3], "solution": [program]}}
    return {**record, "solutions": json.dumps([program])}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prepare", "record", "data_source"),
    [
        (apps.prepare, APPS, "codeparrot/apps"),
        (code_contests.prepare, CONTEST, "deepmind/code_contests"),
    ],
    ids=["apps", "code_contests"],
)
def test_the_published_solution_passes_and_a_wrong_one_is_listed(
    prepare: Prepare, record: Record, data_source: str, tmp_path: Path
) -> None:
    good, wrong = made(prepare, tmp_path, record, with_solution(record, WRONG))
    assert good["data_source"] == data_source
    assert good["extra_info"]["answer"] == f"```python\n{DOUBLE}\n```"
    assert good["prompt"][0]["content"].startswith("Double the number.\n\nWrite a Python program that reads")
    limit = {"time_limit": 1.5} if prepare == code_contests.prepare else {}
    assert json.loads(good["ground_truth"]) == STDIN | limit == json.loads(wrong["ground_truth"])
    assert failed_rows(tmp_path) == [1]


@pytest.mark.slow
def test_a_function_problem_shows_its_starter_code(tmp_path: Path) -> None:
    record = {**APPS, "input_output": json.dumps(CALLS), "starter_code": STARTER}
    right = with_solution(record, f"{STARTER}        return 2 * x")
    wrong = with_solution(record, f"{STARTER}        return 3 * x")
    row = made(taco.prepare, tmp_path, right, wrong)[0]
    assert STARTER.rstrip() in row["prompt"][0]["content"]
    assert json.loads(row["extra_info"]["metadata"])["starter_code"] == STARTER
    assert json.loads(row["ground_truth"])["fn_name"] == "double"
    assert failed_rows(tmp_path) == [1]


@pytest.mark.parametrize(("prepare", "record"), [(apps.prepare, APPS), (code_contests.prepare, CONTEST)])
def test_max_tests_keeps_the_first(prepare: Prepare, record: Record, tmp_path: Path) -> None:
    (row,) = made(prepare, tmp_path, record, max_tests=2)
    ground_truth = json.loads(row["ground_truth"])
    assert (ground_truth["inputs"], ground_truth["outputs"]) == (["1\n", "5\n"], ["2\n", "10\n"])
    with pytest.raises(InputError, match=r"max_tests .* 1, not 0"):
        made(prepare, tmp_path, record, max_tests=0)


@pytest.mark.parametrize(
    ("prepare", "record", "why"),
    [
        (apps.prepare, {**APPS, "input_output": ""}, "'input_output' is empty"),
        (apps.prepare, {**APPS, "input_output": "{"}, "'input_output' is not JSON"),
        (apps.prepare, {**APPS, "input_output": '{"inputs": []}'}, "must contain a list 'outputs'"),
        (taco.prepare, {**APPS, "input_output": '{"inputs": ["1"], "outputs": []}'}, "of equal length"),
        (
            code_contests.prepare,
            {**CONTEST, "public_tests": None, "generated_tests": None},
            "no tests",
        ),
        (code_contests.prepare, {**CONTEST, "input_file": "in.txt"}, "only standard input"),
        (livecodebench.prepare, {**LIVE, "private_test_cases": packed(Runs())}, "only text is allowed"),
        (livecodebench.prepare, {**LIVE, "private_test_cases": "&"}, "packed test cases"),
    ],
)
def test_a_row_without_usable_tests_is_named_or_dropped(
    prepare: Prepare, record: Record, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {apps.prepare: APPS, taco.prepare: APPS, code_contests.prepare: CONTEST}.get(prepare, LIVE)
    split = "test" if good is LIVE else "train"
    with pytest.raises(InputError, match=rf"^{split}.jsonl row 1: .*{why}.*--skip-bad") as caught:
        made(prepare, tmp_path, good, record, split=split)
    assert "\n" not in str(caught.value)
    assert len(made(prepare, tmp_path, good, record, split=split, skip_bad=True)) == 1
    assert "loaded" not in capsys.readouterr().out


def test_settings_of_an_instruction_that_are_not_json_are_named_or_skipped(tmp_path: Path) -> None:
    good = {
        "prompt": "Say hello.",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": ["{}"],
        "key": 1,
    }
    rows = tmp_path / "ifeval.jsonl"
    rows.write_text("".join(json.dumps(one) + "\n" for one in (good, {**good, "kwargs": ["{"]})))
    with pytest.raises(InputError, match=r"row 1: .*'kwargs' .*JSON"):
        DATASETS["ifeval"].load()(tmp_path / "out", PrepSettings(raw=rows))
    result = DATASETS["ifeval"].load()(tmp_path / "out", PrepSettings(raw=rows, skip_bad=True))
    assert result.dropped == 1


def test_code_contests_is_read_from_parquet_and_takes_python_3_only(tmp_path: Path) -> None:
    old = {**CONTEST, "solutions": {"language": [1], "solution": ["print 2 * input()"]}}
    pq.write_table(pa.Table.from_pylist([CONTEST, old]), tmp_path / "train-00000-of-00001.parquet")
    code_contests.prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "train-00000-of-00001.parquet"))
    first, second = pq.read_table(tmp_path / "out" / "train.parquet").to_pylist()
    assert (first["extra_info"]["answer"], second["extra_info"]["answer"]) == (
        f"```python\n{DOUBLE}\n```",
        "",
    )
    metadata = json.loads(first["extra_info"]["metadata"])
    assert metadata["time_limit"] == {"seconds": 1, "nanos": 500000000}
    assert metadata["memory_limit_bytes"] == 64000000


@pytest.mark.parametrize(
    "old",
    [
        "print 2 * input()",
        "n = int(raw_input())\nprint(2 * n)",
        "",
    ],
)
def test_a_solution_in_python_2_is_passed_over(old: str, tmp_path: Path) -> None:
    record = {**APPS, "solutions": json.dumps([old, DOUBLE])}
    (row,) = made(apps.prepare, tmp_path, record)
    assert row["extra_info"]["answer"] == f"```python\n{DOUBLE}\n```"


@pytest.mark.parametrize("private", [json.dumps(HIDDEN), packed(json.dumps(HIDDEN))])
def test_livecodebench_joins_public_and_private_tests(private: str, tmp_path: Path) -> None:
    record = {**LIVE, "private_test_cases": private}
    (row,) = made(livecodebench.prepare, tmp_path, record, split="test")
    assert json.loads(row["ground_truth"]) == {"public_test_cases": [*CASES, *HIDDEN], "metadata": {}}
    assert row["extra_info"]["answer"] == ""


def test_a_date_in_parquet_is_kept_as_text(tmp_path: Path) -> None:
    raw = tmp_path / "test.parquet"
    pq.write_table(pa.Table.from_pylist([{**LIVE, "contest_date": datetime(2024, 5, 1)}]), raw)
    livecodebench.prepare(tmp_path / "out", PrepSettings(raw=raw))
    (row,) = pq.read_table(tmp_path / "out" / "test.parquet").to_pylist()
    assert json.loads(row["extra_info"]["metadata"])["contest_date"] == "2024-05-01T00:00:00"


def test_livecodebench_names_its_function(tmp_path: Path) -> None:
    case = {"input": "1", "output": "2", "testtype": "functional"}
    record = {
        **LIVE,
        "starter_code": STARTER,
        "public_test_cases": json.dumps([case]),
        "private_test_cases": "[]",
        "metadata": '{"func_name": "double"}',
    }
    (row,) = made(livecodebench.prepare, tmp_path, record, split="test")
    assert STARTER.rstrip() in row["prompt"][0]["content"]
    assert json.loads(row["ground_truth"])["metadata"] == {"func_name": "double"}
    row["extra_info"]["answer"] = f"```python\n{STARTER}        return 2 * x\n```"
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "out" / "train.parquet")
    assert failed_rows(tmp_path) == []


def test_rows_without_a_solution_are_counted_and_not_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tmp_path / "test.jsonl"
    raw.write_text(json.dumps(LIVE) + "\n")
    out = str(tmp_path / "out")
    assert run(["prep", "livecodebench", "--raw", str(raw), "--out", out, "--verify"]) == 0
    assert "test: 1 rows have" in capsys.readouterr().out
    assert (
        run(["prep", "livecodebench", "--raw", str(raw), "--out", out, "--verify", "--json", "--force"]) == 0
    )
    split = json.loads(capsys.readouterr().out)["splits"]["test"]
    assert (split["verified"], split["failed"], split["without_solution"]) == (0, 0, 1)


def test_values_that_are_not_packed_as_text_are_taken(tmp_path: Path) -> None:
    """As TACO-verified has its solutions."""
    record = {**APPS, "solutions": [DOUBLE], "input_output": STDIN}
    (tmp_path / "train.jsonl").write_text(json.dumps(record) + "\n")
    taco.prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "train.jsonl"))
    (row,) = pq.read_table(tmp_path / "out" / "train.parquet").to_pylist()
    assert DOUBLE in row["extra_info"]["answer"]
    assert json.loads(row["ground_truth"])["inputs"] == STDIN["inputs"]
