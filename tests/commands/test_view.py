"""`rewardkit view` shows what was scored, whoever wrote the file, and lets no response steer the terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.offline import score_file
from rewardkit.scoring.scorer import Scorer

ROWS = [
    {"data_source": "gsm8k", "prompt": [{"role": "user", "content": "2+2?"}], "ground_truth": "4"}
    | {
        "response": "so\n#### 4",
        "score": 1.0,
        "status": "ok",
        "scorer": "gsm8k@1",
        "correct": True,
        "extracted": "4",
    },
    {"data_source": "gsm8k", "prompt": "3+3?", "ground_truth": "6"}
    | {
        "response": "\x1b]0;gone\x07[bold]no[/]",
        "score": 0.0,
        "status": "ok",
        "scorer": "gsm8k@1",
        "correct": False,
    },
    {"data_source": "math", "prompt": "?", "ground_truth": "1", "response": "...", "score": 0.0}
    | {"status": "timeout", "correct": None, "detail": "killed after 10 s"},
]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "10.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "9.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    return folder


def rows(capsys: pytest.CaptureFixture[str], *arguments: Any) -> list[dict[str, Any]]:
    assert run(["view", *map(str, arguments), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], [0, 1, 2]),
        (["--data-source", "gsm8k"], [0, 1]),
        (["--max-score", "0.5", "--status", "ok"], [1]),
        (["--row", "1"], [1]),
        (["--limit", "0"], [0, 1, 2]),
    ],
)
def test_filters_choose_rows(
    dump: Path, capsys: pytest.CaptureFixture[str], filters: list[str], expected: list[int]
) -> None:
    assert [row["row"] for row in rows(capsys, dump, *filters)] == expected


def test_a_folder_shows_its_last_step_or_the_one_asked_for(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(rows(capsys, dump)) == 3
    assert len(rows(capsys, dump, "--step", "9")) == 1


def test_the_table_and_the_row_in_full(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(dump)]) == 0
    table = capsys.readouterr().out
    assert "so\\n####" in table
    assert "timeout" in table
    assert "\x1b" not in table
    assert "\\x1b]0;gone" in table
    assert run(["view", str(dump), "--row", "1"]) == 0
    full = capsys.readouterr().out
    assert "\\x1b]0;gone\\x07[bold]no[/]" in full
    assert "3+3?" in full
    assert run(["view", str(dump), "--row", "0"]) == 0
    assert "[user] 2+2?" in capsys.readouterr().out


def test_what_score_writes_can_be_viewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table(
        {
            "data_source": ["gsm8k", "gsm8k"],
            "prompt": [[{"role": "user", "content": "?"}]] * 2,
            "reward_model": [{"style": "rule", "ground_truth": "4"}] * 2,
            "responses": [["#### 4", "#### 5"], ["4"]],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    with Scorer() as scorer:
        score_file(tmp_path / "in.parquet", tmp_path / "out.parquet", scorer=scorer)
    found = rows(capsys, tmp_path / "out.parquet")
    assert [(r["row"], r["response"], r["correct"], r["ground_truth"]) for r in found] == [
        (0, "#### 4", True, "4"),
        (1, "#### 5", False, "4"),
        (2, "4", False, "4"),
    ]


def test_verl_s_dumps_can_be_viewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"input": "2+2?", "output": "#### 4", "gts": "4", "score": 1.0, "step": 3, "acc": True, "pred": "4"}
    (tmp_path / "3.jsonl").write_text(json.dumps(row) + "\n")
    (found,) = rows(capsys, tmp_path)
    assert (found["prompt"], found["response"], found["ground_truth"]) == ("2+2?", "#### 4", "4")
    assert (found["correct"], found["extracted"]) == (True, "4")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "{", "a JSON object"),
        ("a.jsonl", '{"resp": "x"}', "with --response-key"),
        ("a.parquet", "PAR", "readable parquet file"),
        ("a.txt", "x", "unknown file format"),
    ],
)
def test_what_cannot_be_viewed_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    assert run(["view", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_dumps_and_a_step_or_row_that_is_not_there_are_said(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in (
        (
            [str(tmp_path), "--step", "3"],
            "has no dump for step 3; expected a folder with files such as 1.jsonl",
        ),
        ([str(dump), "--step", "3"], "no dump for step 3; the dumps go from step 9 to 10"),
        ([str(dump), "--row", "7"], "has no row 7"),
    ):
        assert run(["view", *arguments]) == 2
        assert message in capsys.readouterr().err


def _divided(folder: Path) -> Path:
    """Three prompts with two responses each: both right, one, none; one of them was never scored."""
    scores = [(1.0, 1.0), (0.0, 1.0), (0.0, None)]
    made = [
        {"data_source": "gsm8k", "prompt": f"p{p}", "response": "x" * (10 * p + i), "ground_truth": "1"}
        | (
            {}
            if score is None
            else {"score": score, "status": "ok", "scorer": "gsm8k@1", "correct": score == 1.0}
        )
        for p, pair in enumerate(scores)
        for i, score in enumerate(pair)
    ]
    path = folder / "divided.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


@pytest.mark.parametrize(
    ("order", "expected"),
    [("score", [2, 4, 0, 1, 3, 5]), ("length", [5, 4, 3, 2, 1, 0]), ("disagreement", [2, 3, 0, 1, 4, 5])],
)
def test_rows_are_sorted_and_keep_their_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], order: str, expected: list[int]
) -> None:
    path = _divided(tmp_path)
    assert [row["row"] for row in rows(capsys, path, "--sort", order)] == expected
    assert [row["row"] for row in rows(capsys, path, "--sort", order, "--limit", 2)] == expected[:2]


def test_a_line_for_each_prompt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _divided(tmp_path)
    found = rows(capsys, path, "--by-prompt", "--sort", "disagreement")
    assert [(one["prompt"], one["responses"], one["right"], one["score"]) for one in found] == [
        ("p1", 2, 1, 0.5),
        ("p0", 2, 2, 1.0),
        ("p2", 2, 0, 0.0),
    ]
    assert run(["view", str(path), "--by-prompt", "--limit", "1"]) == 0
    printed = capsys.readouterr().out
    assert "2 of 2" in printed and "1 of 3 prompts" in printed and "p0" in printed


def test_a_terminal_is_paged_where_rows_do_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paged: list[str] = []
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("click.echo_via_pager", lambda lines: paged.extend(lines))
    path = _divided(tmp_path)
    assert run(["view", str(path), "--limit", "0"]) == 0
    assert len(paged) == 8 and "xxxxx" in paged[-2]
    paged.clear()
    assert run(["view", str(path), "--limit", "3"]) == 0
    assert not paged and "--limit shows more" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["view", "compare"])
def test_a_prefix_that_the_file_lacks_is_an_error(
    dump: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    files = [str(dump)] * (1 + (command == "compare"))
    assert run([command, *files, "--prefix", "new_"]) == 2
    assert "no column 'new_score'; pass the --prefix " in capsys.readouterr().err


def test_one_row_is_counted_as_one(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(dump / "9.jsonl")]) == 0
    assert "\n1 row of " in capsys.readouterr().out
    assert run(["check", str(dump / "9.jsonl")]) == 0
    assert ", 1 row\n" in capsys.readouterr().out
    scored = dump / "scored.jsonl"
    assert run(["score", str(dump / "9.jsonl"), "--prefix", "new_", "--out", str(scored)]) == 0
    capsys.readouterr()
    assert run(["replay", str(scored)]) == 0
    assert "scored.jsonl: the row gets the same score\n" in capsys.readouterr().out


def test_reasons_are_counted_with_an_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ["So 33.", "So 34.", "#### 2", "#### 34"]
    made = [{"data_source": "gsm8k", "prompt": "?", "ground_truth": "34", "response": one} for one in said]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    assert run(["score", str(path), "--out", str(tmp_path / "scored.jsonl")]) == 0
    capsys.readouterr()
    assert run(["view", str(tmp_path / "scored.jsonl"), "--reasons"]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.split()[:2] == ["2", "67%"] and "(row 0)" in first
    assert second.split()[:2] == ["1", "33%"] and "(row 2)" in second


@pytest.mark.parametrize("no_color", ["1", ""])
def test_a_terminal_gets_colours_unless_the_user_wants_none(dump: Path, no_color: str) -> None:
    ours, theirs = os.openpty()
    view = [sys.executable, "-m", "rewardkit", "view", str(dump), "--limit", "1"]
    environment = os.environ | {"NO_COLOR": no_color, "TERM": "xterm"}
    assert subprocess.run(view, stdout=theirs, env=environment).returncode == 0
    os.close(theirs)
    assert (b"\x1b[3" in os.read(ours, 1 << 16)) is not bool(no_color)
    os.close(ours)
