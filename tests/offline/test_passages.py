"""What one command knows, the next one reads: over a corpus of files, no row, data source, prompt or failure
is lost between `score`, `eval`, pandas and a second scoring."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.evaluation.evaluation import figures_by_source
from rewardkit.evaluation.scored import ScoredRow, grouped, read_rows, scored_response
from tests.logs.corpus import CORPUS, CorpusFile, lm_eval
from tests.logs.written import RIGHT, WRONG

Capture = pytest.CaptureFixture[str]
every_file = pytest.mark.parametrize("one", CORPUS.values(), ids=list(CORPUS))


def score(one: CorpusFile, folder: Path, out: str, *more: str) -> Path:
    path = folder / out
    assert run(["score", *one.words(folder / "in"), "--out", str(path), "--force", *more]) == 0
    return path


def told(path: Path, prefix: str = "") -> list[tuple[Any, ...]]:
    """What the reader of scored rows says of each response."""
    rows = read_rows([path], prefix=prefix)
    fields = ("data_source", "response", "ground_truth", "score", "status", "correct", "extracted")
    return [tuple(row.get(name) for name in fields) for row in rows]


def figures(rows: list[ScoredRow]) -> dict[str, Any]:
    found = figures_by_source(grouped(map(scored_response, rows)))
    return {name: one.as_dict() for name, one in found.items() if name != "overall"}


def eval_of(capsys: Capture, *words: str) -> dict[str, Any]:
    capsys.readouterr()
    run(["eval", *words, "--json", "--force"])
    found = dict(json.loads(capsys.readouterr().out)["data_sources"])
    return {name: one for name, one in found.items() if name != "overall"}


@every_file
def test_no_row_is_lost_and_sources_are_kept(one: CorpusFile, tmp_path: Path, capsys: Capture) -> None:
    found = told(score(one, tmp_path, "out.jsonl"))
    assert Counter(source for source, *_ in found) == one.sources
    statuses = [status for *_, status, _, _ in found]
    assert len(statuses) - statuses.count("ok") == one.failed
    assert {score for *_, score, status, _, _ in found if status == "ok"} <= {1.0, 0.1, 0.0}
    assert {score for *_, score, status, _, _ in found if status != "ok"} <= {None}, "a failure is no zero"


@every_file
def test_every_format_says_the_same(one: CorpusFile, tmp_path: Path) -> None:
    first, *others = [
        told(score(one, tmp_path, f"out{end}")) for end in (".jsonl", ".parquet", ".csv", ".jsonl.gz")
    ]
    assert all(other == first for other in others)


@every_file
def test_a_file_its_scored_file_and_pandas_have_the_same_figures(
    one: CorpusFile, tmp_path: Path, capsys: Capture
) -> None:
    out = score(one, tmp_path, "out.jsonl")
    from_scored = eval_of(capsys, str(out))
    assert eval_of(capsys, *one.words(tmp_path / "in")) == from_scored
    assert figures(list(read_rows([out]))) == from_scored
    table = pandas.read_json(out, lines=True, dtype=False)
    nested = [name for name in ("data_source", "score", "status") if isinstance(table[name][0], list)]
    table = table[["data_source", "score", "status"]].explode(nested) if nested else table
    scored = table[table["status"] == "ok"].groupby("data_source")["score"].mean()
    assert set(table["data_source"]) == set(one.sources)
    for source, figure in from_scored.items():
        assert math.isclose(scored[source], figure["score"]["mean"])


@every_file
def test_scoring_twice_gives_the_same_scores(one: CorpusFile, tmp_path: Path) -> None:
    out = score(one, tmp_path, "out.jsonl")
    again = tmp_path / "again.jsonl"
    assert run(["score", str(out), "--prefix", "new_", "--out", str(again)]) == 0
    assert told(again, "new_") == told(again, "") == told(out)


@every_file
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_rows_are_known_after_pandas_has_filtered_and_reordered_them(
    one: CorpusFile, suffix: str, tmp_path: Path
) -> None:
    out = score(one, tmp_path, f"out{suffix}")
    order = list(range(pq.read_metadata(out).num_rows if suffix == ".parquet" else len(pandas.read_csv(out))))
    random.Random(1).shuffle(order)
    moved = tmp_path / "elsewhere" / f"renamed{suffix}"
    moved.parent.mkdir()
    if suffix == ".parquet":
        pandas.read_parquet(out).iloc[order].to_parquet(moved, index=False)
    else:
        pandas.read_csv(out, dtype=str, keep_default_na=False).iloc[order].to_csv(moved, index=False)
    assert Counter(told(moved)) == Counter(told(out))
    before, after = (grouped(map(scored_response, read_rows([path]))) for path in (out, moved))
    sizes = [
        {s: sorted(len(group) for group in prompts.values()) for s, prompts in found.items()}
        for found in (before, after)
    ]
    assert sizes[0] == sizes[1], "prompts stay together"


def test_the_order_of_files_has_no_effect(tmp_path: Path, capsys: Capture) -> None:
    names = [
        "plain.jsonl",
        "log.json",
        "lists.parquet",
        "two_sources.jsonl",
        "rollouts.jsonl",
        "results.jsonl",
    ]
    files = [str(CORPUS[name].at(tmp_path / str(i))) for i, name in enumerate(names)]
    first = eval_of(capsys, *files)
    assert sum(one["responses"] for one in first.values()) == sum(CORPUS[name].responses for name in names)
    for _ in range(3):
        random.Random(len(files)).shuffle(files)
        assert eval_of(capsys, *files) == first


def test_two_tasks_of_a_harness_keep_their_sources_and_their_rows(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "run"
    tasks = {
        "samples_gsm8k_2026-11-01T00-00-00.jsonl": lm_eval((RIGHT, WRONG), "7", ("strict", "flexible")),
        "samples_minerva_math_2026-11-01T00-00-00.jsonl": lm_eval(
            ("\\boxed{6}", "\\boxed{5}"), "6", ("none",)
        ),
    }
    for name, rows in tasks.items():
        CorpusFile(name, rows).at(folder)
    out = tmp_path / "out.jsonl"
    assert run(["score", str(folder), "--out", str(out)]) == 0
    assert Counter(source for source, *_ in told(out)) == {"gsm8k": 2, "minerva_math": 2}
    assert eval_of(capsys, str(out)) == eval_of(capsys, str(folder))


def test_two_tasks_in_one_file_with_filters_of_their_own_lose_no_document(tmp_path: Path) -> None:
    rows = lm_eval((RIGHT, WRONG), "7", ("strict", "flexible")) + lm_eval((RIGHT, WRONG), "8", ("none",))
    out = score(CorpusFile("both.jsonl", rows, data_source="gsm8k"), tmp_path, "out.jsonl")
    assert [(row[1], row[2]) for row in told(out)] == [(RIGHT, "7"), (WRONG, "7"), (RIGHT, "8"), (WRONG, "8")]
