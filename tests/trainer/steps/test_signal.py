"""The trainer's shares of |advantage| are those that `rewardkit gradient` reads from the step's dump."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.cli import run
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.batch import Batch, PromptRow, ScoredRollout
from rewardkit.trainer.steps.advantages import compute_advantages
from rewardkit.trainer.steps.dumps import gather_rows, write_dump
from rewardkit.trainer.steps.scoring import place_scores
from rewardkit.trainer.steps.signal import outcome_metrics, signal_metrics
from rewardkit.types import Score, failure
from tests.trainer.steps.test_advantages import ALONE, run_of

GROUPS = ["rfnn", "fnnn", "rrrr", "nn!f"]
KINDS = {"r": (1.0, True, 1.0), "f": (0.1, False, 1.0), "n": (0.0, False, 0.0)}


EVERYWHERE = torch.arange(16)


def scored(
    *overrides: str, rows: Any = EVERYWHERE, world: Any = ALONE
) -> tuple[Any, Batch, list[ScoredRollout]]:
    """Return a run, and 16 responses to four prompts (or some of them) with the advantages that it computes."""
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
    generator = torch.Generator().manual_seed(0)
    batch = Batch(
        {
            "attention_mask": torch.cat([torch.ones(16, 2, dtype=torch.long), mask], dim=1),
            "responses": mask,
            "response_mask": mask.float(),
            "groups": torch.arange(16) // 4,
            "seeds": torch.arange(16),
            "old_log_probs": -torch.rand((16, 4), generator=generator),
            "sum_pi_squared": torch.rand((16, 4), generator=generator),
            "values": torch.rand((16, 4), generator=generator),
            "reward_baselines": torch.rand(16, generator=generator),
            "score_parts": torch.tensor([[one.score.parts.get("format", 0.0)] for one in responses]).double(),
        },
        [one.row for one in responses],
    ).select(rows)
    responses = [responses[i] for i in rows.tolist()]
    asked = run_of("actor_rollout_ref.rollout.n=4", *overrides, world=world)
    place_scores(batch, [one.score for one in responses], asked.world, asked.config.reward)
    return asked, batch, responses


def shares(asked: Any, batch: Batch, responses: list[ScoredRollout]) -> dict[str, float]:
    """Return all that a step says of where its advantages come from."""
    found = outcome_metrics(asked, batch, responses)
    compute_advantages(asked, batch)
    return found | signal_metrics(asked, batch)


@pytest.mark.parametrize("estimator", ["grpo", "rloo", "reinforce_plus_plus"])
def test_the_shares_are_those_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], estimator: str
) -> None:
    asked, batch, responses = scored(f"algorithm.adv_estimator={estimator}")
    found = shares(asked, batch, responses)
    write_dump(tmp_path, 1, gather_rows(responses, 4, 1, ALONE), "jsonl")
    assert run(["gradient", str(tmp_path), "--json"]) == 0
    theirs = json.loads(capsys.readouterr().out)["gsm8k"]["estimators"][estimator]
    if estimator != "reinforce_plus_plus":  # it is whitened over tokens, in the command over responses
        for name in ("nobody_right", "mixed", "everybody_right", "long_quarter"):
            assert found[f"signal/gsm8k/{name}"] == pytest.approx(theirs[name], abs=1e-6)
    assert {n.rpartition("/")[2] for n in found if "/part/" in n} == {"correct", "format", "rest"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_shares_are_those_of_the_runs_own_advantages(estimator: str) -> None:
    parts = ["algorithm.gdpo_reward_keys=[format]"] if ESTIMATORS[estimator].parts else []
    asked, batch, responses = scored(f"algorithm.adv_estimator={estimator}", *parts)
    found = shares(asked, batch, responses)
    mask = batch["response_mask"]
    size = (batch["advantages"].abs() * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
    by_group = [float(size[4 * group : 4 * group + 4].sum()) for group in range(4)]
    whole = sum(by_group)
    assert whole > 0
    assert found["signal/gsm8k/mixed"] == pytest.approx(by_group[0] / whole, abs=1e-6)
    assert found["signal/gsm8k/everybody_right"] == pytest.approx(by_group[2] / whole, abs=1e-6)
    assert found["signal/gsm8k/nobody_right"] == pytest.approx((by_group[1] + by_group[3]) / whole, abs=1e-6)
    with_formula = estimator in ("grpo", "rloo", "reinforce_plus_plus")
    assert any("/part/" in name for name in found) == with_formula == ("ledger/failures" in found)


def test_groups_that_are_not_trained_on_count_for_nothing() -> None:
    asked, batch, responses = scored()
    of_scores = outcome_metrics(asked, batch, responses, kept={0, 2})
    assert of_scores["ledger/right"] == pytest.approx(5 / 8) and of_scores["ledger/failed"] == 1 / 16
    asked, kept, others = scored(rows=torch.tensor([0, 1, 2, 3, 8, 9, 10, 11]))
    found = shares(asked, kept, others)
    assert (found["signal/gsm8k/nobody_right"], found["signal/gsm8k/mixed"]) == (0.0, 1.0)
    asked, batch, responses = scored("actor_rollout_ref.rollout.n=1", "algorithm.adv_estimator=gae")
    single = shares(asked, batch, responses)
    assert single == {"ledger/failed": 1 / 16, "ledger/right": pytest.approx(1 / 3)}, "no groups, no shares"


def test_a_group_may_be_in_several_processes() -> None:
    asked, batch, responses = scored()
    whole = shares(asked, batch, responses)

    class Two:
        """Gathers the shares of two processes, which hold every other response."""

        def gather(self, mine: list[Any]) -> list[list[Any]]:
            return [mine[::2], mine[1::2]]

    halves = run_of("actor_rollout_ref.rollout.n=4", world=Two())
    found = outcome_metrics(halves, batch, responses) | signal_metrics(halves, batch)
    assert found == pytest.approx(whole)
