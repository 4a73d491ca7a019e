"""Promises of every policy loss, aggregation and KL: no split, padding or masked value shows in them."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.algorithms.losses import POLICY_LOSSES, value_loss
from rewardkit.trainer.algorithms.objective import PolicyOptions, policy_loss
from rewardkit.trainer.algorithms.reductions import AGGREGATIONS, aggregate, count
from rewardkit_extras.policy_losses.covariance import covariance, largest
from tests.closeness import assert_same

NAMES = ("log_probs", "old_log_probs", "advantages", "weights", "values", "old_values", "returns")


def here(value: Any) -> Any:
    return value


def batch(seed: int = 0) -> dict[str, Any]:
    """Eight ragged rows, one of them masked out whole, one with a hole."""
    generator = torch.Generator().manual_seed(seed)
    made = {name: torch.randn((8, 6), generator=generator) for name in NAMES}
    made["weights"] = made["weights"].exp().clamp(max=2)
    made["mask"] = (torch.arange(6) < torch.tensor([6, 5, 4, 3, 2, 1, 0, 6])[:, None]).float()
    made["mask"][7, 2:4] = 0
    made["chosen"] = torch.rand((8, 6), generator=generator) < 0.3
    return made


def loss_of(given: dict[str, Any], totals: Any, name: str, mode: str, log_probs: Any) -> Any:
    policy, stats = policy_loss(
        log_probs,
        given["old_log_probs"],
        given["advantages"],
        given["mask"],
        totals,
        loss=POLICY_LOSSES[name],
        options=PolicyOptions(dro_beta=0.5),
        aggregation=mode,
        horizon=6,
        weights=given["weights"],
        chosen=given["chosen"],
    )
    value, more = value_loss(
        log_probs + given["values"],
        given["old_values"],
        given["returns"],
        given["mask"],
        totals,
        clip_range=0.2,
        aggregation=mode,
        horizon=6,
    )
    return torch.stack([policy, value, *(stats | more).values()])


def rows(given: dict[str, Any], start: int, end: int) -> dict[str, Any]:
    """Rows start..end without the columns that are masked in all of them, as a micro-batch is trimmed."""
    width = max(int(given["mask"][start:end].any(dim=0).sum()), 1)
    width = 6 if bool(given["mask"][start:end, -1].any()) else width
    return {name: tensor[start:end, :width] for name, tensor in given.items()}


@pytest.mark.parametrize(("name", "mode"), list(zip(POLICY_LOSSES, cycle(AGGREGATIONS), strict=False)))
def test_no_split_and_no_padding_changes_loss_statistics_or_gradient(name: str, mode: str) -> None:
    given = batch()
    totals = count(given["mask"], here)
    whole_input = given["log_probs"].clone().requires_grad_()
    whole = loss_of(given, totals, name, mode, whole_input)
    whole[:2].sum().backward()
    for size in (1, 3, 5):
        split_input = given["log_probs"].clone().requires_grad_()
        total = torch.zeros_like(whole)
        for start in range(0, 8, size):
            piece = rows(given, start, start + size)
            width = piece["mask"].shape[1]
            found = loss_of(piece, totals, name, mode, split_input[start : start + size, :width])
            total = total + found
        total[:2].sum().backward()
        assert_same(total, whole)
        assert_same(split_input.grad, whole_input.grad)


@pytest.mark.parametrize(
    ("name", "filler"), list(zip(POLICY_LOSSES, cycle((torch.nan, torch.inf, 1e9)), strict=False))
)
def test_what_is_masked_changes_no_value_and_no_gradient(name: str, filler: float) -> None:
    def found(fill: float | None) -> tuple[Any, Any]:
        given = batch()
        if fill is not None:
            kept = given["mask"].bool()
            given |= {key: torch.where(kept, given[key], fill) for key in NAMES if key != "weights"}
        log_probs = given["log_probs"].clone().requires_grad_()
        losses = loss_of(given, count(given["mask"], here), name, "token-mean", log_probs)
        losses[:2].sum().backward()
        return losses.detach(), log_probs.grad

    for clean, dirty in zip(found(None), found(filler), strict=True):
        torch.testing.assert_close(dirty, clean, rtol=0, atol=0)


@pytest.mark.parametrize("name", POLICY_LOSSES)
def test_an_unchanged_policy_has_the_policy_gradient_and_no_clipping(name: str) -> None:
    """At ratio 1 every objective's gradient is that of REINFORCE, mask and weights aside."""
    given = batch()
    mask, log_probs = given["mask"], given["log_probs"].clone().requires_grad_()
    # one advantage per response, as geo_mean supposes
    advantages = given["advantages"][:, :1].expand(8, 6)
    loss, stats = policy_loss(
        log_probs,
        log_probs.detach(),
        advantages,
        mask,
        count(mask, here),
        loss=POLICY_LOSSES[name],
        options=PolicyOptions(tau_neg=1.0, dro_beta=0.5),
        aggregation="seq-mean-token-mean",
    )
    loss.backward()
    lengths = mask.sum(dim=1, keepdim=True).clamp(min=1)
    counted = 1 if POLICY_LOSSES[name].aggregation == "seq-mean-token-sum" else lengths
    torch.testing.assert_close(log_probs.grad, -advantages * mask / counted / 7)
    assert float(stats["pg_clipfrac"]) == float(stats["pg_clipfrac_lower"]) == 0.0
    assert float(stats["trained_rows/approx_kl"]) == 0.0


OLD = [[-0.2, -1.0, -2.0], [-0.5, -0.1, -3.0]]
NEW = [[-0.1, -1.4, -0.9], [-0.9, -0.1, -2.0]]
PEERS: dict[str, tuple[str, dict[str, Any], str, float, list[list[float]]]] = {
    "verl's dppo_tv": (
        "dppo_tv",
        {},
        "token-mean",
        0.1394642,
        [[-0.2210342, -0.1340640, 0.0], [0.0670320, 0.1, 0.0]],
    ),
    "verl's dppo_tv, 0.1": (
        "dppo_tv",
        {"clip_low": 0.1, "clip_high": 0.1},
        "token-sum",
        5 * 0.1997930,
        [[5 * -0.2210342, 5 * -0.1340640, 0.0], [0.0, 0.5, 0.0]],
    ),
    "verl's dppo_kl, 0.05": (
        "dppo_kl",
        {"clip_low": 0.05, "clip_high": 0.05},
        "token-mean",
        0.1997930,
        [[-0.2210342, -0.1340640, 0.0], [0.0, 0.1, 0.0]],
    ),
    "verl's dppo_kl": (
        "dppo_kl",
        {},
        "token-mean",
        0.6794642,
        [[-0.2210342, -0.1340640, -0.6], [0.0670320, 0.1, 0.0]],
    ),
    "verl's dro": (
        "dro",
        {"dro_beta": 0.5},
        "token-mean",
        0.457,
        [[-0.19, -0.24, -0.09], [0.06, 0.1, 0.0]],
    ),
    "TRL's luspo": (
        "luspo",
        {},
        "token-mean",
        -1.3906346,
        [[0.0, 0.0, 0.0], [0.2046827, 0.2046827, 0.0]],
    ),
    "TRL's vespo": (
        "vespo",
        {},
        "token-mean",
        0.0019318,
        [[-0.0250706] * 3, [0.0582375, 0.0582375, 0.0]],
    ),
}
"""What verl 0.9.1's and TRL 1.16's own functions gave for these tokens: the loss and its gradient."""


@pytest.mark.parametrize("case", PEERS)
def test_a_loss_is_that_of_the_project_it_comes_from(case: str) -> None:
    name, options, mode, expected, gradient = PEERS[case]
    new = torch.tensor(NEW, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]], dtype=torch.float64)
    advantages = torch.tensor([[1.0], [-0.5]], dtype=torch.float64).expand(2, 3)
    loss, _ = policy_loss(
        new,
        torch.tensor(OLD, dtype=torch.float64),
        advantages,
        mask,
        count(mask, here),
        loss=POLICY_LOSSES[name],
        options=PolicyOptions(**options),
        aggregation=mode,
    )
    loss.backward()
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-6)
    torch.testing.assert_close(new.grad, torch.tensor(gradient, dtype=torch.float64), atol=1e-6, rtol=0)


def test_aggregation_by_hand() -> None:
    values = torch.tensor([[1.0, 2.0, 3.0], [4.0, 9.0, 9.0], [9.0, 9.0, 9.0]])
    mask = torch.tensor([[1, 1, 1], [1, 0, 0], [0, 0, 0]])
    expected = {
        "token-mean": 10 / 4,
        "token-sum": 10.0,
        "seq-mean-token-sum": (6 + 4) / 2,
        "seq-mean-token-mean": (2 + 4) / 2,
        "seq-mean-token-sum-norm": (6 + 4) / 2 / 10,
    }
    for mode, number in expected.items():
        assert float(aggregate(values, mask, count(mask, here), mode, 10)) == pytest.approx(number)
    with pytest.raises(ValueError, match=r"loss_agg_mode .*token-mean"):
        aggregate(values, mask, count(mask, here), "mean", 10)


def test_a_batch_with_nothing_left_has_loss_0() -> None:
    given = batch()
    given["mask"] = torch.zeros(8, 6)
    log_probs = given["log_probs"].requires_grad_()
    for mode in AGGREGATIONS:
        losses = loss_of(given, count(given["mask"], here), "vanilla", mode, log_probs)
        assert not bool(losses.any())


def test_the_largest_are_the_same_however_rows_are_spread() -> None:
    given = batch()
    candidates = given["mask"].bool()
    keys = covariance(given["old_log_probs"], given["advantages"], given["mask"], here)
    together = largest(keys, candidates, 5, lambda item: [item])
    assert torch.equal(together, candidates & (keys >= keys[candidates].sort().values[-5]))
    for parts in ([slice(0, 8, 2), slice(1, 8, 2)], [slice(0, 6), slice(6, 7), slice(7, 8)]):
        best = [keys[p][candidates[p]].sort(descending=True).values[:5] for p in parts]
        for part in parts:
            found = largest(keys[part], candidates[part], 5, lambda _, best=best: best)
            assert torch.equal(found, together[part])


def test_nothing_to_choose_from_chooses_nothing() -> None:
    nothing = torch.zeros((2, 3), dtype=torch.bool)
    assert torch.equal(largest(torch.rand(2, 3), nothing, 4, lambda item: [item]), nothing)
