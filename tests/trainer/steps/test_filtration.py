"""PF-PPO: who is drawn, and how often; and that each process gets what all have drawn together."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.distributed import World
from rewardkit.trainer.steps.filtration import draw
from tests.trainer.running import run_module
from tests.trainer.steps.filtration_runs import drawn

SCORES = torch.tensor([1.0, -2.0, 0.0, 3.0, 3.0, 0.5])
SCORED = torch.tensor([True, True, True, True, False, True])


@pytest.mark.parametrize(
    ("method", "weights"),
    [
        ("pow", [1.0, 4.0, 0.0, 9.0, 0.0, 0.25]),
        ("max_min", [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        ("max_random", [0.1, 0.1, 0.1, 0.4, 0.0, 0.1]),
    ],
)
def test_responses_are_drawn_by_their_weights(method: str, weights: list[float]) -> None:
    scores, scored = SCORES.repeat(4000), SCORED.repeat(4000)
    drawn = draw(scores, scored, method, 2.0, seed=7)
    assert torch.equal(drawn, draw(scores, scored, method, 2.0, seed=7))
    assert not torch.equal(drawn, draw(scores, scored, method, 2.0, seed=8))
    shares = (drawn % 6).bincount(minlength=6) / len(drawn)
    assert shares.tolist() == pytest.approx([w / sum(weights) for w in weights], abs=0.02)
    assert shares[4] == 0, "it has no score"


def test_where_nothing_was_scored_all_stay_as_they_are() -> None:
    assert draw(SCORES, torch.zeros(6).bool(), "pow", 2.0, seed=1).tolist() == [0, 1, 2, 3, 4, 5]


def test_scores_of_0_are_drawn_alike() -> None:
    counts = draw(torch.zeros(9000), torch.ones(9000).bool(), "pow", 2.0, seed=1).bincount(minlength=9000)
    assert int(counts.max()) < 12


def test_every_process_gets_its_share_of_what_one_would_draw(world: World, tmp_path: Path) -> None:
    alone = drawn(world, list(range(8)))
    assert len(set(alone)) < 8, "some are drawn twice"
    run_module("tests.trainer.steps.filtration_runs", tmp_path, timeout=600)
    for rank in range(2):
        assert json.loads((tmp_path / f"rank{rank}.json").read_text()) == alone[rank::2]
