"""Rows that no gradient comes of are not computed, and nobody can tell by the weights."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.estimation import Experience
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.algorithms.objective import PolicyOptions, policy_loss
from rewardkit.trainer.algorithms.reductions import count
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.distributed import World, gathered
from rewardkit.trainer.models.load import load_causal_lm
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import shard
from rewardkit.trainer.workers import actor as actor_module
from rewardkit.trainer.workers.actor import Actor
from rewardkit.trainer.workers.batching import Batching
from tests.trainer.workers.test_workers import FSDP, ModelConfig, OptimConfig, actor_config
from tests.trainer.workers.worker_runs import Setting, in_processes

DEAD = [0, 2, 3, 6]
"""Of eight rows, in two mini-batches of four."""


def with_zeros(batch: Batch, dead: list[int]) -> Batch:
    advantages = batch["advantages"].clone()
    advantages[dead] = 0.0
    return Batch({**batch.tensors, "advantages": advantages}, batch.rows)


def updated(
    world: World,
    folder: Path,
    batches: list[Batch],
    *,
    everything: bool,
    packing: str = "off",
    **changes: Any,
) -> tuple[torch.Tensor, list[dict[str, float]], list[int]]:
    """Return the weights after updates on these batches, their metrics, and the rows of each forward."""
    torch.manual_seed(0)
    model = prepare(load_causal_lm(str(folder), torch.float32), ModelConfig(str(folder)), world.device, FSDP)
    model.packing = packing
    config = actor_config(ppo_mini_batch_size=4, **changes)
    actor = Actor(
        shard(model, world, FSDP),
        world,
        config,
        samples_per_prompt=1,
        temperature=1.0,
        log_prob_batching=Batching(),
    )
    if everything:
        actor.live = lambda given: torch.ones(len(given), dtype=torch.bool)  # type: ignore[method-assign]
    forwards: list[int] = []
    plain = actor_module.response_log_probs

    def counted(model: Any, piece: Batch, *args: Any, **named: Any) -> Any:
        forwards.append(len(piece))
        return plain(model, piece, *args, **named)

    actor_module.response_log_probs = counted
    try:
        metrics = [actor.update(batch, step, 0) for step, batch in enumerate(batches, 1)]
    finally:
        actor_module.response_log_probs = plain
    weights = torch.cat([gathered(p.detach()).flatten() for p in actor.model.parameters()])
    return weights, metrics, forwards


@pytest.mark.parametrize("loss_mode", ["vanilla", "gspo", "kl_cov"])
def test_whole_micro_batches_are_left_out_and_weights_are_equal_to_the_bit(
    world: World, model_folder: Path, batch: Batch, loss_mode: str
) -> None:
    given_ = with_zeros(batch, DEAD)
    given_["chosen"] = torch.zeros_like(batch["response_mask"], dtype=torch.bool)
    changes: dict[str, Any] = {"ppo_micro_batch_size_per_gpu": 1, "ppo_epochs": 2}
    changes["policy_loss"] = type(actor_config().policy_loss)(loss_mode=loss_mode)
    less, metrics, forwards = updated(world, model_folder, [given_, batch], everything=False, **changes)
    whole, all_metrics, of_all = updated(world, model_folder, [given_, batch], everything=True, **changes)
    assert torch.equal(less, whole)
    assert (sum(forwards), sum(of_all)) == (2 * 4 + 2 * 8, 2 * 8 + 2 * 8)
    assert metrics[0]["rows_left_out"] == 0.5 and metrics[1]["rows_left_out"] == 0.0
    for name in ("pg_loss", "grad_norm", "pg_clipfrac"):
        assert metrics[0][name] == pytest.approx(all_metrics[0][name], rel=1e-5, abs=1e-9), name


@pytest.mark.parametrize("packing", ["off", "rows"])
def test_rows_left_out_of_a_micro_batch_change_no_more_than_the_order_of_sums(
    world: World, model_folder: Path, batch: Batch, packing: str
) -> None:
    given_, rate = [with_zeros(batch, DEAD)], OptimConfig(lr=1e-5)
    less, _, forwards = updated(world, model_folder, given_, everything=False, packing=packing, optim=rate)
    whole, _, _ = updated(world, model_folder, given_, everything=True, packing=packing, optim=rate)
    assert sum(forwards) == 4
    assert float((less - whole).abs().max()) < 1e-6


def test_a_step_without_any_gradient_moves_weights_by_the_momentum_that_is_left(
    world: World, model_folder: Path, batch: Batch
) -> None:
    given_ = [batch, with_zeros(batch, list(range(8)))]
    less, metrics, forwards = updated(world, model_folder, given_, everything=False)
    whole, _, _ = updated(world, model_folder, given_, everything=True)
    after_one, _, _ = updated(world, model_folder, given_[:1], everything=False)
    assert torch.equal(less, whole) and not torch.equal(less, after_one)
    assert metrics[1]["rows_left_out"] == 1.0 and metrics[1]["grad_norm"] == 0.0
    assert forwards[-2:] == [1, 1], "one row of each mini-batch, for its zeros"


def test_with_kl_or_entropy_in_the_loss_every_row_is_computed(
    world: World, model_folder: Path, batch: Batch
) -> None:
    given_ = with_zeros(batch, DEAD)
    for changes in ({"entropy_coeff": 0.01}, {"use_kl_loss": True}):
        _, metrics, forwards = updated(world, model_folder, [given_], everything=False, **changes)
        assert sum(forwards) == 8 and metrics[0]["rows_left_out"] == 0.0


def test_two_processes_of_which_one_has_nothing_to_do_end_where_all_rows_lead(
    model_folder: Path, batch: Batch, tmp_path: Path
) -> None:
    given_ = with_zeros(batch, [1, 3, 5, 7, 4])  # rank 1 has the odd rows
    shared: dict[str, Any] = {"entropy_coeff": 0.0, "fsdp": {"no_sync": True}}
    compared = {
        "by rows": {"micro": 1, **shared},
        "by tokens": {"tokens": 40, **shared},
        "balanced": {"tokens": 40, "balance": True, **shared},
    }
    runs = {name: Setting(**one) for name, one in compared.items()}
    runs |= {f"{name}, everything": Setting(**one, everything=True) for name, one in compared.items()}
    for rank in in_processes(2, runs, str(model_folder), given_.tensors, tmp_path):
        for name in compared:
            found, whole = (rank[n]["actor gradients"] for n in (name, f"{name}, everything"))
            assert torch.allclose(found, whole, rtol=1e-9, atol=1e-12)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
@pytest.mark.parametrize("name", POLICY_LOSSES)
def test_a_loss_has_no_gradient_for_rows_it_says_are_not_live(name: str, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    old = -3 * torch.rand(4, 5, generator=generator)
    new = (old + torch.randn(4, 5, generator=generator)).requires_grad_()
    mask = (torch.rand(4, 5, generator=generator) < 0.8).float()
    advantages = torch.randn(4, 5, generator=generator) * torch.tensor([[0.0], [1.0], [0.0], [1.0]])
    chosen = torch.rand(4, 5, generator=generator) < 0.2
    loss = POLICY_LOSSES[name]
    shared: dict[str, Any] = {"loss": loss, "options": PolicyOptions(dro_beta=0.5), "chosen": chosen}
    total, _ = policy_loss(new, old, advantages, mask, count(mask, lambda t: t), **shared)
    total.backward()
    assert new.grad is not None
    dead = ~loss.live(advantages, mask, chosen)
    assert bool((new.grad[dead] == 0).all())


@given(value=st.floats(-1e3, 1e3, width=32), size=st.integers(2, 32), seed=st.integers(0, 99))
@pytest.mark.parametrize("name", ["grpo", "rloo", "opo", "gpg"])
def test_equal_rewards_in_a_group_give_advantages_of_exactly_zero(
    name: str, value: float, size: int, seed: int
) -> None:
    """Rewards come to the estimators in float32 and are compared in float64, where their sums are exact."""
    lengths = torch.randint(1, 9, (size,), generator=torch.Generator().manual_seed(seed))
    mask = (torch.arange(8) < lengths[:, None]).float()
    rewards = torch.zeros(size, 8)
    rewards[:, 0] = value
    experience = Experience(
        rewards=rewards,
        mask=mask,
        scored=torch.ones(size, dtype=torch.bool),
        groups=torch.zeros(size, dtype=torch.int64),
        values=None,
        baselines=None,
        gamma=1.0,
        lam=1.0,
        norm_by_std=True,
        reduce=lambda t: t,
        gather=lambda item: [item],
        rank=0,
    )
    advantages, _ = ESTIMATORS[name].estimate(experience)
    assert bool((advantages == 0).all())
