"""Actor and critic: where values stand, what the first step looks like; no split changes a gradient."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch.distributed.tensor import DTensor

from rewardkit.trainer.algorithms import log_probs
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.workers import ActorConfig, CriticConfig, FsdpConfig, ModelConfig, OptimConfig
from rewardkit.trainer.distributed import World, gathered
from rewardkit.trainer.models import heads
from rewardkit.trainer.models import prepare as prepare_module
from rewardkit.trainer.models.heads import PolicyModel, ValueModel
from rewardkit.trainer.models.load import load_causal_lm, load_value_model
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import shard
from rewardkit.trainer.workers.actor import Actor
from rewardkit.trainer.workers.batching import Batching
from rewardkit.trainer.workers.critic import Critic
from rewardkit.trainer.workers.forward import response_log_probs, response_values
from rewardkit.trainer.workers.update import Optimizer, lr_factor
from tests.closeness import assert_same, near, rounding, terms_of

FSDP = FsdpConfig(dtype="float32")
OPTIM = OptimConfig(lr=1e-3, weight_decay=0.0)
AFTER_ADAM = OPTIM.lr / 1e-8 * rounding(magnitude=10.0)
"""How far weights may be apart after a step in float64: it is lr * g / (|g| + 1e-8), so lr / 1e-8 times as
far as gradients, of up to 10. One of another sign would show by lr."""


def actor_config(**changes: Any) -> ActorConfig:
    settings = {
        "ppo_mini_batch_size": 8,
        "clip_ratio_low": 0.2,
        "clip_ratio_high": 0.2,
        "optim": OPTIM,
        "fsdp_config": FSDP,
    }
    return ActorConfig(**{**settings, **changes})


def critic_config(**changes: Any) -> CriticConfig:
    settings = {
        "model": ModelConfig("-"),
        "ppo_mini_batch_size": 8,
        "ppo_micro_batch_size_per_gpu": None,
        "forward_micro_batch_size_per_gpu": None,
        "use_dynamic_bsz": False,
        "fsdp_config": FSDP,
        "ppo_epochs": 1,
        "shuffle": False,
        "loss_agg_mode": "token-mean",
        "ulysses_sequence_parallel_size": 1,
        "optim": OPTIM,
    }
    return CriticConfig(**{**settings, **changes})


def make_actor(model: Any, world: World, **changes: Any) -> Actor:
    return Actor(
        shard(copy.deepcopy(model), world, FSDP),
        world,
        actor_config(**changes),
        samples_per_prompt=1,
        temperature=1.0,
        log_prob_batching=Batching(),
    )


class PositionBody(torch.nn.Module):
    """A body whose hidden state is the position of the token."""

    def forward(self, input_ids: Any, position_ids: Any, use_cache: bool) -> Any:
        hidden = position_ids.float().unsqueeze(-1)
        return type("Output", (), {"last_hidden_state": hidden})


def test_the_value_of_an_action_is_read_one_token_before_it(batch: Batch) -> None:
    critic = ValueModel(PositionBody(), hidden_size=1)
    torch.nn.init.ones_(critic.head.weight)
    for critic.packing in ("off", "rows", "flat"):
        values = response_values(critic, batch)
        for i, row in enumerate(batch.rows):
            n, length = len(row.token_ids), int(batch["response_mask"][i].sum())
            assert values[i, :length].tolist() == list(range(n - 1, n - 1 + length))
            assert not values[i, length:].any()


@pytest.mark.usefixtures("float64")
def test_the_first_mini_batch_sees_an_unchanged_policy(model: Any, batch: Batch, world: World) -> None:
    actor = make_actor(model, world, ppo_micro_batch_size_per_gpu=3)
    batch["old_log_probs"] = actor.log_probs(batch)
    metrics = actor.update(batch, step=1, seed=0)
    assert abs(metrics["trained_rows/approx_kl"]) < rounding()
    assert metrics["pg_clipfrac"] == metrics["pg_clipfrac_lower"] == 0.0
    kept = batch["response_mask"].bool()
    assert metrics["pg_loss"] == near(-float(batch["advantages"][kept].mean()))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("entropy_coeff", [0.0, 0.01])
def test_a_single_step_needs_no_old_log_probs_from_a_pass_of_their_own(
    model: Any, batch: Batch, world: World, entropy_coeff: float
) -> None:
    def step(given: Batch) -> tuple[dict[str, float], torch.Tensor]:
        actor = make_actor(model, world, ppo_micro_batch_size_per_gpu=3, entropy_coeff=entropy_coeff)
        metrics = actor.update(given, step=1, seed=0)
        return metrics, torch.cat([gathered(p).flatten() for p in actor.model.parameters()])

    log_probs, entropies = make_actor(model, world).log_probs_and_entropies(batch)
    without = Batch({k: v for k, v in batch.tensors.items() if k != "old_log_probs"}, batch.rows)
    found, weights = step(without)
    batch["old_log_probs"] = log_probs
    expected, expected_weights = step(batch)
    kept = batch["response_mask"].bool()
    assert found.pop("entropy") == near(float(entropies[kept].mean()))
    assert found == near(expected)
    assert float((weights - expected_weights).detach().abs().max()) < AFTER_ADAM


@pytest.mark.usefixtures("float64")
def test_any_micro_batch_split_gives_the_same_step(
    model: Any, model_folder: Any, batch: Batch, world: World
) -> None:
    def actor_after(micro: int | None) -> tuple[dict[str, float], list[Any]]:
        extra = {"entropy_coeff": 0.01, "use_kl_loss": True, "loss_agg_mode": "seq-mean-token-mean"}
        actor = make_actor(model, world, ppo_micro_batch_size_per_gpu=micro, **extra)
        metrics = actor.update(batch, step=1, seed=0)
        return metrics, [gathered(p) for p in actor.model.parameters()]

    def critic_after(micro: int | None) -> tuple[dict[str, float], list[Any]]:
        config = critic_config(ppo_micro_batch_size_per_gpu=micro)
        value = shard(load_value_model(str(model_folder), torch.float64), world, FSDP)
        critic = Critic(value, world, config, samples_per_prompt=1)
        metrics = critic.update(batch, step=1, seed=0)
        return metrics, [gathered(p) for p in critic.model.parameters()]

    for after in (actor_after, critic_after):
        (whole, whole_weights), (split, split_weights) = after(None), after(3)
        assert split == near(whole)
        for mine, other in zip(split_weights, whole_weights, strict=True):
            assert float((mine - other).detach().abs().max()) < AFTER_ADAM


def test_a_masked_response_takes_no_part_in_an_update(model: Any, batch: Batch, world: World) -> None:
    batch["response_mask"][3] = 0.0
    first = make_actor(model, world, use_kl_loss=True).update(batch, step=1, seed=0)
    for name in ("old_log_probs", "advantages", "ref_log_prob"):
        batch[name][3] = torch.nan
    assert make_actor(model, world, use_kl_loss=True).update(batch, step=1, seed=0) == first
    assert first["kl_loss"] > 0


def test_a_gradient_that_is_not_finite_moves_nothing_and_is_counted(
    model: Any, batch: Batch, world: World
) -> None:
    actor = make_actor(model, world)
    before = [gathered(p).clone() for p in actor.model.parameters()]
    batch["advantages"][0, 0] = torch.inf
    metrics = actor.update(batch, step=1, seed=0)
    assert metrics["skipped_updates"] == 1.0
    after = [gathered(p) for p in actor.model.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"lr_warmup_steps": 4}, {1: 0.25, 2: 0.5, 4: 1.0, 9: 1.0}),
        ({"lr_warmup_steps_ratio": 0.2}, {1: 0.5, 2: 1.0, 3: 1.0}),
        ({"lr_scheduler_type": "cosine"}, {1: 1.0, 6: 0.5, 11: 0.0, 13: 0.0}),
        (
            {"warmup_style": "cosine", "min_lr_ratio": 0.1, "lr_warmup_steps": 2},
            {1: 0.5, 3: 1.0, 7: 0.55, 11: 0.1},
        ),
        ({"lr_scheduler_type": "cosine", "total_training_steps": 20}, {11: 0.5}),
    ],
)
def test_the_learning_rate_follows_its_schedule(changes: Any, expected: dict[int, float]) -> None:
    for step, factor in expected.items():
        assert lr_factor(OptimConfig(**changes), step, total_steps=10) == pytest.approx(factor, abs=1e-12)


@pytest.mark.parametrize("warmup", [0, 3])
def test_the_cosine_after_the_warm_up_is_that_of_transformers(warmup: int) -> None:
    config = OptimConfig(lr_scheduler_type="cosine", lr_warmup_steps=warmup)
    theirs = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    schedule = transformers.get_cosine_schedule_with_warmup(theirs, warmup, 10)
    for step in range(1, 11):
        if step > warmup:
            assert lr_factor(config, step, total_steps=10) == pytest.approx(schedule.get_last_lr()[0])
        theirs.step()
        schedule.step()


@pytest.mark.parametrize("warmup", [0, 3])
@pytest.mark.parametrize("kind", ["linear", "wsd"])
def test_schedules_that_decay_linearly_are_those_of_transformers(kind: str, warmup: int) -> None:
    config = OptimConfig(lr_scheduler_type=kind, lr_warmup_steps=warmup, lr_decay_steps_ratio=0.4)
    theirs = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    schedules = {
        "linear": lambda: transformers.get_linear_schedule_with_warmup(theirs, warmup, 10),
        "wsd": lambda: transformers.get_wsd_schedule(theirs, warmup, 4, 10, decay_type="linear"),
    }
    schedule = schedules[kind]()
    for step in range(1, 11):
        if step > warmup:
            assert lr_factor(config, step, total_steps=10) == pytest.approx(schedule.get_last_lr()[0])
        theirs.step()
        schedule.step()


def test_a_run_of_one_step_learns_with_the_cosine() -> None:
    assert lr_factor(OptimConfig(lr_scheduler_type="cosine"), 1, total_steps=1) == 1.0


def test_checkpointing_runs_each_layer_again_in_backward(model: Any, batch: Batch, world: World) -> None:
    def layers_run(checkpointing: bool) -> int:
        options = ModelConfig("-", enable_gradient_checkpointing=checkpointing)
        actor = make_actor(prepare(copy.deepcopy(model), options, world.device, FSDP), world)
        runs: list[int] = []
        for layer in actor.model.body.model.layers:
            layer.mlp.register_forward_pre_hook(lambda *_: runs.append(1))
        actor.update(batch, step=1, seed=0)
        return len(runs)

    assert (layers_run(False), layers_run(True)) == (2, 4)


def test_logits_never_exist_whole(model: Any, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "CHUNK_ELEMENTS", 4 * model.config.vocab_size)
    policy, seen = PolicyModel(copy.deepcopy(model)), []
    policy.body.lm_head.register_forward_hook(lambda *a: seen.append(a[2].shape[0]))
    log_probs, _ = response_log_probs(policy, batch, 1.0, entropy="value")
    log_probs.sum().backward()
    tokens = int(batch["response_mask"].sum())
    assert max(seen) == 4
    assert sum(seen) == 2 * tokens - 4, "once forward, and all but the last once more in backward"


TINY = {"num_hidden_layers": 2, "vocab_size": 64, "bos_token_id": None, "eos_token_id": 2, "pad_token_id": 0}
FAMILIES = {
    "softcap": lambda: transformers.Gemma2ForCausalLM(
        transformers.Gemma2Config(
            hidden_size=32,
            intermediate_size=64,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=16,
            **TINY,
        )
    ),
    "scale": lambda: transformers.CohereForCausalLM(
        transformers.CohereConfig(hidden_size=32, intermediate_size=64, num_attention_heads=2, **TINY)
    ),
    "recurrent": lambda: transformers.MambaForCausalLM(transformers.MambaConfig(hidden_size=32, **TINY)),
}


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("family", list(FAMILIES))
def test_scores_are_those_of_the_model_s_own_logits(family: str, world: World) -> None:
    torch.manual_seed(0)
    model = FAMILIES[family]().eval()
    options = ModelConfig("-", enable_gradient_checkpointing=False)
    policy = prepare(model, options, world.device, FSDP)
    assert policy.packing == {"softcap": "rows", "scale": "flat", "recurrent": "off"}[family]
    ids = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 0, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    given = Batch({"input_ids": ids, "attention_mask": mask, "responses": ids[:, 2:]}, [])
    found, _ = response_log_probs(policy, given, 0.5, entropy="no")
    for i, length in enumerate(mask.sum(1).tolist()):
        own = (model(input_ids=ids[i : i + 1, :length]).logits / 0.5).log_softmax(-1)[0]
        expected = own[1:-1].gather(-1, ids[i, 2:length, None])[:, 0]
        assert_same(found[i, : length - 2], expected)


@pytest.mark.slow
def test_what_is_compiled_finds_what_is_not(
    model: Any, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In chunks too, which backward computes again. Traced, not made into kernels: that is for CUDA."""
    whole = functools.partial(torch.compile, log_probs._fusible, dynamic=True, backend="aot_eager")
    monkeypatch.setattr(heads, "compiled_log_probs", functools.cache(whole))
    monkeypatch.setattr(heads, "CHUNK_ELEMENTS", 6 * model.config.vocab_size)

    def score(compiled: bool) -> list[Any]:
        policy = PolicyModel(copy.deepcopy(model))
        policy.compiled = compiled
        log_probs, figures = response_log_probs(policy, batch, 0.7, entropy="loss")
        (log_probs.sum() + figures.sum()).backward()
        return [log_probs.detach(), *(p.grad for p in policy.parameters()), figures.detach()]

    # Not in float64, which would have torch trace nothing; there and back, and summed over the batch.
    terms = 2 * terms_of(model.config, 48) + batch["responses"].numel()
    for found, wanted in zip(score(True), score(False), strict=True):
        assert_same(found, wanted, terms, torch.float32)


@pytest.mark.parametrize(
    ("device", "asked", "able", "compiled"),
    [
        ("cuda", True, True, True),
        ("cuda", False, True, False),
        ("cuda", True, False, False),
        ("cpu", True, True, False),
    ],
)
def test_only_on_cuda_is_anything_compiled(
    device: str, asked: bool, able: bool, compiled: bool, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare_module, "_can_compile", lambda: able)
    fsdp = FsdpConfig("float32", use_torch_compile=asked)
    policy: Any = prepare(copy.deepcopy(model), ModelConfig("-"), torch.device(device), fsdp)
    assert policy.compiled is compiled


def test_the_head_s_gradient_is_summed_over_chunks_in_float32(
    model: Any, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved = PolicyModel(copy.deepcopy(model).to(torch.bfloat16))
    exact = PolicyModel(copy.deepcopy(halved.body).float())
    generator = torch.Generator().manual_seed(0)
    fixed = torch.randn((512, 128), generator=generator).to(torch.bfloat16)

    def gradient(policy: Any, elements: int) -> Any:
        monkeypatch.setattr(heads, "CHUNK_ELEMENTS", elements)
        weight = policy.body.get_output_embeddings().weight
        weight.grad = None
        states = fixed.to(weight.dtype).unsqueeze(0)
        monkeypatch.setattr(heads, "hidden_states", lambda *_: states)
        places = torch.arange(512)
        log_probs, *_ = policy(places[None], places[None], places, places % 200, 1.0, "no")
        log_probs.sum().backward()
        return weight.grad.double()

    wanted = gradient(exact, 2**25)
    at_once = float((gradient(halved, 2**25) - wanted).norm())
    in_chunks = float((gradient(halved, 4 * model.config.vocab_size) - wanted).norm())
    assert in_chunks < 1.5 * at_once, "6 times as much where chunks are added up in bfloat16"


@pytest.mark.parametrize("no_sync", [False, True])
def test_between_micro_batches_a_process_holds_the_shards_of_gradients_alone(
    no_sync: bool, world: World, model_folder: Path
) -> None:
    fsdp = FsdpConfig("bfloat16", no_sync=no_sync)  # in float32 a single process has nothing to shard
    sharded = shard(load_causal_lm(str(model_folder)), world, fsdp)
    optimizer = Optimizer(sharded, OptimConfig(lr=1e-4), fsdp, 1.0, 1)
    ids = torch.tensor([[5, 6, 7]])
    places = torch.tensor([0, 1])
    for last in (False, True):
        optimizer.accumulate(last=last)
        log_probs, *_ = sharded(ids, torch.arange(3).view(1, 3), places, ids[0, 1:], 1.0, "no")
        log_probs.sum().backward()
        assert all((p.grad is not None) == (last or not no_sync) for p in sharded.parameters())


def test_after_a_forward_alone_nothing_stays_gathered(world: World, model_folder: Path, batch: Batch) -> None:
    fsdp = FsdpConfig("bfloat16")
    sharded = shard(load_causal_lm(str(model_folder)), world, fsdp)
    actor = Actor(
        sharded,
        world,
        actor_config(fsdp_config=fsdp),
        samples_per_prompt=1,
        temperature=1.0,
        log_prob_batching=Batching(),
    )
    actor.log_probs_and_entropies(batch)
    assert all(isinstance(p, DTensor) for p in sharded.parameters())
