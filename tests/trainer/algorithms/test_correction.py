"""Bounds on the distance from the rollout engine, by plain loops."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.algorithms.correction import (
    REJECTIONS,
    Rejection,
    bounded,
    divergence,
    read_bounds,
    read_rejections,
    within,
)

POLICY = torch.tensor([[-1.0, -2.0, -0.5, 9.0], [-1.0, -1.0, 9.0, 9.0]]).double()
ENGINE = torch.tensor([[-1.2, -1.0, -0.5, -9.0], [-1.1, -1.0, -9.0, -9.0]]).double()
MASK = torch.tensor([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]).double()
OF = {
    "k1": lambda ratio: -math.log(ratio),
    "k2": lambda ratio: 0.5 * math.log(ratio) ** 2,
    "k3": lambda ratio: ratio - 1 - math.log(ratio),
}


def by_hand(name: str, low: float, high: float) -> list[list[bool]]:
    """Token by token, in Python's own numbers."""
    level, _, estimate = name.rpartition("_")
    kept = []
    for policy, engine, mask in zip(POLICY.tolist(), ENGINE.tolist(), MASK.tolist(), strict=True):
        length = int(sum(mask))
        each = [OF[estimate](math.exp(p - e)) for p, e in zip(policy[:length], engine[:length], strict=True)]
        whole = {"token": None, "seq_sum": sum(each), "seq_mean": sum(each) / length, "seq_max": max(each)}[
            level
        ]
        figures = each if whole is None else [whole] * length
        kept.append([low <= figure <= high for figure in figures] + [False] * (len(mask) - length))
    return kept


def kept_by(rejections: list[Rejection]) -> Any:
    return within([divergence(POLICY, ENGINE, MASK, one) for one in rejections], rejections, MASK)


BOUNDS = {"0.95_1.3": (0.95, 1.3), "0.2_1.01": (0.2, 1.01), "3": (1 / 3, 3)}


@pytest.mark.parametrize("name", REJECTIONS)
def test_a_bound_keeps_what_is_within_it(name: str) -> None:
    seen = set()
    for threshold in BOUNDS if name.endswith("k1") else ("0.004", "0.1", "1.0"):
        (one,) = read_rejections(name, threshold)
        low, high = (math.log(b) for b in BOUNDS.get(threshold, (1, 1)))
        if not name.endswith("k1"):
            low, high = -math.inf, float(threshold)
        assert kept_by([one]).tolist() == by_hand(name, low, high)
        seen.add(str(by_hand(name, low, high)))
    assert len(seen) > 1, "some are kept, some are not"


def test_several_bounds_hold_together() -> None:
    both = read_rejections("token_k1, seq_max_k2", "0.6_1.6,0.4")
    each = [kept_by([one]) for one in both]
    assert torch.equal(kept_by(both), each[0] & each[1])
    assert [one.name for one in read_rejections("token_k2,token_k3,token_k2", 0.5)] == [
        "token_k2",
        "token_k3",
    ]


@pytest.mark.parametrize(
    ("names", "thresholds", "message"),
    [
        ("token_k4", 1, "unknown name 'token_k4' in rollout_rs; expected one of token_k1"),
        ("token_k1", None, "rollout_rs has 1 names.*; found 0"),
        ("token_k2", "0.1_0.2", "the threshold of token_k2 must be a single number.*'0.1_0.2'"),
        ("token_k1", 0.5, "the lower bound 2 is above the upper bound 0.5"),
        ("token_k2", "much", "rollout_rs_threshold: the threshold 'much' is not a number"),
        ("token_k2", "nan", "rollout_rs_threshold: a threshold must be a finite number above 0, found nan"),
    ],
)
def test_what_cannot_be_a_bound_is_said(names: str, thresholds: object, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        read_rejections(names, thresholds)


def test_weights_are_cut_off_or_where_there_are_two_bounds_left_out() -> None:
    weights = torch.tensor([0.1, 0.5, 1.0, 2.0, 7.0])
    assert bounded(weights, *read_bounds(2.0)).tolist() == pytest.approx([0.1, 0.5, 1.0, 2.0, 2.0])
    assert bounded(weights, *read_bounds("0.5_2.0")).tolist() == [0.0, 0.5, 1.0, 2.0, 0.0]
    for wrong in ("2_0.5", "a_2", 0, -1, None):
        with pytest.raises(ValueError, match=r"above|not a number"):
            read_bounds(wrong)
