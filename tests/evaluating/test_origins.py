"""What the receipts of files tell about models and rewards: warnings of `eval` and `compare`, and heads of pages."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rewardkit
from rewardkit.cli import run
from rewardkit.offline import ReadOptions
from rewardkit.rows import RowNames
from tests.evaluating.test_evaluate import rows, written
from tests.generation.endpoints import Server

PROMPTS = pd.DataFrame([{"data_source": "gsm8k", "prompt": f"{i}", "ground_truth": f"{i}"} for i in range(3)])


def generated(folder: Path, name: str, server: Server, **settings: Any) -> Path:
    """Responses of a model, by `rewardkit.generate`."""
    rewardkit.generate(PROMPTS, folder / name, url=server.url, **settings)
    return folder / name


def warnings(*files: Path) -> list[str]:
    notes: list[str] = []
    rewardkit.evaluate(list(files), on_note=notes.append)
    return [line for line in notes if line.startswith("warning:")]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_pooled_responses_of_two_models_are_told_and_those_of_one_run_are_not(
    tmp_path: Path, ending: str
) -> None:
    """Receipts keep the model, also after scoring and pooling."""
    with closing(Server()) as server:
        one = generated(tmp_path, f"one.{ending}", server, model="small")
        again = generated(tmp_path, f"again.{ending}", server, model="small", seed=1)
        other = generated(tmp_path, f"other.{ending}", server, model="large")
        warm = generated(tmp_path, f"warm.{ending}", server, model="small", temperature=0.5)
    scored = tmp_path / f"one.scored.{ending}"
    assert run(["score", str(one), "--out", str(scored)]) == 0
    assert warnings(one, again) == warnings(scored, again) == warnings(scored) == []
    for first in (one, scored):
        (line,) = warnings(first, other)
        for word in ("small", "large", f"rewardkit compare {first} {other}"):
            assert word in line
    (line,) = warnings(one, warm)
    assert "temperature (1.0; 0.5)" in line and "model" not in line
    assert run(["score", str(one), str(other), "--out", str(tmp_path / f"both.{ending}")]) == 0
    (line,) = warnings(tmp_path / f"both.{ending}")
    assert "small" in line and "large" in line


def test_rows_that_name_their_models_are_told(tmp_path: Path) -> None:
    first = written(tmp_path / "a.jsonl", [row | {"model": "small"} for row in rows(True, False)])
    second = written(tmp_path / "b.jsonl", [row | {"model": "large"} for row in rows(True, True)])
    assert warnings(first) == []
    (line,) = warnings(first, second)
    assert "large; small" in line


def test_files_with_the_same_prompts_and_no_receipts_are_told(tmp_path: Path) -> None:
    first = written(tmp_path / "a.jsonl", rows(True, False))
    second = written(tmp_path / "b.jsonl", rows(True, True))
    others = written(tmp_path / "c.jsonl", rows(True, True, name="q"))
    (line,) = warnings(first, second)
    assert "2 prompts are in several files" in line and "rewardkit compare" in line
    assert warnings(first, others) == []
    both = written(tmp_path / "both.jsonl", [*rows(True), *rows(False)])
    assert warnings(both) == []


def test_rows_without_a_prompt_are_told_with_the_option_that_names_it(tmp_path: Path) -> None:
    bare = [row | {"prompt": None, "question number": i // 2} for i, row in enumerate(rows(*[True] * 4))]
    file = written(tmp_path / "bare.jsonl", bare)
    notes: list[str] = []
    found = rewardkit.evaluate(file, on_note=notes.append)
    assert found.figures["gsm8k"].prompts == 4
    (line,) = [line for line in notes if "--prompt-key" in line]
    assert "4" in line and "pass@k" in line
    notes.clear()
    options = ReadOptions(RowNames(prompt="question number"))
    found = rewardkit.evaluate(file, options=options, out=tmp_path / "out.jsonl", on_note=notes.append)
    assert found.figures["gsm8k"].prompts == 2
    assert not [line for line in notes if "--prompt-key" in line]


def test_a_receipt_of_other_content_is_not_believed(tmp_path: Path) -> None:
    with closing(Server()) as server:
        one = generated(tmp_path, "one.jsonl", server, model="small")
        other = generated(tmp_path, "other.jsonl", server, model="large")
    other.write_text("\n".join(one.read_text().splitlines()[:2]))
    assert warnings(one, other) == []


def test_files_scored_with_other_options_are_told_by_compare_and_eval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "rows.jsonl", rows(True, False))
    for name, words in (("a", []), ("b", ["--option", "gsm8k:method=flexible"]), ("c", [])):
        assert run(["score", str(file), "--out", str(tmp_path / f"{name}.jsonl"), *words]) == 0
    a, b, c = (tmp_path / f"{name}.jsonl" for name in "abc")
    capsys.readouterr()
    assert run(["compare", str(a), str(c)]) == 0
    assert "warning" not in capsys.readouterr().err
    assert run(["compare", str(a), str(b)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    for word in ("a.jsonl", "b.jsonl", "gsm8k", "option method", "strict", "flexible"):
        assert word in line
    (line,) = warnings(a, c)
    assert "option method" not in line
    (line,) = warnings(a, b)
    assert "option method" in line


def test_the_report_names_model_reward_and_date(tmp_path: Path) -> None:
    with closing(Server()) as server:
        file = generated(tmp_path, "one.jsonl", server, model="small")
    rewardkit.evaluate(file, report=tmp_path / "eval.html", out=tmp_path / "scored.jsonl")
    assert run(["view", str(tmp_path / "scored.jsonl"), "--html", str(tmp_path / "view.html")]) == 0
    for page in ("eval.html", "view.html"):
        head = (tmp_path / page).read_text().partition('<dl class="facts">')[2].partition("</dl>")[0]
        for word in ("<dd>small</dd>", "temperature 1", "gsm8k@", "method=strict", " UTC by rewardkit "):
            assert word in head, page


def test_a_report_of_rows_without_a_receipt_names_their_rewards(tmp_path: Path) -> None:
    frame = rewardkit.score_frame(pd.DataFrame(rows(True, False)))
    rewardkit.evaluate(frame, report=tmp_path / "eval.html")
    head = (tmp_path / "eval.html").read_text().partition('<dl class="facts">')[2].partition("</dl>")[0]
    assert f"<dd>{frame['scorer'][0]}</dd>" in head


def test_the_page_of_a_comparison_has_the_changed_prompts_with_both_responses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "<script>alert(1)</script> so #### 72"
    before = rows(True, False, True)
    after = rows(True, True, False)
    after[1]["response"] = hostile
    files = [written(tmp_path / name, found) for name, found in (("a.jsonl", before), ("b.jsonl", after))]
    page = tmp_path / "page.html"
    assert run(["compare", *map(str, files), "--report", str(page)]) == 0
    assert str(page) in capsys.readouterr().out
    text = page.read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)&lt;/script&gt; so #### 72" in text
    assert "gsm8k p1" in text and "gsm8k p2" in text and "gsm8k p0" not in text
    assert text.count("so #### 73") == 2 and "score 0" in text and "score 1, answer 72" in text
    assert "McNemar" in text and "+0.0000" in text


def test_the_page_of_a_comparison_is_bounded(tmp_path: Path) -> None:
    long = [
        [row | {"response": "x" * 50_000 + row["response"]} for row in rows(*[side] * 300)] for side in (0, 1)
    ]
    files = [written(tmp_path / f"{i}.jsonl", found) for i, found in enumerate(long)]
    rewardkit.compare(*files, report=tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.count("<details>") == 200 and "200 largest changes of 300" in text
    assert len(text) < 2_500_000
