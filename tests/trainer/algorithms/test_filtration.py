"""PF-PPO: who is drawn, and how often; and that each process gets what all have drawn together."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.algorithms.filtration import draw
from rewardkit.trainer.batch import Batch, PromptRow
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.steps.filtration import filtered

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


def batch_of(numbers: list[int]) -> Batch:
    rows = [PromptRow("gsm8k", [], str(n), {}, [1]) for n in numbers]
    index = torch.tensor(numbers)
    scores = torch.zeros((len(numbers), 2))
    scores[:, 1] = index.float()
    return Batch(
        {"token_level_scores": scores, "scored": index >= 0, "seeds": index + 100, "x": index * 10}, rows
    )


def run_with(world: Any, *more: str) -> Any:
    given = ["data.train_files=x", "actor_rollout_ref.model.path=x", *more]
    return SimpleNamespace(config=load_config(None, given), world=world)


def test_every_process_gets_its_share_of_what_one_would_draw() -> None:
    asked = "algorithm.use_pf_ppo=true"
    alone = filtered(run_with(World(0, 1, torch.device("cpu")), asked), batch_of(list(range(8))))
    assert [int(row.ground_truth) * 10 for row in alone.rows] == alone["x"].tolist()
    assert len(set(alone["x"].tolist())) < 8, "some are drawn twice"
    items: list[Any] = [None, None]
    barrier = threading.Barrier(2, timeout=120)
    found: dict[int, Batch] = {}

    def work(rank: int) -> None:
        def gather(item: Any) -> list[Any]:
            items[rank] = item
            barrier.wait()
            seen = list(items)
            barrier.wait()
            return seen

        world = SimpleNamespace(rank=rank, size=2, device=torch.device("cpu"), gather=gather)
        found[rank] = filtered(run_with(world, asked), batch_of(list(range(rank, 8, 2))))

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank in range(2):
        assert found[rank]["x"].tolist() == alone["x"].tolist()[rank::2]
        assert [row.ground_truth for row in found[rank].rows] == [r.ground_truth for r in alone.rows[rank::2]]


def test_it_is_done_where_it_is_asked_for_alone() -> None:
    batch = batch_of([1, 2])
    assert filtered(run_with(World(0, 1, torch.device("cpu"))), batch) is batch
