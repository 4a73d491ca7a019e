"""Rewards of turns, by the numbers: discounts over turns, both forms for groups, and the bias of a third."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.algorithms.advantages import ESTIMATORS, discounted_returns, gae
from rewardkit.trainer.algorithms.estimation import Experience
from tests.trainer.algorithms.test_advantages import Ranks

EXAMPLE = [[0.5, 1.0], [0.0, 0.0], [0.5, 0.0], [0.0, 0.5, 1.0]]
"""One group: four episodes, the reward of each turn."""


def of_turns(
    rewards: list[list[float]], outcomes: list[float] | None = None, *, per_turn: bool, **changes: Any
) -> Experience:
    """One token a turn, and one of an observation after it."""
    width = 2 * max(map(len, rewards))
    placed = torch.zeros((len(rewards), width))
    turns = torch.zeros((len(rewards), width), dtype=torch.int64)
    whole = torch.zeros((len(rewards), width))
    for i, of_row in enumerate(rewards):
        for k, reward in enumerate(of_row):
            placed[i, 2 * k] = reward
            turns[i, 2 * k] = k + 1
        whole[i, 2 * len(of_row) - 2] = outcomes[i] if outcomes else 0.0
    settings: dict[str, Any] = {"gamma": 1.0, "lam": 1.0, "norm_by_std": False, "rank": 0}
    settings |= {"reduce": lambda t: t, "gather": lambda item: [item], "values": None, "baselines": None}
    settings |= {"groups": torch.zeros(len(rewards), dtype=torch.int64)}
    settings |= {"scored": torch.ones(len(rewards), dtype=torch.bool)}
    if per_turn:
        settings |= {"turns": turns, "of_trajectory": whole}
    return Experience(rewards=placed + whole, mask=(turns > 0).float(), **(settings | changes))


def advantages(name: str, given: Experience) -> list[list[float]]:
    """Of each turn of each episode; what stands on observations must be 0."""
    found, _ = ESTIMATORS[name].estimate(given)
    assert not bool(found[given.mask == 0].any())
    return [row[kept].tolist() for row, kept in zip(found, given.mask.bool(), strict=True)]


def test_summed_every_token_gets_the_episode_s_advantage() -> None:
    found = advantages("grpo", of_turns(EXAMPLE, per_turn=False))
    assert [set(row) for row in found] == [{0.625}, {-0.875}, {-0.375}, {0.625}]
    found = advantages("grpo", of_turns(EXAMPLE, per_turn=False, norm_by_std=True))
    assert [row[0] for row in found] == pytest.approx([0.8333, -1.1667, -0.5, 0.8333], abs=1e-4)


def test_per_turn_a_token_gets_its_turn_s_advantage_and_the_later_ones() -> None:
    found = advantages("grpo", of_turns(EXAMPLE, per_turn=True))
    # Means 0.25, 0.375, 0.25 of the first, second and third turns; an absent third turn is worth -0.25.
    assert found == [
        [0.625, 0.375],
        [-0.875, -0.625],
        [-0.375, -0.625],
        [0.625, 0.875, 0.75],
    ]
    summed = advantages("grpo", of_turns(EXAMPLE, per_turn=False))
    assert [row[0] for row in found] == [row[0] for row in summed], "the first turn answers for all of it"


def test_what_is_for_the_episode_is_compared_with_its_like() -> None:
    outcomes = [1.0, 0.0, 0.0, 1.0]
    alone = advantages("rloo", of_turns(EXAMPLE, per_turn=True))
    both = advantages("rloo", of_turns(EXAMPLE, outcomes, per_turn=True))
    for i, (one, two) in enumerate(zip(alone, both, strict=True)):
        of_episode = (outcomes[i] - 0.5) * 4 / 3
        assert two == pytest.approx([value + of_episode for value in one])


def test_without_rewards_of_turns_both_forms_are_one() -> None:
    nothing = [[0.0] * len(row) for row in EXAMPLE]
    outcomes = [1.0, 0.0, 0.25, 0.5]
    for name in (name for name, row in ESTIMATORS.items() if row.by_turns):
        forms = [
            advantages(name, of_turns(nothing, outcomes, per_turn=form, norm_by_std=True))
            for form in (True, False)
        ]
        for one, two in zip(*forms, strict=True):
            assert one == pytest.approx(two, abs=1e-6), name


def test_turns_of_other_processes_are_compared_though_fewer_there() -> None:
    whole = of_turns(EXAMPLE, [1.0, 0.0, 0.0, 1.0], per_turn=True, norm_by_std=True)
    expected, _ = ESTIMATORS["grpo"].estimate(whole)
    ranks = Ranks(2)
    found: dict[int, Any] = {}

    def work(rank: int, rows: list[int]) -> None:
        names = ("rewards", "mask", "scored", "groups", "turns", "of_trajectory")
        tensors = {name: getattr(whole, name)[rows] for name in names}
        mine = replace(whole, **tensors, rank=rank, gather=lambda item: ranks.gather(rank, item))
        found[rank] = ESTIMATORS["grpo"].estimate(mine)[0]

    threads = [threading.Thread(target=work, args=(r, rows)) for r, rows in enumerate(([0, 1], [2, 3]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(torch.cat([found[0], found[1]]), expected)


def test_gae_over_turns_by_hand() -> None:
    """One token a turn: GAE over turns. Two tokens a turn and lam < 1: it sees later turns less."""
    rewards = torch.tensor([[0.5, 0.0, 1.0]])
    mask = torch.tensor([[1.0, 0.0, 1.0]])
    values = torch.tensor([[0.8, 9.0, 0.6]])
    found, _ = gae(rewards, values, mask, gamma=0.99, lam=0.9)
    assert found[0].tolist() == pytest.approx([0.6504, 0.0, 0.4], abs=1e-4)
    rewards = torch.tensor([[0.0, 0.5, 7.0, 0.0, 1.0]])
    mask = torch.tensor([[1.0, 1.0, 0.0, 1.0, 1.0]])
    values = torch.tensor([[0.8, 0.7, 9.0, 0.6, 0.9]])
    for lam, expected in ((1.0, [0.7, 0.8, 0.0, 0.4, 0.1]), (0.5, [0.1875, 0.575, 0.0, 0.35, 0.1])):
        found, _ = gae(rewards, values, mask, gamma=1.0, lam=lam)
        assert found[0].tolist() == pytest.approx(expected, abs=1e-6)
    returns = discounted_returns(rewards, mask, 0.9)
    assert returns[0].tolist() == pytest.approx([1.179, 1.31, 0.0, 0.9, 1.0], abs=1e-6)


def among_those_that_got_there(rewards: list[list[float]]) -> list[float]:
    """The form that we have not: each turn less the mean of the others that had it, summed."""
    sums = []
    for i, mine in enumerate(rewards):
        total = 0.0
        for k, reward in enumerate(mine):
            others = [row[k] for j, row in enumerate(rewards) if j != i and len(row) > k]
            total += reward - (sum(others) / len(others) if others else 0.0)
        sums.append(total)
    return sums


def test_turns_compared_among_those_that_got_there_drive_towards_going_on() -> None:
    """Stop, worth 0, or go on: +1 now and -1 in the next turn. Both are worth 0, and so is the gradient.

    All 16 outcomes of a group of four at p = 0.5; the gradient is that in the logit of p. The example is that
    of verl's issue 7244.
    """
    stop, go_on = [0.0], [1.0, -1.0]
    gradients = {"summed": 0.0, "per_turn": 0.0, "got there": 0.0}
    for choices in product((0, 1), repeat=4):
        rewards = [go_on if choice else stop for choice in choices]
        ours = {
            name: advantages("rloo", of_turns(rewards, per_turn=name == "per_turn"))
            for name in ("summed", "per_turn")
        }
        forms = {name: [row[0] for row in found] for name, found in ours.items()}
        forms["got there"] = among_those_that_got_there(rewards)
        for name, of_choice in forms.items():
            estimate = sum((c - 0.5) * a for c, a in zip(choices, of_choice, strict=True)) / 4
            gradients[name] += estimate / 16
    assert gradients["summed"] == pytest.approx(0.0, abs=1e-7)
    assert gradients["per_turn"] == pytest.approx(0.0, abs=1e-7)
    assert gradients["got there"] == pytest.approx(7 / 32)
