"""Validation figures by data source, dumps of responses, val_only, and profiler traces."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import pyarrow.parquet as pq

from rewardkit.trainer.batch import PromptRow, ScoredRollout
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.steps.dumps import gather_rows, write_dump
from rewardkit.trainer.steps.validation import validation_metrics, why_nothing
from rewardkit.types import Score, failure


def response(source: str, score: Score) -> ScoredRollout:
    row = PromptRow(source, [{"role": "user", "content": "?"}], "3", {}, [])
    return ScoredRollout(row, "so it is 3", score)


def test_figures_are_per_data_source_and_leave_failures_out(world: World) -> None:
    right = Score(1.0, correct=True, extracted="3", parts={"format": 1.0})
    wrong = Score(0.1, correct=False, extracted="4", parts={"format": 1.0})
    given = [right, wrong, wrong, failure("timeout", "slow")]
    essays = [response("essays", Score(0.5)), response("essays", Score(0.7))]
    assert validation_metrics([*(response("gsm8k", s) for s in given), *essays], 2, world) == {
        "val-core/essays/reward/mean@2": pytest.approx(0.6),
        "val-core/essays/reward/best@2": pytest.approx(0.7),
        "val-aux/essays/failed": 0.0,
        "val-core/gsm8k/acc/mean@2": pytest.approx(1 / 3),
        "val-core/gsm8k/acc/pass@2": 1.0,
        "val-core/gsm8k/acc/maj@2": 0.5,
        "val-aux/gsm8k/format/mean@2": 1.0,
        "val-aux/gsm8k/reward/mean@2": pytest.approx(0.4),
        "val-aux/gsm8k/reward/best@2": 1.0,
        "val-aux/gsm8k/failed": 1.0,
    }


def test_a_dump_has_the_prompts_in_their_order_whatever_the_processes() -> None:
    class TwoOfThem(World):
        def to_main(self, item: Any) -> list[Any]:
            return [item, [{"response": name} for name in ("b0", "b1")]]

    mine = [response("gsm8k", Score(1.0)) for _ in range(4)]
    rows = gather_rows(mine, 2, 5, TwoOfThem(0, 2, torch.device("cpu")))
    assert [row["response"] for row in rows] == ["so it is 3"] * 2 + ["b0", "b1"] + ["so it is 3"] * 2


@pytest.mark.parametrize("file_format", ["jsonl", "parquet"])
def test_a_dump_holds_response_and_score(world: World, tmp_path: Path, file_format: str) -> None:
    scores = [Score(0.5, parts={"style": 0.5}), failure("error", "boom")]
    rows = gather_rows([response("essays", s) for s in scores], 1, 7, world)
    write_dump(tmp_path / "new", 7, rows, file_format)
    path = tmp_path / "new" / f"7.{file_format}"
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    if file_format == "parquet":
        found = pq.read_table(path).to_pylist()
        assert [row["parts"] for row in found] == [{"style": 0.5}, {"style": None}]
    else:
        found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(r["step"], r["response"], r["score"], r["status"]) for r in found] == [
        (7, "so it is 3", 0.5, "ok"),
        (7, "so it is 3", 0.0, "error"),
    ]


def run(world: World, parquet: Path, model: Path, out: Path, *more: str) -> list[dict[str, float]]:
    settings = [
        f"data.train_files={parquet}",
        f"data.val_files={parquet}",
        "data.train_batch_size=4",
        "data.max_response_length=4",
        "data.val_max_samples=3",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.rollout.val_kwargs.n=2",
        "trainer.total_training_steps=1",
        "trainer.logger=jsonl",
        f"trainer.default_local_dir={out}",
        *more,
    ]
    with open_run(load_config("tiny-cpu", settings), world) as run:
        train(run)
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_a_run_leaves_dumps_and_a_trace(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    more = [f"trainer.rollout_data_dir={tmp_path}/seen", f"trainer.validation_data_dir={tmp_path}/val"]
    log = run(world, parquet, model_folder, tmp_path / "out", *more, "trainer.profile_steps=[1]")
    assert [m["training/global_step"] for m in log] == [0, 1]
    assert {
        "val-core/rewardkit/arithmetic/acc/pass@2",
        "timing_s/reward_scoring",
        "timing_s/reward_slowest",
    } <= set(log[1])
    assert sorted(p.name for p in (tmp_path / "val").iterdir()) == ["0.jsonl", "1.jsonl"]
    assert len((tmp_path / "val" / "0.jsonl").read_text().splitlines()) == 6
    assert len((tmp_path / "seen" / "1.jsonl").read_text().splitlines()) == 4
    trace = gzip.decompress((tmp_path / "out" / "profile" / "step_1_rank_0.json.gz").read_bytes())
    assert "traceEvents" in json.loads(trace)


def test_val_only_trains_nothing(world: World, parquet: Path, model_folder: Path, tmp_path: Path) -> None:
    log = run(
        world, parquet, model_folder, tmp_path, "trainer.val_only=true", "trainer.val_before_train=false"
    )
    assert [m["training/global_step"] for m in log] == [0]
    assert not list(tmp_path.glob("global_step_*"))
    (kept,) = [json.loads(line) for line in (tmp_path / "samples.jsonl").read_text().splitlines()]
    assert kept["kind"] == "validation" and kept["rows"] == []  # log_val_generations is 0
    assert kept["reasons"][0].partition(":")[0].endswith(" of 6")


def test_a_dump_that_cannot_be_written_ends_no_run(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = run(world, parquet, model_folder, tmp_path, "trainer.rollout_data_dir=/proc/nowhere")
    assert log[-1]["training/global_step"] == 1
    assert "the dump of step 1 " in capsys.readouterr().out


def test_a_validation_without_a_right_response_says_why_and_what_would_score_it() -> None:
    wrong = Score(
        0.0, correct=False, detail='no "#### NUMBER"; the last number is 3, which method=flexible reads'
    )
    other = Score(0.0, correct=False, detail="after ####: 4 is not 3")
    lines = why_nothing([response("gsm8k", one) for one in (wrong, wrong, other)])
    assert "2 of 3" in lines[0] and "method=flexible" in lines[0] and "1 of 3" in lines[0]
    assert "math scores 100% as right" in lines[1]
    right = Score(1.0, correct=True)
    assert why_nothing([response("gsm8k", one) for one in (wrong, right)]) == []
    assert len(why_nothing([response("somebody's own", wrong)])) == 1
    assert why_nothing([response("gsm8k", failure("timeout", "slow"))]) == []
    assert why_nothing([response("gsm8k", wrong)], {"gsm8k"}) == [], "another process has a right response"
