"""Which column of a log is what, in rows of the shapes that people have; and what is said where nobody can know."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.errors import InputError
from rewardkit.files import formats, records
from rewardkit.files.inputs import find_inputs
from rewardkit.offline import ReadOptions, read_join, read_samples
from rewardkit.rows import RowNames
from rewardkit.types import Sample
from tests.logs.test_reader import write
from tests.logs.written import RIGHT, WRONG

Rows = list[dict[str, Any]]
MATHS = ReadOptions(data_source="math")
LONG = "Adding three and four gives seven, so the answer is \\boxed{7}."


def twice(**row: Any) -> Rows:
    return [row, row]


def read(path: Path, options: ReadOptions = MATHS) -> list[Sample]:
    return [sample for batch in read_samples([path], options) for sample in batch.usable]


READINGS: list[tuple[str, Rows, tuple[str, str]]] = [
    ("names in another case", twice(Response=LONG, **{"Ground Truth": "7"}), (LONG, "7")),
    ("gold and an answer that is the response", twice(answer=LONG, gold="7"), (LONG, "7")),
    ("a solution beside a sure ground truth", twice(question="3+4?", correct="7", solution=LONG, pred="7"), (LONG, "7")),
    ("what a tool found in the response", twice(generated_text=LONG, pred="7", answer="7"), (LONG, "7")),
    ("a prediction that is the response", twice(input="3+4?", prediction=LONG, target="7"), (LONG, "7")),
    ("a list of one program with its answer", twice(code=[LONG], gt="7", pred=["7"], gt_cot="3+4=7"), (LONG, "7")),
    ("a label that is an answer", twice(predict=LONG, label="7"), (LONG, "7")),
    ("verdicts beside the ground truth", twice(response=LONG, label=True, correct=1, answer="7"), (LONG, "7")),
    ("the more telling of two ground truths", twice(response=LONG, answer="3+4=7", expected_answer="7"), (LONG, "7")),
    ("short and worked-out ground truth", twice(response=LONG, solution="3+4 is 7", answer="7"), (LONG, "7")),
    ("calls by name", twice(id="a", result=[{"add": '{"x": 3}'}], ground_truth="7"), ('[{"name": "add", "arguments": {"x": 3}}]', "7")),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "reading"), [one[1:] for one in READINGS], ids=[one[0] for one in READINGS])
def test_columns_are_told_apart_by_name_and_by_what_they_hold(
    tmp_path: Path, rows: Rows, reading: tuple[str, str]
) -> None:
    for suffix in (".jsonl", ".parquet"):
        samples = read(write(tmp_path / f"log{suffix}", rows))
        assert [(one.response, one.ground_truth) for one in samples] == [reading] * 2


SOURCES: list[tuple[str, Rows, str]] = [
    ("log.jsonl", twice(response=LONG, answer="7", dataset="openai/gsm8k"), "openai/gsm8k"),
    ("log.jsonl", twice(response="(B)", answer="B", options=["3", "7"]), "choice"),
    ("samples_gsm8k_2026-01-01T00-00-00.jsonl", twice(doc_id=1, target="7", resps=[[LONG]], filtered_resps=[""]), "gsm8k"),
    ("log.jsonl", twice(prompt="3+4?", completion=[{"role": "assistant", "content": LONG}], answer="7", reward=1.0, task="aime24", info={}, step=1, advantage=0.0), "aime24"),
    ("log.jsonl", twice(responses_create_params={"input": "3+4?"}, response={"output": [{"type": "message", "content": LONG}]}, expected_answer="7", agent_ref={"name": "library_math_simple_agent"}), "math"),
    ("log.jsonl", twice(task_id="HumanEval/0", prompt="def f():", test="def check(f): ...", entry_point="f", solution="def f(): ..."), "code"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rows", "source"), SOURCES, ids=[str(i) for i in range(len(SOURCES))])
def test_a_log_that_says_its_task_needs_no_option(tmp_path: Path, name: str, rows: Rows, source: str) -> None:
    samples = read(write(tmp_path / name, rows), ReadOptions())
    assert [one.data_source for one in samples] == [source] * 2


REFUSED: list[tuple[str, Rows, str]] = [
    (
        "verdicts alone",
        twice(response=LONG, label=True),
        "has no ground truths; join another file with --join FILE",
    ),
    (
        "verdicts in figures",
        [{"response": LONG, "label": 0}, {"response": LONG, "label": 1}],
        "--ground-truth-key",
    ),
    (
        "a response that is called answer",
        twice(id=1, answer=LONG, pred="7", is_correct=True),
        "--join FILE --on id",
    ),
    (
        "a name that nobody knows, and a wrong text",
        twice(what_it_wrote="It is six.", gold="7"),
        "--response-key what_it_wrote",
    ),
    (
        "one response for each model",
        twice(gold="7", small={"solution": LONG}, large={"solution": "It is \\boxed{7}."}),
        "no response column found; pass --response-key small.solution or --response-key large.solution",
    ),
    ("figures", twice(score=0.5, n=10), "no column contains text"),
    ("requests", twice(custom_id="a", method="POST", url="/v1", body={}), "batch requests"),
]


@pytest.mark.parametrize(("rows", "said"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED])
def test_a_log_that_lacks_something_is_refused_with_the_option_to_add(
    tmp_path: Path, rows: Rows, said: str
) -> None:
    path = write(tmp_path / "log.jsonl", rows)
    with pytest.raises(InputError, match=said) as caught:
        read(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_the_users_names_count_and_leave_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", twice(answer="7", pred="7", response=LONG))
    (first, _) = read(path, ReadOptions(RowNames(response="pred"), "math"))
    assert (first.response, first.ground_truth) == ("7", "7")


def test_a_join_leaves_answer_to_be_the_response(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", twice(id="a", instruction="3+4?", answer=LONG, pred="7"))
    joined = read_join(
        [write(tmp_path / "bench.jsonl", [{"id": "a", "problem": "3+4?", "target": "7"}])], "id"
    )
    samples = read(path, ReadOptions(data_source="math", join=joined))
    assert [(one.response, one.ground_truth) for one in samples] == [(LONG, "7")] * 2


def test_options_beside_a_question_reach_the_reward(tmp_path: Path) -> None:
    for suffix in (".jsonl", ".parquet"):
        path = write(tmp_path / f"log{suffix}", twice(response="Rome", answer="B", choices=["Paris", "Rome"]))
        assert read(path, ReadOptions())[0].extra_info == {"choices": ["Paris", "Rome"]}


def test_columns_that_disagree_and_columns_taken_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "log.jsonl", twice(output=RIGHT, gold="7", answer="8", score=0.0))
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 0
    told = capsys.readouterr().err
    assert "response 'output', ground truth 'gold'" in told
    assert "'gold' is used, not 'answer'" in told
    assert "'score' is written as 'logged_score'" in told


@pytest.mark.slow
def test_a_file_without_a_data_source_is_refused_with_the_rewards_that_may_read_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"response": text, "answer": "7"} for text in (RIGHT, WRONG)]
    path = write(tmp_path / "log.jsonl", rows)
    assert run(["score", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pass --data-source gsm8k (1 of 2 " in line


@pytest.mark.slow
def test_scores_that_are_all_nothing_come_with_the_reward_that_reads_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "log.jsonl", twice(response=LONG, answer="7"))
    assert run(["score", str(path), "--data-source", "gsm8k"]) == 0
    assert "--data-source math scores 100% as right" in capsys.readouterr().err
    wrong = write(tmp_path / "wrong.jsonl", twice(response=WRONG, answer="7"))
    assert run(["score", str(wrong), "--data-source", "gsm8k"]) == 0
    assert "scored as right" not in capsys.readouterr().err, "wrong answers that are read are no surprise"


def test_a_reward_that_the_user_chose_is_not_asked_again_for_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reward = tmp_path / "mine.py"
    reward.write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        f"    open({str(tmp_path / 'calls')!r}, 'a').write('x')\n"
        "    return 0.0\n"
    )
    path = write(tmp_path / "log.jsonl", twice(data_source="d", response=LONG, ground_truth="7"))
    assert run(["score", str(path), "--reward", str(reward)]) == 0
    assert "scored as right" not in capsys.readouterr().err
    assert (tmp_path / "calls").read_text() == "xx"


def test_a_zip_stands_for_the_files_in_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for name in ("a.jsonl", "b/c.csv", "__MACOSX/a.jsonl", "notes.txt"):
            text = (
                "response,gold\n#### 7,7\n"
                if name.endswith("csv")
                else json.dumps({"response": "#### 7", "gold": "7"})
            )
            archive.writestr(name, text)
    assert [one.name for one in find_inputs([tmp_path / "two.zip"])] == ["two/a.jsonl", "two/b/c.csv"]
    assert read(tmp_path / "two.zip") == [Sample("math", "#### 7", "7")] * 2


def test_a_log_of_inspect_is_read_whatever_packs_its_members(tmp_path: Path) -> None:
    """Inspect writes zstd, which Python's zipfile does not read."""
    header = {"eval": {"dataset": {"name": "cais/mmlu"}, "task": "mmlu"}}
    sample = {"id": 1, "epoch": 1, "input": "?", "target": "B", "choices": ["3", "7"]}
    sample |= {"output": {"choices": [{"message": {"role": "assistant", "content": "(B)"}}]}, "scores": {}}
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    (read_one,) = read(tmp_path / "log.eval", ReadOptions())
    assert read_one == Sample("cais/mmlu", "(B)", "B", "?", {"choices": ["3", "7"]}, "1")
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(json.dumps(sample).encode())
    with zipfile.ZipFile(tmp_path / "zstd.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/1_epoch_1.json", sink.getvalue().to_pybytes())
    content = (tmp_path / "zstd.eval").read_bytes()
    at = content.rindex(b"PK\x01\x02")
    (tmp_path / "zstd.eval").write_bytes(content[: at + 10] + b"\x5d\x00" + content[at + 12 :])
    assert read(tmp_path / "zstd.eval", ReadOptions()) == [read_one]


def test_an_object_in_response_reads_alike_in_every_format(tmp_path: Path) -> None:
    rows = twice(response={"role": "assistant", "content": LONG}, answer="7")
    for suffix in (".jsonl", ".parquet"):
        assert [one.response for one in read(write(tmp_path / f"log{suffix}", rows))] == [LONG] * 2
    pq.write_table(
        pa.Table.from_pylist(twice(response={"mood": "sure", "said": LONG}, answer="7")),
        tmp_path / "odd.parquet",
    )
    with pytest.raises(InputError, match="--response-key response"):
        read(tmp_path / "odd.parquet")


def test_cells_under_no_name_refuse_a_csv_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("response,answer\n#### 7,7\n#### 7,000,7\n")
    with pytest.raises(InputError, match=r"line 3: .* 3 cells, .* 2 columns"):
        read(path)
    path.write_text("response,answer\n#### 7,7,\n")
    assert len(read(path)) == 1, "an empty cell at the end of a line holds nothing"
    path.write_text('response,answer\n"#### 7,\nsaid","7" \n')
    assert [one.response for one in read(path)] == ["#### 7,\nsaid"], "a blank behind a closing quote is none"


def test_json_lines_in_a_json_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in twice(response=LONG, answer="7")))
    assert len(read(path)) == 2


@pytest.mark.parametrize("form", ["[{}]", "{}", '{{"rows": [{}]}}', "{}\n{}"])
def test_two_keys_of_one_name_in_a_json_file_are_an_error(tmp_path: Path, form: str) -> None:
    row = '{"response": "#### 8", "ground_truth": "7", "response": "#### 7"}'
    (tmp_path / "log.json").write_text(form.format(row, row))
    with pytest.raises(InputError, match=r"log\.json .*'response' appears twice"):
        read(tmp_path / "log.json")


def test_a_pipe_is_refused_rather_than_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.jsonl")
    with pytest.raises(InputError, match=r"log\.jsonl is a pipe .*, pass -"):
        read(tmp_path / "log.jsonl")


def test_an_unknown_object_says_which_known_answer_is_nearest(tmp_path: Path) -> None:
    answer = {"id": "a", "model": "m", "usage": {}, "choice": [{"message": {"content": LONG}}]}
    (batch,) = read_samples([write(tmp_path / "log.jsonl", twice(response=answer, answer="7"))], MATHS)
    assert "OpenAI's chat completions, with 'choices'" in batch.bad[0]


def test_a_row_that_cannot_be_used_keeps_its_data_source(tmp_path: Path) -> None:
    rows = [{"data_source": "gsm8k", "response": one, "answer": "7"} for one in (RIGHT, [RIGHT, WRONG])]
    (batch,) = read_samples([write(tmp_path / "log.jsonl", rows)])
    assert [one.data_source for one in batch.samples] == ["gsm8k"] * 2
    assert "a list of responses" in batch.bad[1]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_torn_gz_gives_its_rows_and_says_where_it_breaks(tmp_path: Path, suffix: str) -> None:
    rows = [{"response": f"{LONG} {i * 7919 % 1009}", "answer": "7"} for i in range(3_000)]
    whole = write(tmp_path / f"whole{suffix}", rows).read_bytes()
    path = tmp_path / f"log{suffix}.gz"
    path.write_bytes(gzip.compress(whole)[:-2_000])
    batches = list(read_samples([path], MATHS))
    found = [one.response for batch in batches for one in batch.usable]
    assert 1_000 < len(found) < 3_000 and found == [row["response"] for row in rows[: len(found)]]
    assert (batches[-1].rows, "breaks off" in batches[-1].bad[0]) == ([len(found)], True)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_line_longer_than_any_row_is_refused_before_it_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(records, "LINE_BYTES", 1 << 20)
    monkeypatch.setattr(formats, "_BLOCK_BYTES", 1 << 20)
    path = tmp_path / f"log{suffix}"
    path.write_bytes(b"x" * (10 << 20))
    tracemalloc.start()
    with pytest.raises(InputError, match="the line is longer"):
        read(path)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
