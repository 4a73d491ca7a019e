"""Alarms: a public incident in its first step, each rule by its threshold, and what an alarm does to a run."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.cli import run as rewardkit
from rewardkit.evaluation.overoptimization import truth_metrics
from rewardkit.trainer.alarms import RULES, AlarmError, Alarms
from rewardkit.trainer.batch import Batch, PromptRow, ScoredRollout
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import AlarmsConfig, TrainerConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.steps.signal import outcome_metrics
from rewardkit.trainer.steps.validation import truths
from rewardkit.types import Score, failure
from tests.trainer.steps.test_advantages import run_of


def incident() -> tuple[Batch, list[ScoredRollout]]:
    """One step of NeMo-Gym#2552: of 1,280 rollouts, 8 to a prompt, 1,172 failed in the infrastructure."""
    chance = random.Random(2552)
    failed = set(chance.sample(range(1280), 1172))
    rows = [PromptRow("swe", f"p{i}", "", {}, [1]) for i in range(160)]
    scores = [
        failure("error", "the sandbox did not start")
        if i in failed
        else Score(float(right := chance.random() < 0.5), correct=right)
        for i in range(1280)
    ]
    tensors = {"attention_mask": torch.ones(1280, 3), "responses": torch.ones(1280, 2)}
    batch = Batch({**tensors, "groups": torch.arange(1280) // 8}, [])
    return batch, [ScoredRollout(rows[i // 8], "x", score) for i, score in enumerate(scores)]


def test_the_incident_of_1172_of_1280_failures_alarms_in_its_first_step() -> None:
    batch, responses = incident()
    run = run_of("actor_rollout_ref.rollout.n=8", "algorithm.adv_estimator=grpo", "trainer.alarm=stop")
    metrics = outcome_metrics(run, batch, responses)
    assert metrics["ledger/failed"] == 1172 / 1280
    assert metrics["ledger/failures"] > 0.9, "nearly all that a trainer that scores them 0 would learn"
    alarms = Alarms(run.config.trainer)
    begun = alarms.look(metrics)
    assert list(begun) == ["failures"] and "92%" in begun["failures"]
    assert alarms.end_run(begun) and isinstance(alarms.error(begun), AlarmError)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_speaks_once_when_its_threshold_is_reached_for_its_steps(rule: Any) -> None:
    limit = getattr(AlarmsConfig(), rule.name)
    step = 0.01 if rule.below else -0.01
    for metric in rule.metrics:
        alarms = Alarms(TrainerConfig())
        assert not any(alarms.look({metric: limit + step}) for _ in range(5))
        said = [alarms.look({metric: limit}) for _ in range(rule.steps + 3)]
        assert [len(one) for one in said] == [0] * (rule.steps - 1) + [1, 0, 0, 0]
        line = said[rule.steps - 1][rule.name]
        assert "{" not in line and "nan" not in line, "no figure that the step has not"
        assert alarms.metrics() == {f"alarm/{rule.name}": 1.0}
        assert not alarms.look({metric: float("nan")}) and alarms.metrics() == {}


def test_a_share_of_nothing_is_no_alarm_whatever_the_threshold() -> None:
    alarms = Alarms(TrainerConfig(alarms=AlarmsConfig(failures=0.0)))
    assert not alarms.look({"ledger/failed": 0.0})
    assert alarms.look({"ledger/failed": 0.01})


def test_every_rule_has_a_threshold_that_can_be_set_and_taken_away() -> None:
    assert {one.name for one in fields(AlarmsConfig)} == {rule.name for rule in RULES}
    required = ["data.train_files=x.parquet", "actor_rollout_ref.model.path=x"]
    for word, speaks in {"trainer.alarms.failures=null": False, "trainer.alarm=off": False, "": True}.items():
        config = load_config(None, [*required, *([word] if word else [])])
        assert bool(Alarms(config.trainer).look({"ledger/failed": 0.9})) == speaks


FAILING = """
calls = 0

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    global calls
    calls += 1
    if calls % 2:
        raise ValueError("out of order")
    return float(calls % 4 == 0)
"""


@pytest.mark.slow
def test_an_alarm_that_stops_saves_the_step_and_a_run_with_warnings_goes_on(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    out = tmp_path / "out"
    given = [
        f"data.train_files={parquet}",
        "data.train_batch_size=8",
        "data.max_response_length=4",
        f"actor_rollout_ref.model.path={model_folder}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=8",
        "actor_rollout_ref.rollout.n=2",
        "algorithm.adv_estimator=grpo",
        "trainer.total_training_steps=3",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.logger=[jsonl]",
        "reward.num_workers=1",
        f"custom_reward_function.path={tmp_path}/failing.py",
        f"trainer.default_local_dir={out}",
    ]
    for step in (1, 2):  # asked to stop again, it does so after another step
        ended = pytest.raises(AlarmError, match=r"alarm failures: 50% .* trainer\.alarm=warn")
        with ended, open_run(load_config("tiny-cpu", [*given, "trainer.alarm=stop"]), world) as run:
            train(run)
        assert (out / f"global_step_{step}" / "actor" / "huggingface").is_dir()
    assert "out of order" in capfd.readouterr().out, "a warning names the exception"
    with open_run(load_config("tiny-cpu", given), world) as run:
        train(run)
    said = capfd.readouterr().out
    assert "failures" not in said, "it has been said"
    assert "alarm at step 3: equal_rewards" in said, "the steps before a resume count"
    log = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [(row["training/global_step"], row["alarm/failures"]) for row in log] == [(1, 1), (2, 1), (3, 1)]
    assert all(0 <= row[f"ledger/{name}"] <= 1 for row in log for name in ("failures", "length"))
    page = (out / "metrics.html").read_text()
    assert page.count("failures: 50% of the responses") == 2
    assert "ValueError: out of order" in page and "on_exception" in page
    assert rewardkit(["view", str(out)]) == 0, "a page of a run that has ended shows them too"
    assert "failures: 50%" in (out / "metrics.html").read_text()


def test_a_truth_that_falls_while_the_score_rises_alarms_with_its_step() -> None:
    alarms = Alarms(TrainerConfig())
    said = []
    for step, score, right in (
        (5, -0.31, 117),
        (10, 2.56, 124),
        (15, 3.0, 108),
        (20, 3.03, 53),
        (25, 3.1, 53),
    ):
        truth = truth_metrics("gsm8k", [[1.0]] * right + [[0.0]] * (256 - right))
        said.append(
            alarms.look({"training/global_step": float(step), "overoptimization/score": score, **truth})
        )
        alarms.look({"training/global_step": step + 1.0, "overoptimization/score": score})  # not validated
    assert [list(one) for one in said] == [[], [], [], ["overoptimization"], []]
    assert "after step 10, gsm8k fell from" in said[3]["overoptimization"]
    assert (
        alarms.metrics()["overoptimization/since"] == 10 and alarms.metrics()["alarm/overoptimization"] == 1
    )


def test_only_validations_with_another_reward_are_a_truth(world: World) -> None:
    def responses(source: str, *scores: Score) -> list[ScoredRollout]:
        return [
            ScoredRollout(PromptRow(source, f"p{i}", "", {}, []), "x", one)
            for one in scores
            for i in range(4)
        ]

    scored = [
        *responses("by/judge", Score(0.5, scorer="judge@1")),
        *responses("by/rule", Score(0.1, correct=True, scorer="rule@1"), failure("error", "down")),
        *responses("by/model", Score(2.0, scorer="rm@2")),
    ]
    found = truths(scored, 2, world, {"rm@2"})
    assert found == {"by/judge": [[0.5, 0.5]] * 2, "by/rule": [[1.0, 1.0], [1.0, 1.0], [], []]}
