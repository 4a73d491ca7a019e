"""`rewardkit score`: the same rows with their scores, whole or not at all, and the same after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Sample, Scorer, reward, score_frame
from rewardkit.cli import run
from rewardkit.errors import InputError
from rewardkit.offline import ReadOptions, score_file
from rewardkit.registry import REGISTRY, Registry, load_reward_file
from rewardkit.rows import RowNames
from rewardkit.user_files import user_module_name
from tests.living import until
from tests.offline.holding import write_reward


def _write(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def _responses(path: Path, n: int) -> Path:
    return _write(
        path,
        data_source=["openai/gsm8k"] * n,
        response=[f"so\n#### {i % 5}" if i % 7 else "no idea" for i in range(n)],
        reward_model=[{"style": "rule", "ground_truth": "3"}] * n,
        row=list(range(n)),
    )


@pytest.mark.slow
def test_rows_keep_their_columns_and_order_and_get_scores(tmp_path: Path) -> None:
    file = _responses(tmp_path / "in.parquet", 50_000)
    with Scorer(workers=2) as scorer:
        report = score_file(file, tmp_path / "out.parquet", scorer=scorer)
    before, after = pq.read_table(file), pq.read_table(tmp_path / "out.parquet")
    assert after.select(before.column_names).equals(before)
    expected = [(1.0 if i % 5 == 3 else 0.1) if i % 7 else 0.0 for i in range(50_000)]
    assert after["score"].to_pylist() == expected
    assert after["parts"].to_pylist()[:2] == [{"format": 0.0}, {"format": 1.0}]
    assert set(after["scorer"].to_pylist()) == {REGISTRY.resolve("gsm8k").scorer}
    source = report.sources["openai/gsm8k"]
    assert source.n == 50_000
    assert source.mean_score == pytest.approx(sum(expected) / 50_000)
    assert source.accuracy == expected.count(1.0) / 50_000
    assert source.format_rate == 1 - expected.count(0.0) / 50_000


def test_lists_of_responses_get_lists_of_scores(tmp_path: Path) -> None:
    """An empty one is a row that cannot be used, and is not passed over."""
    file = _write(
        tmp_path / "in.parquet",
        data_source=["gsm8k"] * 3,
        responses=[["#### 1", "#### 2"], [], ["none"]],
        ground_truth=[1, 1, 1],
    )
    with Scorer() as scorer:
        score_file(file, tmp_path / "out.parquet", scorer=scorer)
    scored = pq.read_table(tmp_path / "out.parquet")
    assert scored["score"].to_pylist() == [[1.0, 0.1], [None], [0.0]]
    assert scored["correct"].to_pylist() == [[True, False], [None], [False]]
    assert scored["detail"].to_pylist()[1] == ["the list of responses is empty"]


def test_mixed_rewards_share_one_set_of_columns(tmp_path: Path, registry: Registry) -> None:
    @reward("test/parts", runs="inline")
    def parts(sample: Sample) -> dict[str, float]:
        return {"score": 1.0, "style": 0.5}

    file = _write(
        tmp_path / "in.parquet",
        data_source=["gsm8k", "test/parts"],
        response=["#### 1", "x"],
        ground_truth=["1", ""],
    )
    with Scorer() as scorer:
        score_file(file, tmp_path / "out.parquet", scorer=scorer)
    scored = pq.read_table(tmp_path / "out.parquet")["parts"].to_pylist()
    assert scored == [{"format": 1.0, "style": None}, {"format": None, "style": 0.5}]


def test_prompt_and_extra_info_reach_a_reward_that_reads_them(tmp_path: Path, registry: Registry) -> None:
    @reward("test/reads")
    def reads(sample: Sample) -> float:
        assert isinstance(sample.prompt, list)
        return float(sample.prompt[0]["content"] == "hi") + float(sample.extra_info["bonus"])

    file = _write(
        tmp_path / "in.parquet",
        data_source=["test/reads"],
        response=["x"],
        ground_truth=[""],
        prompt=[[{"role": "user", "content": "hi"}]],
        extra_info=[{"bonus": 2}],
    )
    with Scorer() as scorer:
        score_file(file, tmp_path / "out.parquet", scorer=scorer)
    assert pq.read_table(tmp_path / "out.parquet")["score"].to_pylist() == [3.0]


@pytest.mark.slow
def test_a_run_that_was_killed_resumes_to_the_same_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _responses(tmp_path / "in.parquet", 70_000)  # nine chunks
    hold, progress = tmp_path / "hold", tmp_path / ".out.parquet.progress"
    mine = write_reward(tmp_path / "mine.py", "openai/gsm8k", hold=hold, progress=progress, chunks=2)
    words = ["score", str(file), "--reward", str(mine), "--workers", "2"]
    assert run([*words, "--out", str(tmp_path / "unbroken.parquet")]) == 0

    out = tmp_path / "out.parquet"
    hold.touch()
    running = subprocess.Popen([sys.executable, "-m", "rewardkit", *words, "--out", str(out)])
    until(lambda: len(list(progress.glob("*.msgpack"))) >= 2)
    running.send_signal(signal.SIGKILL)
    running.wait()
    hold.unlink()
    kept = len(list(progress.glob("*.msgpack")))
    assert not out.exists()

    capsys.readouterr()
    assert run([*words, "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert "--resume" in told and told.count("\n") == 1

    assert run([*words, "--out", str(out), "--resume"]) == 0
    assert 2 <= kept < 9
    assert out.read_bytes() == (tmp_path / "unbroken.parquet").read_bytes()
    assert not progress.exists()


def _interrupted(tmp_path: Path, n: int = 40_000) -> tuple[Path, Path]:
    """A file, and the output of a run that was interrupted after the first chunk."""
    file, out = _responses(tmp_path / "in.parquet", n), tmp_path / "out.parquet"

    def stop_after_the_first_chunk(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with Scorer() as scorer, pytest.raises(KeyboardInterrupt):
        score_file(file, out, scorer=scorer, on_progress=stop_after_the_first_chunk)
    return file, out


def test_progress_of_a_version_that_kept_other_counts_is_refused(tmp_path: Path) -> None:
    """A count under another name would be read as 0."""
    file, out = _interrupted(tmp_path)
    about = tmp_path / ".out.parquet.progress" / "run.json"
    assert "scored_correct" in about.read_text()
    about.write_text(about.read_text().replace("scored_correct", "judged_correct"))
    with Scorer() as scorer, pytest.raises(InputError, match=r"cannot resume.*form of chunks changed"):
        score_file(file, out, scorer=scorer, resume=True)


def test_progress_of_a_different_run_is_refused(tmp_path: Path) -> None:
    file, out = _interrupted(tmp_path)
    with Scorer(options={"gsm8k": {"format_score": 0.5}}) as other:
        with pytest.raises(InputError, match=r"cannot resume.*rewards changed.*earlier values.*--restart"):
            score_file(file, out, scorer=other, resume=True)
        score_file(file, out, scorer=other, restart=True)
    assert pq.read_table(out)["score"].to_pylist()[1] == 0.5


def test_progress_of_a_reward_with_another_source_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def compute_score(solution_str, ground_truth):\n    return 1.0\n")
    load_reward_file(f"openai/gsm8k={mine}:compute_score")
    file, out = _interrupted(tmp_path, 10)
    mine.write_text(mine.read_text().replace("1.0", "0.0"))
    monkeypatch.delitem(sys.modules, user_module_name(mine))  # as in a process of its own
    load_reward_file(f"openai/gsm8k={mine}:compute_score")
    with Scorer() as scorer, pytest.raises(InputError, match=r"cannot resume.*rewards changed"):
        score_file(file, out, scorer=scorer, resume=True)


def _bad(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / "bad.parquet"
    sources, responses, truths = ["gsm8k"] * 3, ["#### 1"] * 3, ["1"] * 3
    if kind == "empty file":
        path.touch()
    elif kind == "no response":
        _write(path, data_source=sources, respons=responses, ground_truth=truths)
    elif kind == "unknown data source":
        _write(path, data_source=["gsm8k", "gms8k", "gsm8k"], response=responses, ground_truth=truths)
    elif kind == "null response":
        _write(path, data_source=sources, response=["#### 1", None, ""], ground_truth=truths)
    elif kind == "null in a list":
        _write(path, data_source=sources, responses=[["#### 1"], ["#### 1", None], [""]], ground_truth=truths)
    elif kind == "an empty list":
        _write(path, data_source=sources, responses=[["#### 1"], [], [""]], ground_truth=truths)
    elif kind == "null ground truth":
        _write(path, data_source=sources, response=responses, ground_truth=["1", "1", None])
    elif kind == "NaN ground truth":
        _write(path, data_source=sources, response=responses, ground_truth=[1.0, 1.0, float("nan")])
    elif kind == "numbers as responses":
        _write(path, data_source=sources, response=[1, 2, 3], ground_truth=truths)
    elif kind == "scored already":
        _write(
            path,
            data_source=sources,
            response=responses,
            ground_truth=truths,
            score=[1.0] * 3,
            status=["ok"] * 3,
            scorer=["a@1"] * 3,
        )
    return path


BAD = {
    "missing": "no such file",
    "empty file": "not a readable parquet file",
    "no response": "no column 'response'; pass the column's name with --response-key",
    "unknown data source": "'gms8k'; did you mean gsm8k?",
    "null response": "row 1: 'response' is null",
    "null ground truth": "row 2: 'ground_truth' is null or NaN",
    "numbers as responses": "has the type int64",
    "scored already": "already has a column 'score'",
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_line_that_says_what_and_where(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _bad(tmp_path, kind)
    before = sorted(os.listdir(tmp_path))
    assert run(["score", str(file), "--out", str(tmp_path / "out.parquet"), "--bad-rows", "fail"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert BAD[kind] in message
    assert sorted(os.listdir(tmp_path)) == before, "something was left behind"


@pytest.mark.parametrize("kind", ["null in a list", "an empty list", "NaN ground truth"])
def test_bad_rows_can_be_marked_instead(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.parquet"
    assert run(["score", str(_bad(tmp_path, kind)), "--out", str(out), "--bad-rows", "mark", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["data_sources"]["gsm8k"]["failures"] == {"invalid": 1}
    assert str(pq.read_table(out)["status"].to_pylist()).count("invalid") == 1


def test_a_gold_that_cannot_be_read_is_told_and_fails_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _write(
        tmp_path / "in.parquet", data_source=["gsm8k"] * 2, response=["#### 1"] * 2, ground_truth=["1", "nan"]
    )
    assert run(["score", str(file), "--bad-rows", "fail"]) == 1
    assert "1 invalid (first: the ground truth 'nan' " in capsys.readouterr().err.replace("\n", " ")
    assert pq.read_table(tmp_path / "in.scored.parquet")["status"].to_pylist() == ["ok", "invalid"]


def test_an_output_that_cannot_be_written_is_said_before_scoring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _responses(tmp_path / "in.parquet", 10)
    assert run(["score", str(file), "--out", "/proc/out.parquet"]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_the_input_is_never_overwritten(tmp_path: Path) -> None:
    file = _responses(tmp_path / "in.parquet", 10)
    with Scorer() as scorer, pytest.raises(InputError, match="would overwrite the input"):
        score_file(file, file, scorer=scorer)


@pytest.mark.slow
def test_a_full_disk_leaves_no_output_and_keeps_the_input(tmp_path: Path) -> None:
    file = _responses(tmp_path / "in.parquet", 30_000)
    command = f"ulimit -f 100; exec {sys.executable} -m rewardkit score {file} --out {tmp_path}/out.parquet"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot write" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out.parquet").exists()
    assert pq.read_table(file).num_rows == 30_000


def test_options_and_column_names_come_from_the_command_line(tmp_path: Path) -> None:
    file = _write(
        tmp_path / "in.parquet", source=["gsm8k"], answer=["It is 72."], meta=[{"gold": "72"}], score=[9]
    )
    out = tmp_path / "out.parquet"
    words = f"score {file} --out {out} --data-source-key source --response-key answer --ground-truth-key meta.gold"
    assert run([*words.split(), "--prefix", "new_", "--option", "gsm8k:method=flexible"]) == 0
    scored = pq.read_table(out)
    assert (scored["new_score"].to_pylist(), scored["score"].to_pylist()) == ([1.0], [9])


def test_a_data_frame_in_gives_a_data_frame_out() -> None:
    frame = pd.DataFrame(
        {"data_source": ["gsm8k"] * 2, "response": ["#### 1", "#### 2"], "ground_truth": [1, 1]}, index=[7, 8]
    )
    scored = score_frame(frame)
    assert list(scored.index) == [7, 8]
    assert scored["score"].tolist() == [1.0, 0.1]
    assert "score" not in frame.columns


def test_a_table_in_gives_a_table_out() -> None:
    table = pa.table({"data_source": ["gsm8k"], "answers": [["#### 1", "x"]], "ground_truth": ["1"]})
    scored = score_frame(table, options=ReadOptions(RowNames(response="answers")))
    assert scored["score"].to_pylist() == [[1.0, 0.0]]
    with pytest.raises(InputError, match=r"DataFrame or .* Table, found list"):
        score_frame([1, 2])


def test_a_row_is_scored_once_though_its_chunk_has_a_source_that_nobody_knew_of(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import os\n"
        "from rewardkit import reward\n"
        f"counts = os.open({str(counts)!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n"
        "@reward('my/counted', runs='inline')\n"
        "def counted(response):\n"
        "    os.write(counts, b'.')\n"
        "    return 1.0\n"
    )
    row = {"data_source": "my/counted", "response": "a" * 500, "ground_truth": ""}
    lines = [json.dumps(row)] * 20_000 + [json.dumps(row | {"data_source": "my/other"})]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    words = ["score", str(tmp_path / "in.jsonl"), "--reward", str(mine), "--out", str(tmp_path / "out.jsonl")]
    assert run(words) == 0
    assert counts.stat().st_size == 20_000


def _one_row(path: Path, n: int, **more: Any) -> Path:
    columns = {"data_source": ["gsm8k"], "response": [f"#### {n}"], "ground_truth": [str(n)], **more}
    return _write(path, **columns)


def test_parquets_with_other_columns_or_another_order_go_into_one_by_name(tmp_path: Path) -> None:
    _one_row(tmp_path / "a.parquet", 1, note=["first"])
    table = pq.read_table(_one_row(tmp_path / "b.parquet", 2, note=["second"]))
    pq.write_table(table.select(table.column_names[::-1]), tmp_path / "b.parquet")
    _one_row(tmp_path / "c.parquet", 3)
    _one_row(tmp_path / "d.parquet", 4, extra_info=[{"a": 1}])
    _one_row(tmp_path / "e.parquet", 5, extra_info=[{"a": 0.5, "b": "x"}], note=["last"])
    out = tmp_path / "out.parquet"
    with Scorer(workers=1) as scorer:
        score_file([tmp_path / f"{name}.parquet" for name in "abcde"], out, scorer=scorer)
    found = pq.read_table(out).to_pylist()
    assert [row["response"] for row in found] == [f"#### {n}" for n in range(1, 6)]
    assert [row["ground_truth"] for row in found] == list("12345")
    assert [row["note"] for row in found] == ["first", "second", None, None, "last"]
    nothing = {"a": 1.0, "b": None}
    assert [row["extra_info"] for row in found] == [None, None, None, nothing, {"a": 0.5, "b": "x"}]
    assert {row["score"] for row in found} == {1.0}


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_files_with_lists_and_with_single_responses_are_refused_in_one_output(
    tmp_path: Path, suffix: str
) -> None:
    _one_row(tmp_path / "a.parquet", 1)
    _write(tmp_path / "b.parquet", data_source=["gsm8k"], response=[["#### 1"]], ground_truth=["1"])
    with Scorer(workers=1) as scorer, pytest.raises(InputError, match="pass a folder"):
        score_file([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / f"o.{suffix}", scorer=scorer)
    assert not (tmp_path / f"o.{suffix}").exists()
