"""Figures of a step: what the critic explains, and throughput in verl's terms."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.distributed import World
from rewardkit.trainer.logging.metrics import Clock, batch_metrics, explained_variance
from rewardkit.trainer.logging.utilization import peak_flops, training_flops, utilization
from rewardkit.trainer.stepping import performance

ALONE = World(0, 1, torch.device("cpu"))


def test_the_explained_variance_is_1_for_the_returns_and_0_for_their_mean() -> None:
    returns = torch.tensor([[1.0, 2.0, 9.0], [4.0, 100.0, 100.0]])
    mask = torch.tensor([[1, 1, 1], [1, 0, 0]])
    assert explained_variance(returns.clone(), returns, mask, ALONE) == pytest.approx(1.0)
    assert explained_variance(torch.full_like(returns, 4.0), returns, mask, ALONE) == pytest.approx(0.0)
    assert explained_variance(-returns, returns, mask, ALONE) == pytest.approx(-3.0)
    flat = torch.ones(2, 3)
    assert explained_variance(returns, flat, mask, ALONE) != explained_variance(returns, flat, mask, ALONE)


def test_the_entropy_is_of_all_rows_also_where_only_the_engine_measured_tokens() -> None:
    mask = torch.tensor([[1.0, 1.0], [1.0, 0.0]])
    names = ("token_level_scores", "token_level_rewards", "advantages", "returns")
    tensors = {name: torch.zeros(2, 2) for name in names}
    tensors |= {"response_mask": mask, "attention_mask": torch.ones(2, 3), "responses": torch.zeros(2, 2)}
    tensors |= {"scored": torch.tensor([True, True]), "advantages": torch.tensor([[1.0, 1.0], [0.0, 0.0]])}
    tensors["rollout_log_probs"] = torch.tensor([[-1.0, -2.0], [-6.0, -99.0]])
    assert batch_metrics(Batch(tensors, []), ALONE)["actor/entropy"] == 3.0
    tensors["entropys"] = torch.tensor([[1.0, 1.0], [4.0, 99.0]])
    assert batch_metrics(Batch(tensors, []), ALONE)["actor/entropy"] == 2.0


def test_throughput_is_per_process_as_verl_s_is_per_gpu() -> None:
    clock = Clock(torch.device("cpu"))
    clock.seconds["step"] = 2.0
    found = performance({"perf/total_num_tokens": 800.0}, clock, 4)
    assert found["perf/throughput"] == 100.0
    assert found["perf/time_per_step"] == 2.0
    assert found["perf/cpu_memory_used_gb"] > 0.01


def test_the_operations_of_an_update_are_those_of_its_weights_and_pairs_of_tokens(model: Any) -> None:
    attention = 2 * 128 * 128 + 2 * 128 * 64
    block = attention + 3 * 128 * 384 + 2 * 128  # the MLP and two norms
    weights = 2 * block + 128 + model.config.vocab_size * 128  # the tied embeddings once, as the output layer
    lengths = torch.tensor([3, 5])
    assert training_flops(model, lengths) == 6 * weights * 8 + 12 * 2 * 128 * (9 + 25)


def test_mfu_is_what_was_computed_as_a_share_of_what_could_be(model: Any) -> None:
    lengths = torch.tensor([3, 5])
    once = training_flops(model, lengths)
    seconds = {"update_actor": 2.0, "step": 9.0}
    found = utilization({"actor": (model, 4, lengths), "critic": (model, 1, lengths)}, seconds, once)
    assert found == {"perf/mfu/actor": 2.0}, "no critic was updated"
    assert utilization({"actor": (model, 4, lengths)}, seconds, None) == {}
    assert peak_flops(torch.device("cpu")) is None


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA H20", 148e12),
        ("x", None),
    ],
)
def test_the_peak_is_that_of_the_device(
    name: str, peak: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    assert peak_flops(torch.device("cuda", 0)) == peak
