"""Advantages by hand, with failed rewards among the responses, and with groups spread over processes."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st

from rewardkit.trainer.algorithms.advantages import ESTIMATORS, grpo, grpo_passk, opo, rloo
from rewardkit.trainer.algorithms.estimation import Experience
from tests.closeness import assert_same

ROWS, WIDTH = 8, 4


def experience(seed: int = 0, failed: tuple[int, ...] = (), **changes: Any) -> Experience:
    generator = torch.Generator().manual_seed(seed)
    mask = (torch.arange(WIDTH) < torch.randint(1, WIDTH + 1, (ROWS, 1), generator=generator)).float()
    scored = torch.ones(ROWS, dtype=torch.bool)
    scored[list(failed)] = False
    mask = mask * scored[:, None]
    made = Experience(
        rewards=torch.randn((ROWS, WIDTH), generator=generator).round(decimals=1) * mask,
        mask=mask,
        scored=scored,
        groups=torch.tensor([5, 5, 5, 5, 7, 7, 9, 9]),
        values=torch.randn((ROWS, WIDTH), generator=generator),
        baselines=torch.randn(ROWS, generator=generator),
        log_probs=-torch.rand((ROWS, WIDTH), generator=generator),
        squares=torch.rand((ROWS, WIDTH), generator=generator),
        gamma=0.99,
        lam=0.95,
        norm_by_std=True,
        reduce=lambda t: t,
        gather=lambda item: [item],
        rank=0,
        parts=torch.rand((ROWS, 2), generator=generator).round(decimals=1),
        part_weights=(1.0, 0.5),
    )
    return dataclasses.replace(made, **changes)


def rows_of(whole: Experience, index: list[int], **changes: Any) -> Experience:
    names = ("rewards", "mask", "scored", "groups", "values", "baselines", "log_probs", "squares", "parts")
    return dataclasses.replace(whole, **{n: getattr(whole, n)[index] for n in names}, **changes)


class Ranks:
    """Processes as threads: `gather` and `reduce` wait for all of them."""

    def __init__(self, size: int) -> None:
        self.items: list[Any] = [None] * size
        self.barrier = threading.Barrier(size, timeout=120)

    def gather(self, rank: int, item: Any) -> list[Any]:
        self.items[rank] = item
        self.barrier.wait()
        items = list(self.items)
        self.barrier.wait()
        return items


def in_ranks(name: str, whole: Experience, shares: list[list[int]]) -> tuple[Any, Any]:
    ranks, results = Ranks(len(shares)), {}

    def work(rank: int) -> None:
        share = rows_of(
            whole,
            shares[rank],
            rank=rank,
            gather=lambda item: ranks.gather(rank, item),
            reduce=lambda t: sum(ranks.gather(rank, t)),
        )
        results[rank] = ESTIMATORS[name].estimate(share)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(len(shares))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    order = torch.tensor([row for share in shares for row in share]).argsort()
    together = [torch.cat([results[r][i] for r in range(len(shares))])[order] for i in (0, 1)]
    return together[0], together[1]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_spread_of_the_rows_over_processes_changes_an_advantage(name: str) -> None:
    whole = experience(failed=(1,))
    advantages, returns = ESTIMATORS[name].estimate(whole)
    for shares in ([[0, 1, 2, 3], [4, 5, 6, 7]], [[7, 0, 3], [1, 2, 4, 6], [5]]):
        found = in_ranks(name, whole, shares)
        assert_same(found[0], advantages)
        assert_same(found[1], returns)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_response_that_was_not_scored_is_in_no_statistic(name: str) -> None:
    whole = experience(failed=(1, 4))
    advantages, returns = ESTIMATORS[name].estimate(whole)
    assert not bool(advantages[[1, 4]].any()) and not bool(returns[[1, 4]].any())
    rest = [0, 2, 3, 5, 6, 7]
    without = ESTIMATORS[name].estimate(rows_of(whole, rest))
    assert_same(advantages[rest], without[0])
    assert_same(returns[rest], without[1])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_scored_gives_zeros(name: str) -> None:
    advantages, returns = ESTIMATORS[name].estimate(experience(failed=tuple(range(ROWS))))
    assert not bool(advantages.any()) and not bool(returns.any())


def test_groups_by_hand() -> None:
    scores, groups = torch.tensor([1.0, 0.0, 1.0, 4.0]), torch.tensor([3, 3, 3, 1])
    lengths = torch.tensor([1.0, 3.0, 2.0, 9.0])
    std = (1 / 3) ** 0.5
    by_hand = {
        grpo: [1 / 3 / std, -2 / 3 / std, 1 / 3 / std, 4.0],
        rloo: [0.5, -1.0, 0.5, 4.0],
        opo: [0.5, -0.5, 0.5, 4.0],
        grpo_passk: [0.0, 0.0, 0.0, 0.0],
    }
    for estimator, expected in by_hand.items():
        found = estimator(scores, groups, lengths, True)
        torch.testing.assert_close(found, torch.tensor(expected), atol=1e-5, rtol=0)
    dr_grpo = grpo(scores, groups, lengths, False)
    torch.testing.assert_close(dr_grpo, torch.tensor([1 / 3, -2 / 3, 1 / 3, 4.0]))
    lead = grpo_passk(torch.tensor([0.2, 1.0, 0.5]), torch.tensor([0, 0, 0]), lengths[:3], False)
    torch.testing.assert_close(lead, torch.tensor([0.0, 0.5, 0.0]))


@settings(max_examples=50, deadline=None)
@hypothesis_given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 1.0]), st.integers(0, 3)), min_size=1, max_size=12)
)
def test_group_advantages_are_finite_and_centred(pairs: list[tuple[float, int]]) -> None:
    scores = torch.tensor([score for score, _ in pairs])
    groups = torch.tensor([group for _, group in pairs])
    lengths = torch.ones(len(pairs))
    for estimator in (grpo, rloo, opo):
        found = estimator(scores, groups, lengths, True)
        assert bool(found.isfinite().all())
        for group in groups.unique():
            members = found[groups == group]
            if len(members) > 1:
                assert float(members.sum()) == pytest.approx(0.0, abs=1e-3)
