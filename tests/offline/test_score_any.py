"""`rewardkit score` takes files as people have them: any known kind, any format, and rows that cannot be used."""

from __future__ import annotations

import csv
import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Scorer
from rewardkit.cli import run
from rewardkit.offline import ReadOptions, score, score_file
from rewardkit.registry import load_reward_file
from tests.living import until
from tests.logs import written as logs
from tests.logs.test_reader import write
from tests.logs.written import RIGHT, WRONG
from tests.offline.holding import write_reward

Rows = list[dict[str, Any]]

DEADLY = """
import os
from contextlib import suppress
from rewardkit import reward

@reward("deadly")
def deadly(sample):
    with suppress(FileExistsError):
        open({died!r}, "x").close()
        os._exit(1)
    return 1.0 if "7" in sample.response else 0.1
"""
"""A reward that ends the first process in which it is called."""


def _lines(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _plain(n: int) -> Rows:
    return [
        {"data_source": "gsm8k", "response": RIGHT if i % 2 else WRONG, "ground_truth": "7", "id": i}
        for i in range(n)
    ]


@pytest.mark.parametrize(
    ("rows", "name", "said", "scores"),
    [
        (logs.verl_dump(), "40.jsonl", "verl rollout dump: 4 rows, step 40", [1.0, 0.1, 1.0, 0.1]),
        (
            logs.trl_completions(),
            "completions_00003.parquet",
            "TRL completions: 4 rows, step 3",
            [1.0, 0.1] * 2,
        ),
    ],
)
def test_a_known_log_is_scored_with_its_name_and_data_source_alone(
    tmp_path: Path, rows: Rows, name: str, said: str, scores: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / name, rows)
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 0
    assert said in capsys.readouterr().err
    out = path.with_name(f"{path.stem}.scored{path.suffix}")
    found = pq.read_table(out).to_pylist() if path.suffix == ".parquet" else _lines(out)
    assert [row["score"] for row in found] == scores
    kept = {("logged_score" if key == "score" else key) for key in rows[0]}
    assert kept <= set(found[0]), "every column of the log is kept"


_ASKED = {"role": "user", "content": "3+4?"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (logs.answered(prompt="3+4?", predict=..., label="7"), "response 'predict', ground truth 'label'"),
        (logs.answered(prompt="3+4?", response=..., label="7", status="completed"), "slime rollouts"),
        (logs.answered(messages=[_ASKED], response=..., labels="7"), "ground truth 'labels'"),
        (logs.answered(messages=[_ASKED, {"role": "assistant", "content": ...}], solution="7"), "chats"),
        (
            logs.answered(
                conversations=[{"from": "human", "value": "3+4?"}, {"from": "gpt", "value": ...}], answer="7"
            ),
            "chats",
        ),
        (
            logs.answered(request_id="1", prompt="3+4?", outputs=[{"index": 0, "text": ...}], answer="7"),
            "vLLM outputs",
        ),
        (
            logs.answered(
                doc={"query": "3+4?", "choices": ["7"], "gold_index": 0}, model_response={"text": [...]}
            ),
            "lighteval details",
        ),
        (
            logs.answered(
                custom_id="a",
                result={"type": "succeeded", "message": {"content": [{"type": "text", "text": ...}]}},
                answer="7",
            ),
            "Anthropic batch results",
        ),
        (
            logs.answered(
                object="chat.completion", choices=[{"index": 0, "message": {"content": ...}}], answer="7"
            ),
            "answers of an API",
        ),
        (
            logs.answered(content=["3+4?", ..., "Environment: correct"], rewards=1.0, idx=0, answer="7"),
            "NeMo-RL training data",
        ),
        (
            logs.answered(prompt="3+4?", response=..., reward=0.0, extra_env_info={"ground_truth": "7"}),
            "ground truth 'extra_env_info.ground_truth'",
        ),
    ],
)
def test_responses_in_other_tools_places_are_found(
    tmp_path: Path, rows: Rows, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "log.jsonl", rows)
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 0
    assert said in capsys.readouterr().err
    assert [row["score"] for row in _lines(tmp_path / "log.scored.jsonl")] == [1.0, 0.1]


def test_each_response_of_a_batch_in_a_row_has_its_own_ground_truth(tmp_path: Path) -> None:
    """As ms-swift and ROLL write a step; else the list of ground truths would mean any of them."""
    step = {"prompt": ["3+4?", "4+5?"], "completion": ["\\boxed{7}", "\\boxed{7}"], "solution": ["7", "9"]}
    path = write(tmp_path / "completions.jsonl", [step, {**step, "prompt": "3+4?"}])
    assert run(["score", str(path), "--data-source", "math"]) == 0
    rows = _lines(tmp_path / "completions.scored.jsonl")
    assert [(row["prompt"], row["score"]) for row in rows[:2]] == [("3+4?", 1.0), ("4+5?", 0.0)]
    assert [row["status"] for row in rows[2:]] == ["invalid"]


_CALL = {"type": "function", "function": {"name": "add", "arguments": '{"x": 3}'}}
_USE = {"type": "tool_use", "id": "t", "name": "add", "input": {"x": 3}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [
        {"messages": [_ASKED, {"role": "assistant", "content": None, "tool_calls": [_CALL]}]},
        {"response": {"choices": [{"index": 0, "message": {"content": None, "tool_calls": [_CALL]}}]}},
        {"custom_id": "a", "result": {"type": "succeeded", "message": {"content": [_USE]}}},
    ],
)
def test_calls_of_tools_in_logs_are_scored(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write(tmp_path / "log.jsonl", [row | {"answer": [{"name": "add", "arguments": {"x": 3}}]}])
    assert run(["score", str(path), "--data-source", "tool_call"]) == 0
    assert [row["score"] for row in _lines(tmp_path / "log.scored.jsonl")] == [1.0]


def test_a_chat_that_ends_with_a_question_has_no_response(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = logs.answered(messages=[_ASKED], solution="7")
    answered = logs.answered(messages=[_ASKED, {"role": "assistant", "content": ...}], solution="7")
    path = write(tmp_path / "log.jsonl", [*answered, *asked])
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 0
    told = capsys.readouterr()
    assert "not from the assistant" in told.err and "2 of 4" in told.out


def test_a_batch_output_is_scored_with_a_join(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "out.jsonl", logs.batch_output())
    answers = write(tmp_path / "answers.csv", [{"id": f"q{i}", "answer": "7"} for i in range(3)])
    words = ["score", str(log), "--data-source", "gsm8k", "--join", str(answers), "--on", "custom_id=id"]
    assert run(words) == 0
    told = capsys.readouterr()
    assert "row 2: the request failed: 400" in told.err
    assert "4 of 5" in told.out
    assert [row["score"] for row in _lines(tmp_path / "out.scored.jsonl")] == [[1.0, 0.1], [1.0, 0.1], [None]]
    assert run([*words[:4], "--join", str(answers)]) == 2


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (".parquet", ".jsonl"),
        (".jsonl", ".parquet"),
        (".csv", ".parquet"),
        (".json", ".csv"),
        (".jsonl.gz", ".jsonl.gz"),
    ],
)
def test_every_format_is_read_and_written(tmp_path: Path, source: str, target: str) -> None:
    rows = _plain(5)
    path = write(tmp_path / f"in{source}", rows)
    out = tmp_path / f"out{target}"
    with Scorer(workers=1) as scorer:
        score_file(path, out, scorer=scorer)
    if target == ".parquet":
        found = pq.read_table(out).to_pylist()
    elif target == ".csv":
        found = list(csv.DictReader(out.open(newline="")))
    else:
        content = out.read_bytes()
        lines = gzip.decompress(content) if target == ".jsonl.gz" else content
        found = [json.loads(line) for line in lines.splitlines()]
    assert [float(row["score"]) for row in found] == [0.1, 1.0, 0.1, 1.0, 0.1]
    assert [(row["response"], str(row["id"])) for row in found] == [
        (r["response"], str(r["id"])) for r in rows
    ]
    assert [row["status"] for row in found] == ["ok"] * 5


def test_a_folder_gives_a_folder_and_several_files_may_give_one(tmp_path: Path) -> None:
    for name in ("split=a/1.jsonl", "split=b/2.parquet"):
        (tmp_path / "in" / name).parent.mkdir(parents=True)
        write(tmp_path / "in" / name, _plain(3))
    assert run(["score", str(tmp_path / "in")]) == 0
    assert len(_lines(tmp_path / "in.scored/split=a/1.jsonl")) == 3
    assert pq.read_table(tmp_path / "in.scored/split=b/2.parquet").num_rows == 3
    assert run(["score", f"{tmp_path}/in/*/*", "--out", str(tmp_path / "one.parquet")]) == 0
    one = pq.read_table(tmp_path / "one.parquet")
    assert one["id"].to_pylist() == [0, 1, 2] * 2
    assert one["split"].to_pylist() == ["a"] * 3 + ["b"] * 3, "what folders said, columns say"
    assert run(["score", str(tmp_path / "in"), "--out", str(tmp_path / "one.jsonl")]) == 0
    assert [row["split"] for row in _lines(tmp_path / "one.jsonl")] == ["a"] * 3 + ["b"] * 3
    assert "split" not in _lines(tmp_path / "in.scored/split=a/1.jsonl")[0]


def test_a_folder_of_one_file_goes_into_the_folder_beside_it(tmp_path: Path) -> None:
    (tmp_path / "runs.v2").mkdir()
    write(tmp_path / "runs.v2" / "in.jsonl", _plain(2))
    assert run(["score", str(tmp_path / "runs.v2")]) == 0
    assert len(_lines(tmp_path / "runs.v2.scored" / "in.jsonl")) == 2


def test_the_folder_that_one_stands_in_goes_into_the_folder_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs" / "below").mkdir(parents=True)
    write(tmp_path / "runs" / "in.jsonl", _plain(2))
    monkeypatch.chdir(tmp_path / "runs")
    assert run(["score", "."]) == 0
    assert len(_lines(tmp_path / "runs.scored" / "in.jsonl")) == 2
    monkeypatch.chdir("below")
    assert run(["score", "..", "--force"]) == 0
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.suffix == ".scored"] == []


@pytest.mark.parametrize("name", ["scored.jsnl", "a file/below/"])
def test_an_output_that_can_be_no_folder_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "a file").touch()
    path = write(tmp_path / "in.jsonl", _plain(2))
    assert run(["score", str(path), "--out", f"{tmp_path}/{name}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: cannot ") and f"{tmp_path}/{name}".rstrip("/") in line
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a file", "in.jsonl"]


def test_a_url_of_one_file_gives_no_folder_by_a_mistyped_suffix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["score", "sample://responses.jsonl", "--out", str(tmp_path / "scored.xlsx")]) == 2
    assert "ends in .parquet" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_standard_input_goes_to_standard_output(tmp_path: Path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in _plain(3))
    done = subprocess.run(
        [sys.executable, "-m", "rewardkit", "score", "-"], input=lines, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["score"] for line in done.stdout.splitlines()] == [0.1, 1.0, 0.1]
    assert "mean score" in done.stderr


@pytest.mark.slow
def test_a_reader_that_has_gone_is_no_error(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", _plain(6_000))
    command = f"{sys.executable} -m rewardkit score - < {path} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done.stderr
    assert "Traceback" not in done.stderr and "Error" not in done.stderr


def _with_bad_rows(path: Path) -> Path:
    rows = _plain(6)
    rows[1]["response"] = None
    rows[3]["ground_truth"] = None
    lines = [json.dumps(row).encode() for row in rows]
    path.write_bytes(b"\n".join([*lines, b'{"cut', b'{"response": "\xff"}']))
    return path


def test_bad_rows_are_told_and_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _with_bad_rows(tmp_path / "in.jsonl")
    assert run(["score", str(path)]) == 0
    told = capsys.readouterr()
    for wanted in (
        "row 1: 'response' is null",
        "row 3: 'ground_truth' is null",
        "row 6: the row is not JSON",
        "row 7: the row is not UTF-8",
    ):
        assert wanted in told.err
    assert ": 4, marked invalid" in told.err
    assert "4 of 6" in told.out
    found = _lines(tmp_path / "in.scored.jsonl")
    assert [row["status"] == "ok" for row in found] == [True, False, True, False, True, True, False, False]
    assert found[6]["unreadable"] == '{"cut'


def test_a_response_that_is_no_text_is_invalid_in_a_file_as_it_is_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _plain(3)
    rows[0]["response"], rows[1]["response"] = True, 1
    path = write(tmp_path / "in.jsonl", rows)
    assert run(["score", str(path)]) == 0
    assert "response is True" in capsys.readouterr().err
    assert [row["status"] for row in _lines(tmp_path / "in.scored.jsonl")] == ["invalid", "invalid", "ok"]


def test_bad_rows_are_left_out_or_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _with_bad_rows(tmp_path / "in.jsonl")
    for out in ("out.jsonl", "out.parquet", "out.csv"):
        assert run(["score", str(path), "--bad-rows", "drop", "--out", str(tmp_path / out)]) == 0
    assert [row["id"] for row in _lines(tmp_path / "out.jsonl")] == [0, 2, 4, 5]
    assert pq.read_table(tmp_path / "out.parquet")["id"].to_pylist() == [0, 2, 4, 5]
    capsys.readouterr()
    assert run(["score", str(path), "--bad-rows", "fail", "--force"]) == 2
    assert "row 1: 'response' is null; " in (err := capsys.readouterr().err) and "--bad-rows" in err


def test_an_unknown_source_among_known_ones_that_fails_is_not_answered_with_a_source_for_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [*_plain(3), _plain(1)[0] | {"data_source": "nope"}]
    assert run(["score", str(write(tmp_path / "in.jsonl", rows)), "--bad-rows", "fail"]) == 2
    said = capsys.readouterr().err
    assert "'nope'" in said and "--bad-rows mark" in said and "--data-source" not in said


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_a_row_with_one_response_among_rows_with_lists_keeps_its_score(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = {"data_source": "gsm8k", "responses": ["#### 72", "#### 1"], "ground_truth": "72"}
    path, out = write(tmp_path / "in.jsonl", [many, many | {"responses": "#### 72"}]), str(tmp_path / name)
    assert run(["score", str(path), "--out", out]) == 0
    capsys.readouterr()
    assert run(["eval", out, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["data_sources"].values()
    assert found["scored"] == 3 and found["score"]["mean"] == pytest.approx((1 + 0.1 + 1) / 3)


def test_nothing_scored_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row | {"ground_truth": "no number"} for row in _plain(3)]
    assert run(["score", str(write(tmp_path / "in.jsonl", rows))]) == 1
    assert "0 of 3" in capsys.readouterr().out
    rows = [row | {"data_source": "gms8k"} for row in _plain(3)]
    assert run(["score", str(write(tmp_path / "other.jsonl", rows))]) == 2
    assert "did you mean gsm8k" in capsys.readouterr().err


def test_an_unknown_source_among_known_ones_loses_only_its_rows(tmp_path: Path) -> None:
    rows = [*_plain(3), _plain(1)[0] | {"data_source": "gms8k"}]
    for name in ("in.jsonl", "in.parquet"):
        out = tmp_path / f"{name}.scored.jsonl"
        assert run(["score", str(write(tmp_path / name, rows)), "--out", str(out)]) == 0
        found = _lines(out)
        assert [row["status"] for row in found] == ["ok"] * 3 + ["invalid"]
        assert "did you mean gsm8k" in found[3]["detail"]


def test_an_output_is_replaced_only_with_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = (write(tmp_path / f"{name}.parquet", _plain(n)) for name, n in (("in", 3), ("other", 4)))
    out = tmp_path / "out.parquet"
    assert run(["score", str(path), "--out", str(out)]) == 0
    before = out.read_bytes()
    for words in ([str(path)], [str(other)], [str(other), "--resume"]):
        assert run(["score", *words, "--out", str(out)]) == 2
        assert "already exists" in capsys.readouterr().err
    assert run(["score", str(path), "--out", str(out), "--resume"]) == 0
    assert "is already complete" in capsys.readouterr().err
    assert out.read_bytes() == before
    assert run(["score", str(other), "--out", str(out), "--force"]) == 0
    assert pq.read_table(out).num_rows == 4


@pytest.mark.slow
def test_an_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", _plain(33_000))
    out, hold = tmp_path / "out.jsonl", tmp_path / "hold"
    progress = tmp_path / ".out.jsonl.progress"
    mine = write_reward(tmp_path / "mine.py", "gsm8k", hold=hold, progress=progress, chunks=1)
    words = ["score", str(path), "--reward", str(mine), "--workers", "2"]
    hold.touch()
    running = subprocess.Popen(
        [sys.executable, "-m", "rewardkit", *words, "--out", str(out)],
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: list(progress.glob("*.msgpack")))
    running.send_signal(signal.SIGINT)
    _, told = running.communicate()
    hold.unlink()
    assert (running.returncode, out.exists()) == (130, False)
    assert "--resume" in told and "Traceback" not in told
    assert run([*words, "--out", str(out), "--resume"]) == 0
    assert run([*words, "--out", str(tmp_path / "unbroken.jsonl")]) == 0
    assert out.read_bytes() == (tmp_path / "unbroken.jsonl").read_bytes()


def test_an_interrupt_keeps_every_score_of_a_small_file(tmp_path: Path) -> None:
    calls, hold = tmp_path / "calls", tmp_path / "hold"
    (tmp_path / "slow.py").write_text(
        "import time\nfrom pathlib import Path\nfrom rewardkit import reward\n"
        "@reward('own/slow')\ndef slow(sample):\n"
        f"    with open({str(calls)!r}, 'a') as file: file.write(sample.response + '\\n')\n"
        f"    while sample.response == 'r5' and Path({str(hold)!r}).exists(): time.sleep(0.05)\n"
        "    return float(len(sample.response))\n"
    )
    rows = [
        {"data_source": "own/slow", "prompt": "p", "response": f"r{i}", "ground_truth": "x"} for i in range(8)
    ]
    path, out = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    words = ["score", str(path), "--reward", str(tmp_path / "slow.py"), "--workers", "1", "--out", str(out)]
    hold.touch()
    running = subprocess.Popen([sys.executable, "-m", "rewardkit", *words], stderr=subprocess.PIPE, text=True)
    until(lambda: calls.exists() and "r5" in calls.read_text())
    time.sleep(0.5)  # the scores before it arrive
    running.send_signal(signal.SIGINT)
    assert "--resume" in running.communicate()[1]
    hold.unlink()
    assert run([*words, "--resume"]) == 0
    assert sorted(calls.read_text().split()) == sorted([*(f"r{i}" for i in range(8)), "r5"])
    assert [json.loads(line)["score"] for line in out.read_text().splitlines()] == [2.0] * 8
    assert not (tmp_path / ".out.jsonl.progress").exists()


@pytest.mark.slow
def test_a_worker_that_dies_loses_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "SMALL_BYTES", 0)
    reward = tmp_path / "deadly.py"
    reward.write_text(DEADLY.format(died=str(tmp_path / "died")))
    load_reward_file(str(reward))
    path = write(tmp_path / "in.parquet", [{**row, "data_source": "deadly"} for row in _plain(40_000)])
    with Scorer(workers=2) as scorer:
        report = score_file(path, tmp_path / "out.parquet", scorer=scorer)
        assert scorer.worker_counts.died == 1
    assert report.sources["deadly"].scored == 40_000
    assert pq.read_table(tmp_path / "out.parquet")["score"].to_pylist() == [0.1, 1.0] * 20_000


def test_a_damaged_row_group_is_told_and_the_rest_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.parquet"
    table = pa.Table.from_pylist(_plain(40))
    pq.write_table(
        table, path, row_group_size=10, write_page_checksum=True, compression="none", use_dictionary=False
    )
    content = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    content[column.data_page_offset + column.total_compressed_size - 3] ^= 0xFF
    path.write_bytes(content)
    assert run(["score", str(path)]) == 0
    assert "row 10: row group 1 " in capsys.readouterr().err
    found = pq.read_table(tmp_path / "in.scored.parquet").to_pylist()
    assert [i for i, row in enumerate(found) if row["status"] == "invalid"] == list(range(10, 20))
    assert [row["id"] for row in found[20:]] == list(range(20, 40))


def test_no_damage_anywhere_in_a_parquet_gives_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = write(tmp_path / "whole.parquet", _plain(20)).read_bytes()
    for place in range(4, len(whole), 37):
        content = bytearray(whole)
        content[place] ^= 0xFF
        (tmp_path / "in.parquet").write_bytes(content)
        assert run(["score", str(tmp_path / "in.parquet"), "--force", "--restart"]) in (0, 1, 2), place
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("empty", [{}, {"a": {}, "b": 1}], ids=["object", "inner"])
def test_objects_that_are_always_empty_go_into_parquet(tmp_path: Path, empty: Any) -> None:
    source = write(tmp_path / "r.jsonl", [{**row, "metrics": empty} for row in _plain(3)])
    with Scorer(workers=1) as scorer:
        score_file(source, tmp_path / "o.parquet", scorer=scorer)
    table = pq.read_table(tmp_path / "o.parquet").to_pylist()
    assert [row["score"] for row in table] == [0.1, 1.0, 0.1]
    assert [json.loads(row["metrics"]) for row in table] == [empty] * 3


def test_conversations_without_an_assistant_and_empty_lists_are_told(tmp_path: Path) -> None:
    """In lists of messages, and in lists of responses."""
    asked = {"role": "user", "content": RIGHT}
    for responses in ([[{"role": "assistant", "content": RIGHT}], [asked], []], [[RIGHT, WRONG], []]):
        rows = [{"completions": one, "answer": "7"} for one in responses]
        with Scorer(workers=1) as scorer:
            path = write(tmp_path / "log.parquet", rows)
            options = ReadOptions(data_source="gsm8k")
            out = score_file(path, tmp_path / "out.jsonl", scorer=scorer, options=options, force=True)
        scored = _lines(tmp_path / "out.jsonl")
        assert scored[0]["score"] in (1.0, [1.0, 0.1])
        assert {str(row["status"]) for row in scored[1:]} <= {"invalid", "['invalid']"}
        assert out.bad_count == len(rows) - 1
        assert list(out.sources) == ["gsm8k"], "they are counted under their data source"


_ANSWER = {"choices": [{"message": {"role": "assistant", "content": RIGHT}}]}
_ABORTED = "the server ended the request: abort"


@pytest.mark.parametrize(
    ("failed", "good", "why"),
    [
        (
            {"request_id": "1", "outputs": [{"text": RIGHT, "finish_reason": "abort"}], "answer": "7"},
            {"request_id": "2", "outputs": [{"text": RIGHT, "finish_reason": "stop"}], "answer": "7"},
            _ABORTED,
        ),
        (
            {"input_prompt": "", "output_response": RIGHT, "stop_reason": "abort", "env_extras": {}},
            {
                "input_prompt": "",
                "output_response": RIGHT,
                "env_extras": {"reward_spec": {"ground_truth": "7"}},
            },
            _ABORTED,
        ),
        (
            {"prompt": "", "response": RIGHT, "label": "7", "status": "aborted"},
            {"prompt": "", "response": RIGHT, "label": "7", "status": "completed"},
            "the row failed: 'status' is 'aborted'",
        ),
        (
            {**logs.verifiers()[0], "error": {"error": "ModelError"}},
            {**logs.verifiers()[0], "error": None},
            "the row failed: ModelError",
        ),
        (
            {"error": {"message": RIGHT}},
            {**_ANSWER, "answer": "7"},
            f"the API answered with an error: {RIGHT}",
        ),
        (
            {"object": "response", "status": "failed", "output": [], "answer": "7"},
            {
                "object": "response",
                "status": "completed",
                "output": [{"type": "message", "content": RIGHT}],
                "answer": "7",
            },
            "the API's answer has the status failed",
        ),
    ],
)
def test_a_file_that_begins_with_a_failed_request_is_scored(
    tmp_path: Path, failed: dict[str, Any], good: dict[str, Any], why: str
) -> None:
    path = write(tmp_path / "log.jsonl", [failed, good])
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 0
    first, second = _lines(tmp_path / "log.scored.jsonl")
    assert first["status"] in ("error", "invalid")
    assert " ".join(why.split()) in first["detail"]
    assert (second["status"], second["score"]) == ("ok", 1.0)


def test_the_json_of_a_row_is_no_response(tmp_path: Path) -> None:
    """The ground truth stands in it: any reward that looks for that anywhere would pay."""
    rows = [{**_ANSWER, "answer": "7"}, {"error": "timeout", "answer": "7"}, {"answer": "7"}]
    path = write(tmp_path / "log.jsonl", rows)
    assert run(["score", str(path), "--data-source", "contains"]) == 0
    scored = _lines(tmp_path / "log.scored.jsonl")
    assert [row["status"] for row in scored] == ["ok", "invalid", "invalid"]
    assert scored[1]["detail"].endswith(": timeout") and scored[2]["detail"].endswith(" no answer")


def test_a_file_of_failed_requests_alone_says_why(tmp_path: Path) -> None:
    path = write(
        tmp_path / "log.jsonl", [{"custom_id": "a", "result": {"type": "expired"}, "answer": "7"}] * 2
    )
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 1
    assert {row["detail"] for row in _lines(tmp_path / "log.scored.jsonl")} == {
        "the request has no answer: expired"
    }


@pytest.mark.parametrize(
    "failed",
    [
        {"prompt": "3+4?", "error": "timeout"},
        {"error": {"message": "Overloaded"}},
    ],
)
def test_a_first_row_without_the_columns_of_the_others_is_one_bad_row(
    tmp_path: Path, failed: dict[str, Any]
) -> None:
    good = {"messages": [_ASKED, {"role": "assistant", "content": RIGHT}]}
    path = write(tmp_path / "log.jsonl", [failed, good | {"answer": "7"}])
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 0
    assert [row["status"] for row in _lines(tmp_path / "log.scored.jsonl")] == ["invalid", "ok"]


def test_a_response_that_is_an_object_is_refused_with_the_field_that_holds_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"mood": "sure", "content": "#### 5"}
    table = pa.table({"data_source": ["openai/gsm8k"], "ground_truth": ["5"], "response": [said]})
    pq.write_table(table, tmp_path / "some.parquet")
    assert run(["score", str(tmp_path / "some.parquet")]) != 0
    assert "--response-key response.content" in capsys.readouterr().err
    key = ["--response-key", "response.content", "--out", str(tmp_path / "out.jsonl")]
    assert run(["score", str(tmp_path / "some.parquet"), *key]) == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["score"] == 1.0


def test_rows_of_a_data_source_without_a_reward_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _plain(5)
    rows[2]["data_source"] = "nope"
    path = write(tmp_path / "in.jsonl", rows)
    for small in (0, 1 << 30):  # in workers, and here
        monkeypatch.setattr(score, "SMALL_BYTES", small)
        dropped, marked = tmp_path / f"dropped-{small}.jsonl", tmp_path / f"marked-{small}.jsonl"
        assert run(["score", str(path), "--bad-rows", "drop", "--out", str(dropped)]) == 0
        assert [row["id"] for row in _lines(dropped)] == [0, 1, 3, 4]
        assert run(["score", str(path), "--out", str(marked)]) == 0
        assert "data source 'nope'" in (err := capsys.readouterr().err) and "in.jsonl, row 2: " in err
        assert [row["status"] for row in _lines(marked)] == ["ok", "ok", "invalid", "ok", "ok"]


def test_json_left_out_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "rows.jsonl", _plain(2))
    (tmp_path / "in" / "settings.json").write_text("[]")
    said: list[str] = []
    with Scorer(workers=1) as scorer:
        score_file(tmp_path / "in", tmp_path / "out.jsonl", scorer=scorer, on_note=said.append)
    assert "skipped 1 .json" in said[0]


def test_workers_get_the_column_by_which_a_table_is_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score, "SMALL_BYTES", 0)
    pq.write_table(pa.table({"key": ["a", "b"], "response": ["#### 7", "#### 8"]}), tmp_path / "in.parquet")
    (tmp_path / "truths.jsonl").write_text(
        '{"key": "a", "ground_truth": "7"}\n{"key": "b", "ground_truth": "9"}\n'
    )
    words = ["--data-source", "gsm8k", "--join", str(tmp_path / "truths.jsonl"), "--on", "key"]
    out = tmp_path / "out.parquet"
    assert run(["score", str(tmp_path / "in.parquet"), *words, "--out", str(out)]) == 0
    assert pq.read_table(out)["score"].to_pylist() == [1.0, 0.1]


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.json"])
def test_a_file_in_utf_16_is_refused_in_one_line_and_leaves_nothing(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "data_source,response,ground_truth\ngsm8k,#### 72,72\n"
        if name.endswith("csv")
        else '{"response": "a"}\n'
    )
    (tmp_path / name).write_bytes(text.encode("utf-16"))
    assert run(["score", str(tmp_path / name), "--out", str(tmp_path / "out.jsonl")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "UTF-16" in line and [path.name for path in tmp_path.iterdir()] == [name]


def test_names_of_columns_that_are_not_utf_8_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_bytes("response,ground_truth,année\na,b,c\n".encode("latin-1"))
    assert run(["score", str(tmp_path / "rows.csv"), "--data-source", "gsm8k"]) == 2
    assert "not UTF-8" in capsys.readouterr().err


def test_answers_that_cannot_be_read_are_counted_by_score_and_eval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    responses = ("\\boxed{x^2+}", "\\boxed{3 \\unheardof}", "\\boxed{35}", "\\boxed{34}")
    rows = [
        {"data_source": "math", "prompt": "?", "ground_truth": "34", "response": one} for one in responses
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["score", str(path), "--out", str(tmp_path / "scored.jsonl")]) == 0
    assert "could not be read or compared: 2" in capsys.readouterr().out
    assert [row["parts"]["undecided"] for row in _lines(tmp_path / "scored.jsonl")] == [1.0, 1.0, 0.0, 0.0]
    assert run(["eval", str(tmp_path / "scored.jsonl"), "--json"]) == 0
    assert '"undecided": 2' in capsys.readouterr().out
