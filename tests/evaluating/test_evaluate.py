"""`rewardkit.evaluate` and `rewardkit.compare`: the figures of the commands, from files, tables and a model."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewardkit
from rewardkit.cli import run
from rewardkit.errors import (
    GateError,
    IncompleteError,
    InputError,
    OptionsError,
    RequestsFailedError,
)
from rewardkit.evaluating import evaluate as module
from rewardkit.evaluation.scored import read_groups
from tests.generation.endpoints import Server

RIGHT, WRONG = "so #### 72", "so #### 73"


def rows(*right: bool, source: str = "gsm8k", name: str = "p") -> list[dict[str, Any]]:
    """A response to each of some prompts."""
    return [
        {
            "data_source": source,
            "prompt": f"{source} {name}{i}",
            "response": RIGHT if one else WRONG,
            "ground_truth": "72",
        }
        for i, one in enumerate(right)
    ]


def written(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return path


def test_a_table_has_the_figures_of_its_file(tmp_path: Path) -> None:
    found = rows(True, True, False)
    file = written(tmp_path / "rows.jsonl", found)
    of_file = rewardkit.evaluate(file)
    assert of_file.figures["gsm8k"].accuracy is not None
    assert of_file.figures["gsm8k"].accuracy.mean == pytest.approx(2 / 3)
    assert of_file.out == str(tmp_path / "rows.scored.jsonl")
    frame = pd.DataFrame(found)
    for table in (frame, pa.Table.from_pylist(found), rewardkit.score_frame(frame)):
        of_table = rewardkit.evaluate(table)
        assert (of_table.figures, of_table.out) == (of_file.figures, None)
    assert rewardkit.evaluate([str(file)], out=tmp_path / "out.parquet").figures == of_file.figures
    assert len(pq.read_table(tmp_path / "out.parquet")) == 3


def test_the_result_reads_as_a_table_and_as_the_command_s_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "rows.jsonl", rows(True, False))
    found = rewardkit.evaluate(file)
    heading, line = str(found).splitlines()
    assert heading.split()[:2] == ["data", "source"] and line.startswith("gsm8k") and "0.5000" in line
    assert capsys.readouterr() == ("", ""), "a function prints nothing"
    assert run(["eval", str(file), "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**found.as_dict(), "gates": []}


def test_neither_order_nor_kind_of_files_changes_a_figure(tmp_path: Path) -> None:
    """A file that is scored already, a log of another tool, and rows without scores."""
    scored = tmp_path / "scored.jsonl"
    plain = written(tmp_path / "a.jsonl", rows(True, False, False))
    assert run(["score", str(plain), "--out", str(scored)]) == 0
    logged = [row | {"score": 0.0, "acc": 0.0} for row in rows(True, True, source="math", name="q")]
    log = written(tmp_path / "log.jsonl", [row | {"response": r"\boxed{72}"} for row in logged])
    table = tmp_path / "lists.parquet"
    lists = [row | {"responses": [RIGHT, WRONG]} for row in rows(True, name="r")]
    pq.write_table(
        pa.Table.from_pylist([{k: v for k, v in r.items() if k != "response"} for r in lists]), table
    )
    found = [rewardkit.evaluate(list(some)) for some in permutations([scored, log, table])]
    assert all(one.figures == found[0].figures and not one.problems for one in found)
    assert found[0].figures["gsm8k"].responses == 5 and found[0].figures["math"].responses == 2
    assert found[0].figures["math"].score is not None and found[0].figures["math"].score.mean == 1.0
    folder = tmp_path / "folder"
    folder.mkdir()
    for one in (scored, log, table):
        one.rename(folder / one.name)
    assert rewardkit.evaluate(folder).figures == found[0].figures


def test_a_hidden_file_that_is_named_is_evaluated(tmp_path: Path) -> None:
    written(tmp_path / "_one.jsonl", rows(True))
    written(tmp_path / "_two.jsonl", rows(False, name="q"))
    assert rewardkit.evaluate(str(tmp_path / "_*.jsonl")).figures["gsm8k"].responses == 2


def test_a_folder_that_names_the_data_source_keeps_it(tmp_path: Path) -> None:
    for source in ("gsm8k", "math"):
        folder = tmp_path / "rows" / f"data_source={source}"
        folder.mkdir(parents=True)
        found = [{k: v for k, v in row.items() if k != "data_source"} for row in rows(True, False)]
        written(folder / "part.jsonl", found)
    found_by = rewardkit.evaluate([tmp_path / "rows"], out=tmp_path / "out.jsonl").figures
    assert found_by.keys() == {"gsm8k", "math", "overall"}
    assert rewardkit.evaluate([tmp_path / "rows", "sample://responses.jsonl"]).figures["math"].responses == 2
    assert (
        run(
            [
                "score",
                str(tmp_path / "rows/data_source=math"),
                "--out",
                f"{tmp_path}/done/",
                "--data-source",
                "math",
            ]
        )
        == 0
    )
    (tmp_path / "done" / "part.jsonl").rename(tmp_path / "rows" / "data_source=math" / "more.jsonl")
    with pytest.raises(InputError, match="the two kinds separately"):
        rewardkit.evaluate(tmp_path / "rows")


def test_a_model_answers_a_table_of_prompts(tmp_path: Path) -> None:
    prompts = pd.DataFrame(
        [{"data_source": "gsm8k", "prompt": f"{i}", "ground_truth": f"{i}"} for i in range(3)]
    )
    steps = []
    with closing(Server()) as server:
        found = rewardkit.evaluate(
            prompts,
            model="m",
            url=server.url,
            n=2,
            on_progress=lambda step, done, _: steps.append((step, done)),
        )
        made = rewardkit.generate(prompts, tmp_path / "gen.jsonl", model="m", url=server.url)
        server.says = lambda body: (400, {"error": "no"})
        with pytest.raises(RequestsFailedError, match="3 of 3 requests failed"):
            rewardkit.generate(prompts, tmp_path / "other.jsonl", model="m", url=server.url, retries=0)
    assert found.figures["gsm8k"].responses == 6 and found.out is None
    assert {step for step, _ in steps} == {"generating", "scoring"}
    assert made.report.responses == 3 and "3 responses" in str(made) and made.scores is None
    assert made.as_dict()["out"] == str(tmp_path / "gen.jsonl")
    assert not (tmp_path / "other.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"temprature": 0.5}, "did you mean temperature"),
        ({"n": 0}, "setting n: 0 "),
        ({"n": "4"}, "setting n: '4' "),
        ({"stop": 3}, "setting stop: expected `array`, got `int`"),
        ({"engine": "vlm"}, "did you mean vllm"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_runs(
    arguments: dict[str, Any], said: str, tmp_path: Path
) -> None:
    prompts = written(tmp_path / "p.jsonl", rows(True))
    with pytest.raises(OptionsError, match=said):
        rewardkit.evaluate(prompts, model="m", url="http://localhost:1/v1", **arguments)
    with pytest.raises(OptionsError, match=said):
        rewardkit.generate(prompts, tmp_path / "o.jsonl", model="m", url="http://localhost:1/v1", **arguments)


def test_what_has_no_effect_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path / "rows.jsonl", rows(True, False))
    with pytest.raises(OptionsError, match="n has no effect"):
        rewardkit.evaluate(file, n=2)
    with pytest.raises(OptionsError, match="--split apply only to datasets"):
        rewardkit.evaluate(file, split="test")
    with pytest.raises(OptionsError, match="needs a model"):
        rewardkit.evaluate("gsm8k")
    with pytest.raises(OptionsError, match="'levle'; did you mean level"):
        rewardkit.evaluate("arithmetic", model="m", prep={"levle": "tiny"})
    with pytest.raises(InputError, match="found dict"):
        rewardkit.evaluate(rows(True))
    rewardkit.evaluate(file)
    with pytest.raises(OptionsError, match="out has no effect"):
        rewardkit.evaluate(tmp_path / "rows.scored.jsonl", out=tmp_path / "again.jsonl")


def test_errors_and_remarks_of_a_table_do_not_name_our_file() -> None:
    frame = pd.DataFrame(rows(True)).drop(columns="ground_truth")
    with pytest.raises(InputError) as raised:
        rewardkit.evaluate(frame)
    assert "the table" in str(raised.value) and "/tmp" not in str(raised.value)
    with pytest.raises(InputError, match="table has no rows"):
        rewardkit.evaluate(pd.DataFrame())


# --- rows and data sources that are lost -------------------------------------------------------------------


def test_rows_that_the_reader_loses_are_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the reason for which rows or their data source do not come back, the run does not end well."""
    file = written(tmp_path / "rows.jsonl", [*rows(True, False), *rows(True, source="math")])

    def loses(*arguments: Any, **rest: Any) -> Any:
        groups = read_groups(*arguments, **rest)
        groups.pop("math")
        return groups

    monkeypatch.setattr(module, "read_groups", loses)
    real = rewardkit.evaluating.parts.read_rows
    monkeypatch.setattr(
        "rewardkit.evaluating.parts.read_rows",
        lambda *given: (row for row in real(*given) if row["data_source"] != "math"),
    )
    found = rewardkit.evaluate(file)
    assert len(found.problems) == 1 and found.problems[0].startswith("math: 1 of 1 ")
    with pytest.raises(IncompleteError, match="1 of 1 scored responses"):
        found.check()
    scored = tmp_path / "rows.scored.jsonl"
    assert run(["eval", str(scored)]) == 1
    assert f"error: {scored}: 1 of 3 rows " in capsys.readouterr().err
    assert [p.partition(" rows")[0] for p in rewardkit.evaluate(scored).problems] == [f"{scored}: 1 of 3"]


def test_a_data_source_without_any_score_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = [row | {"ground_truth": None} for row in rows(True, True, source="math")]
    file = written(tmp_path / "rows.jsonl", [*rows(True, False), *broken])
    assert run(["eval", str(file)]) == 1
    assert "error: math: none of its 2 " in (err := capsys.readouterr().err) and "(2 invalid)" in err
    assert run(["eval", str(file), "--bad-rows", "drop", "--force"]) == 1
    assert "error: math: all of its 2" in capsys.readouterr().err


def test_counted_failures_alone_do_not_fail(tmp_path: Path) -> None:
    broken = [row | {"ground_truth": None} for row in rows(True, name="q")]
    file = written(tmp_path / "rows.jsonl", [*rows(*[True] * 19), *broken])
    found = rewardkit.evaluate(file)
    assert found.check() is found and found.figures["gsm8k"].failures == {"invalid": 1}
    found.check(fail_under=0.8)
    more = written(tmp_path / "more.jsonl", [*rows(*[True] * 18), *broken])
    with pytest.raises(IncompleteError, match="1 of 19 "):
        rewardkit.evaluate(more).check(fail_under=0.8)


def test_empty_lines_and_lists_are_no_lost_rows(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    lists = [{**row, "responses": [RIGHT, WRONG]} for row in rows(True, False)]
    for row in lists:
        del row["response"]
    file.write_text("\n\n".join(json.dumps(row) for row in lists) + "\n\n")
    assert not rewardkit.evaluate(file).problems
    assert not rewardkit.evaluate(tmp_path / "rows.scored.jsonl").problems


# --- compare -----------------------------------------------------------------------------------------------


def test_two_tables_are_compared(tmp_path: Path) -> None:
    before = rewardkit.score_frame(pd.DataFrame(rows(*[True] * 40)))
    after = rewardkit.score_frame(pd.DataFrame(rows(*([True] * 20 + [False] * 20))))
    found = rewardkit.compare(before, after)
    assert found.found.sources["gsm8k"].accuracy is not None
    assert found.found.sources["gsm8k"].accuracy.mean == -0.5
    assert "-0.5000" in str(found) and found.as_dict()["sources"]["gsm8k"]["prompts"] == 40
    with pytest.raises(GateError, match=r"accuracy -0\.5000 .* below -0\.02"):
        found.check(fail_if_worse=0.02)
    assert rewardkit.compare(after, before).check(fail_if_worse=0)
    noisy = rewardkit.score_frame(pd.DataFrame(rows(*([True] * 39 + [False]))))
    assert rewardkit.compare(before, noisy).check(fail_if_worse=0.02), "the interval reaches above"


def test_a_data_source_without_scores_in_one_file_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, truth in (("a", "72"), ("b", None)):
        math = [row | {"ground_truth": truth} for row in rows(True, False, source="math")]
        files.append(written(tmp_path / f"{name}.jsonl", [*rows(True, False), *math]))
        assert run(["score", str(files[-1])]) == 0
    capsys.readouterr()
    scored = [str(file.with_name(f"{file.stem}.scored.jsonl")) for file in files]
    assert run(["compare", *scored, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert len(found["problems"]) == 1 and found["problems"][0].startswith("math: ")
    assert found["sources"]["math"]["not_scored"] == 2


def test_an_interrupted_run_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rewardkit.checks.checked_scoring.score_file", interrupted)
    file = str(written(tmp_path / "rows.jsonl", rows(True)))
    for command in ("score", "eval"):
        assert run([command, file]) == 130
        assert "interrupted; --resume continues this run" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt, match=r"^$"):  # nothing is kept of a table
        rewardkit.evaluate(pd.DataFrame(rows(True)))
