"""Figures of a step: what the critic explains, and throughput in verl's terms."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import Clock, explained_variance
from rewardkit.trainer.loop import _performance

ALONE = World(0, 1, torch.device("cpu"))


def test_the_explained_variance_is_1_for_the_returns_and_0_for_their_mean() -> None:
    returns = torch.tensor([[1.0, 2.0, 9.0], [4.0, 100.0, 100.0]])
    mask = torch.tensor([[1, 1, 1], [1, 0, 0]])
    assert explained_variance(returns.clone(), returns, mask, ALONE) == pytest.approx(1.0)
    assert explained_variance(torch.full_like(returns, 4.0), returns, mask, ALONE) == pytest.approx(0.0)
    assert explained_variance(-returns, returns, mask, ALONE) == pytest.approx(-3.0)
    flat = torch.ones(2, 3)
    assert explained_variance(returns, flat, mask, ALONE) != explained_variance(returns, flat, mask, ALONE)


def test_throughput_is_per_process_as_verl_s_is_per_gpu() -> None:
    clock = Clock(torch.device("cpu"))
    clock.seconds["step"] = 2.0
    found = _performance({"perf/total_num_tokens": 800.0}, clock, 4)
    assert found["perf/throughput"] == 100.0
    assert found["perf/time_per_step"] == 2.0
    assert found["perf/cpu_memory_used_gb"] > 0.01
