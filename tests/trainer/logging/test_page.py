"""The page that a run keeps: made beside the steps, told once when it cannot be, never the end of a run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from rich.console import Console

from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.logging import page as page_module
from rewardkit.trainer.logging.logger import Logger
from rewardkit.trainer.logging.page import PageSink
from rewardkit.trainer.steps.dumps import part_means
from rewardkit.types import Score, failure
from tests.living import until

ROW = {"data_source": "gsm8k", "prompt": [{"role": "user", "content": "2+2?"}], "response": "4", "score": 1.0}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "REFRESH_S", 0.01)
    monkeypatch.setattr(page_module, "SHARE", 0)


def config(*names: str) -> Any:
    needed = ["data.train_files=t.parquet", "actor_rollout_ref.model.path=m"]
    return load_config(None, [*needed, f"trainer.logger=[{','.join(names)}]"])


def shows(page: Path, text: str) -> bool:
    return page.exists() and text in page.read_text()


def test_a_page_is_there_after_a_step_and_says_at_the_end_that_the_run_is_over(tmp_path: Path) -> None:
    page = tmp_path / "metrics.html"
    with Logger(config("jsonl"), tmp_path, 10) as logger:
        logger.responses([ROW], 1)
        logger.log({"training/global_step": 1.0, "critic/score/mean": 0.5}, 1)
        until(lambda: shows(page, "1 of 10"))
        assert shows(page, '"running": true')
        logger.log({"training/global_step": 2.0, "critic/score/mean": 0.75}, 2)
        until(lambda: shows(page, "2 of 10"))
        logger.log({"training/global_step": 3.0}, 3)
    assert shows(page, "3 of 10") and shows(page, '"running": false')
    assert json.loads((tmp_path / "samples.jsonl").read_text()) == {"step": 1, "rows": [ROW]}


def test_a_run_without_the_log_has_no_page(tmp_path: Path) -> None:
    with Logger(config("console"), tmp_path, 10) as logger:
        logger.log({"training/global_step": 1.0}, 1)
        logger.responses([ROW], 1)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_ends_before_its_first_step_leaves_no_page_and_no_error(tmp_path: Path) -> None:
    with Logger(config("jsonl"), tmp_path, 10):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_made_is_said_once_and_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(page_module, "write_run_page", fails)
    out = io.StringIO()
    with Logger(config("jsonl"), tmp_path, 10) as logger:
        logger._console = Console(file=out, width=200)
        sink = logger._sinks["page"]
        assert isinstance(sink, PageSink)
        step = 0
        while "page" in logger._sinks:
            step += 1
            logger.log({"training/global_step": float(step)}, step)
            until(lambda: not sink._new.is_set() or sink._error is not None)
    assert out.getvalue().count("the disk is full") == 1
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == step


def test_one_failure_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page_module.write_run_page
    calls: list[bool] = []

    def fails_once(*given: Any, **named: Any) -> Any:
        calls.append(True)
        if len(calls) == 1:
            raise OSError("somebody else wrote it just now")
        return whole(*given, **named)

    monkeypatch.setattr(page_module, "write_run_page", fails_once)
    with Logger(config("jsonl"), tmp_path, 10) as logger:
        logger.log({"training/global_step": 1.0}, 1)
        until(lambda: calls)
        logger.log({"training/global_step": 2.0}, 2)
        until(lambda: shows(tmp_path / "metrics.html", "2 of 10"))


def test_long_and_broken_texts_are_kept_as_far_as_they_can_be_read(tmp_path: Path) -> None:
    sink = PageSink(tmp_path, 1)
    sink.responses([{**ROW, "response": "a" * 50_000 + "\ud800end", "parts": {"x": float("nan")}}], 1)
    sink.generations([ROW], 2)
    sink.close()
    first, second = map(json.loads, (tmp_path / "samples.jsonl").read_text().splitlines())
    assert len(first["rows"][0]["response"]) < 5_000 and first["rows"][0]["response"].endswith("?end")
    assert second == {"step": 2, "kind": "validation", "rows": [ROW]}


class Two:
    """Stands for a process group whose other process has this."""

    def __init__(self, other: Any) -> None:
        self.other = other

    def gather(self, mine: Any) -> list[Any]:
        return [mine, self.other]


def test_parts_are_averaged_over_the_responses_of_all_processes_that_have_them() -> None:
    mine = [
        Score(1.0, parts={"format": 1.0}),
        Score(0.0, parts={"format": 0.0, "b": 2.0}),
        failure("error", "why"),
    ]
    found = part_means(mine, Two({"format": (4.0, 2), "c": (1.0, 1)}))  # type: ignore[arg-type]
    assert found == {"reward/part/b": 2.0, "reward/part/c": 1.0, "reward/part/format": 1.25}


def test_the_reasons_of_zeros_stand_with_the_responses_of_their_step(tmp_path: Path) -> None:
    with Logger(config("jsonl"), tmp_path, 10) as logger:
        logger.reasons(["3 of 4: no box"])
        logger.responses([ROW], 1)
        logger.responses([ROW], 2)
        for rows in ([ROW], []):
            logger.reasons(["2 of 4: no box"])
            logger.generations(rows, 2)
            logger.generations(rows, 3)
    kept = [json.loads(line) for line in (tmp_path / "samples.jsonl").read_text().splitlines()]
    validation = {"step": 2, "kind": "validation", "reasons": ["2 of 4: no box"]}
    assert kept == [
        {"step": 1, "reasons": ["3 of 4: no box"], "rows": [ROW]},
        {"step": 2, "rows": [ROW]},
        {**validation, "rows": [ROW]},
        {"step": 3, "kind": "validation", "rows": [ROW]},
        {**validation, "rows": []},  # nothing is kept of a validation with neither
    ]
