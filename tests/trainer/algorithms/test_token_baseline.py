"""OTB by plain loops: one response, place and group at a time."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.estimation import Experience
from rewardkit.trainer.algorithms.log_probs import token_log_probs

GROUPS = [4, 4, 4, 7, 7, 9]
MASKS = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]


def experience(seed: int, *, holes: bool, weighed: bool) -> Experience:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.tensor(MASKS).double()
    if not holes:
        mask[2, 1] = 1

    def drawn() -> Any:
        return torch.rand(mask.shape, generator=generator).double()

    return Experience(
        rewards=drawn() * mask,
        mask=mask,
        scored=torch.ones(len(GROUPS)).bool(),
        groups=torch.tensor(GROUPS),
        values=None,
        baselines=None,
        gamma=1.0,
        lam=1.0,
        norm_by_std=True,
        reduce=lambda t: t,
        gather=lambda item: [item],
        rank=0,
        log_probs=-drawn(),
        squares=drawn(),
        weights=2 * drawn() if weighed else None,
    )


def by_hand(given: Experience) -> list[list[float]]:
    """The advantages, in Python's own numbers."""
    places: list[dict[int, tuple[int, float, float]]] = []
    for i, mask in enumerate(given.mask.tolist()):
        kept = [t for t, m in enumerate(mask) if m]
        energy = 0.0
        found = {}
        for k, t in enumerate(kept):
            p, squares = math.exp(float(given.log_probs[i, t])), float(given.squares[i, t])  # type: ignore[index]
            weight = 1.0 if given.weights is None else float(given.weights[i, t])
            energy += (1 - 2 * p + squares) * weight**2
            rest = sum(float(given.rewards[i, u]) for u in kept[k:])
            found[k] = (t, energy, rest)
        places.append(found)
    advantages = [[0.0] * given.mask.shape[1] for _ in GROUPS]
    for i, mine in enumerate(places):
        for place, (t, _, rest) in mine.items():
            beside = [p[place] for p, g in zip(places, GROUPS, strict=True) if g == GROUPS[i] and place in p]
            above = sum(energy * r for _, energy, r in beside)
            below = sum(energy for _, energy, _ in beside)
            advantages[i][t] = rest - (above / (below + 1e-8) if len(beside) > 1 else 0.0)
    return advantages


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("name", ["", "tir_"])
def test_each_token_has_the_baseline_of_its_place(name: str, holes: bool, weighed: bool) -> None:
    given = experience(3, holes=holes, weighed=weighed)
    advantages, returns = ESTIMATORS[f"{name}optimal_token_baseline"].estimate(given)
    expected = torch.tensor(by_hand(given), dtype=torch.float64)
    torch.testing.assert_close(advantages, expected, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(returns[5, :3], given.rewards[5, :3].flip(0).cumsum(0).flip(0))
    torch.testing.assert_close(advantages[5], returns[5], msg="alone in its group: no baseline")
    assert not bool(advantages[given.mask == 0].any())


def test_squares_come_with_the_log_probabilities() -> None:
    logits = torch.randn((3, 5, 11), generator=torch.Generator().manual_seed(1))
    logits[0, 0, 3:] = -torch.inf
    tokens = torch.zeros((3, 5), dtype=torch.int64)
    log_probs, figures = token_log_probs(logits.clone(), tokens, "value and squares")
    plain, entropies = token_log_probs(logits.clone(), tokens, "value")
    assert figures is not None
    assert entropies is not None
    assert torch.equal(log_probs, plain)
    assert torch.equal(figures[..., 0], entropies)
    torch.testing.assert_close(figures[..., 1], logits.softmax(-1).square().sum(-1))
