"""Distillation from distributions: the loss and its gradient are those of whole logits, however computed."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rewardkit.demo.model import make_model
from rewardkit.trainer.algorithms.divergences import DIVERGENCES
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.root import DistillationConfig, DistillationLossConfig
from rewardkit.trainer.config.workers import FsdpConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models import heads
from rewardkit.trainer.models.sharding import full_tensors, shard
from rewardkit.trainer.workers.actor import Actor, Reference
from rewardkit.trainer.workers.batching import Batching
from rewardkit.trainer.workers.teacher import Teacher
from tests.closeness import near
from tests.trainer.workers.test_workers import FSDP, actor_config, make_actor

TEMPERATURE = 0.7
TOP = 5


def whole_log_probs(model: Any, batch: Batch) -> Any:
    """Return the log-probabilities of all tokens at the places of the response tokens, (N, V)."""
    ids, mask = batch["input_ids"], batch["attention_mask"]
    logits = model(input_ids=ids, attention_mask=mask, position_ids=batch["position_ids"]).logits
    kept = batch["response_mask"].bool()
    before = logits[:, batch.prompt_width - 1 : -1]
    return (before[kept] / TEMPERATURE).log_softmax(-1)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("mode", [*DIVERGENCES])
def test_the_loss_and_its_gradient_are_those_of_whole_logits(
    mode: str, model: Any, tokenizer: Any, batch: Batch, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "CHUNK_ELEMENTS", 2 * model.config.vocab_size)  # two tokens at a time
    other = make_model(tokenizer, seed=1)
    given = DistillationLossConfig(loss_mode=mode, topk=TOP, jsd_beta=0.3, use_task_rewards=False)
    teacher = Teacher(
        shard(other, world, FSDP),
        world,
        Batching(size=3),
        given,
        vocabulary=model.config.vocab_size,
        dtype=torch.float64,
        temperature=TEMPERATURE,
    )
    teacher.evaluate(batch)
    actor = Actor(
        shard(copy.deepcopy(model), world, FSDP),
        world,
        actor_config(ppo_micro_batch_size_per_gpu=3, use_kl_loss=False, entropy_coeff=0.0),
        samples_per_prompt=1,
        temperature=TEMPERATURE,
        log_prob_batching=Batching(),
        distillation=DistillationConfig(enabled=True, distillation_loss=given),
        copy_head=teacher.copy_head,
    )
    found = actor.update(batch, step=1, seed=0)

    log_p, log_q = whole_log_probs(model, batch), whole_log_probs(other, batch).detach()
    ids = log_q.topk(TOP).indices if DIVERGENCES[mode].top else torch.arange(log_q.shape[1]).expand_as(log_q)
    compared = log_p.gather(-1, ids), log_q.gather(-1, ids)
    expected = DIVERGENCES[mode].compute(*compared, 0.3).mean()
    expected.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    assert found["distillation_loss"] == near(float(expected.detach()))
    assert found["grad_norm"] == near(float(norm), magnitude=float(norm))
    for name, log_probs in zip(("policy", "teacher"), compared, strict=True):
        mass = float(log_probs.detach().exp().sum(-1).mean())
        assert found[f"distillation_{name}_mass"] == near(mass)


def test_a_reference_moves_towards_the_policy_by_its_share(model: Any, tokenizer: Any, world: World) -> None:
    actor = make_actor(model, world)
    start = make_model(tokenizer, seed=1)
    offloaded = FsdpConfig(dtype="float32", param_offload=True)  # sharded even in one process
    reference = Reference(shard(copy.deepcopy(start), world, offloaded), world, Batching(), temperature=1.0)
    ours, before = dict(model.named_parameters()), dict(start.named_parameters())
    reference.follow(actor.model, 0.25)
    for name, tensor in full_tensors(reference.model):
        torch.testing.assert_close(tensor, torch.lerp(before[name], ours[name], 0.25).detach())
    reference.follow(actor.model, 1.0)
    assert all(torch.equal(tensor, ours[name]) for name, tensor in full_tensors(reference.model))
