"""The trainer's shares of |advantage| are those that `rewardkit gradient` reads from the step's dump."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.cli import run
from rewardkit.trainer.batch import Batch, PromptRow, ScoredRollout
from rewardkit.trainer.steps.dumps import gather_rows, write_dump
from rewardkit.trainer.steps.signal import signal_metrics
from rewardkit.types import Score, failure
from tests.trainer.steps.test_advantages import ALONE, run_of

GROUPS = ["rfnn", "fnnn", "rrrr", "nn!f"]
KINDS = {"r": (1.0, True, 1.0), "f": (0.1, False, 1.0), "n": (0.0, False, 0.0)}


def scored() -> tuple[Batch, list[ScoredRollout]]:
    responses = []
    lengths = []
    for prompt, kinds in enumerate(GROUPS):
        row = PromptRow("gsm8k", f"p{prompt}", "7", {}, [1])
        for i, kind in enumerate(kinds):
            value, right, in_format = KINDS.get(kind, (0.0, False, 0.0))
            score = Score(value, correct=right, parts={"format": in_format}, scorer="gsm8k@1")
            responses.append(
                ScoredRollout(row, "x" * (1 + i), failure("error", "!") if kind == "!" else score)
            )
            lengths.append(1 + i)
    mask = (torch.arange(4) < torch.tensor(lengths)[:, None]).long()
    tensors = {"attention_mask": torch.cat([torch.ones(16, 2, dtype=torch.long), mask], dim=1)}
    tensors |= {"responses": mask, "groups": torch.arange(16) // 4}
    return Batch(tensors, []), responses


@pytest.mark.parametrize(
    ("estimator", "shown"),
    [("grpo", "grpo"), ("rloo", "rloo"), ("reinforce_plus_plus", "reinforce_plus_plus"), ("opo", "grpo")],
)
def test_the_shares_are_those_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], estimator: str, shown: str
) -> None:
    batch, responses = scored()
    asked = run_of(f"algorithm.adv_estimator={estimator}", "actor_rollout_ref.rollout.n=4")
    found = signal_metrics(asked, batch, responses)
    write_dump(tmp_path, 1, gather_rows(responses, 4, 1, ALONE), "jsonl")
    assert run(["gradient", str(tmp_path), "--json"]) == 0
    theirs = json.loads(capsys.readouterr().out)["gsm8k"]["estimators"][shown]
    for name in ("nobody_right", "mixed", "everybody_right", "long_quarter"):
        assert found[f"signal/gsm8k/{name}"] == pytest.approx(theirs[name])
    assert {n.rpartition("/")[2] for n in found if "/part/" in n} == {"correct", "format", "rest"}


def test_groups_that_are_not_trained_on_count_for_nothing() -> None:
    batch, responses = scored()
    found = signal_metrics(run_of("actor_rollout_ref.rollout.n=4"), batch, responses, kept={0, 2})
    assert (found["signal/gsm8k/nobody_right"], found["signal/gsm8k/mixed"]) == (0.0, 1.0)
    single = signal_metrics(run_of("actor_rollout_ref.rollout.n=1"), batch, responses)
    assert single == {"ledger/failed": 1 / 16, "ledger/right": pytest.approx(1 / 3)}, "no groups, no shares"


def test_a_group_may_be_in_several_processes() -> None:
    batch, responses = scored()

    class Two:
        def gather(self, mine: list[Any]) -> list[list[Any]]:
            return [mine[::2], mine[1::2]]

    asked = run_of("actor_rollout_ref.rollout.n=4")
    halves = run_of("actor_rollout_ref.rollout.n=4", world=Two())
    whole = signal_metrics(asked, batch, responses)
    assert signal_metrics(halves, batch, responses) == pytest.approx(whole)
