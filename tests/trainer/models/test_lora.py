"""Adapters: the base stays what it was, the rollout gets the sum, and the folder is peft's."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft", reason="adapters need peft: pip install 'rewardkit[train]'")

from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from rewardkit.errors import ConfigError
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.workers import ModelConfig
from rewardkit.trainer.distributed import World, gathered
from rewardkit.trainer.models.load import load_value_model
from rewardkit.trainer.models.lora import check_lora, gather_adapter, write_adapter
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import full_tensors, shard
from rewardkit.trainer.workers.actor import Reference
from rewardkit.trainer.workers.batching import Batching
from rewardkit.trainer.workers.critic import Critic
from tests.closeness import assert_same, rounding
from tests.trainer.workers.test_workers import FSDP, critic_config, make_actor

LORA = ModelConfig("-", lora_rank=4, lora_alpha=8)
CPU = torch.device("cpu")


@pytest.fixture
def adapted(model: Any) -> Any:
    """The model with an adapter that does something."""
    made = prepare(copy.deepcopy(model), LORA, CPU, FSDP)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if ".lora_B." in name:
                torch.nn.init.normal_(parameter, std=0.1, generator=torch.Generator().manual_seed(1))
    return made


def test_weights_that_are_stored_transposed_are_merged_as_peft_does(world: World) -> None:
    sizes: dict[str, int] = {"n_layer": 1, "n_embd": 16, "n_head": 2, "vocab_size": 32, "n_positions": 32}
    made = prepare(GPT2LMHeadModel(GPT2Config(**sizes)).eval(), LORA, CPU, FSDP)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if ".lora_B." in name:
                torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    streamed = dict(full_tensors(made))
    layers = {name: m for name, m in made.body.named_modules() if hasattr(m, "merge")}
    assert len(layers) == 4
    for name, layer in layers.items():
        layer.merge()
        assert_same(streamed[f"{name}.weight"], layer.base_layer.weight.detach(), said=name)


@pytest.mark.usefixtures("float64")
def test_the_stream_holds_the_weights_that_peft_merges(model: Any, adapted: Any, world: World) -> None:
    unsharded = copy.deepcopy(adapted.body)
    before = {n: p.clone() for n, p in unsharded.named_parameters()}
    streamed = dict(full_tensors(shard(adapted, world, FSDP)))
    for layer in [m for m in unsharded.modules() if hasattr(m, "merge")]:
        layer.merge()
    merged = {n.replace(".base_layer", ""): p for n, p in unsharded.named_parameters() if ".lora_" not in n}
    assert list(streamed) == [n for n, _ in model.named_parameters()]
    for name, tensor in streamed.items():
        assert_same(tensor, merged[name], said=name)
    changed = [n for n, p in model.named_parameters() if not torch.equal(p, streamed[n])]
    assert len(changed) == 2 * 7, "every linear layer of both decoder layers, and nothing else"
    for name, parameter in adapted.body.named_parameters():
        assert torch.equal(gathered(parameter), before[name]), "the model itself is not merged"


def test_without_its_adapter_the_actor_is_the_base_model(
    model: Any, adapted: Any, batch: Batch, world: World
) -> None:
    options = ModelConfig("-", enable_gradient_checkpointing=False)
    plain = prepare(copy.deepcopy(model), options, CPU, FSDP)  # to the bit: the same sums in the same order
    base = Reference(plain, world, Batching(), temperature=1.0).log_probs(batch)
    policy = shard(adapted, world, FSDP)
    reference = Reference(policy, world, Batching(), temperature=1.0, base_of_adapter=True)
    actor = Reference(policy, world, Batching(), temperature=1.0)
    assert torch.equal(reference.log_probs(batch), base)
    assert not torch.allclose(actor.log_probs(batch), base, atol=1e-2)
    assert torch.equal(reference.log_probs(batch), base)


@pytest.mark.usefixtures("float64")
def test_an_update_moves_the_adapter_alone(model: Any, batch: Batch, world: World) -> None:
    actor = make_actor(prepare(copy.deepcopy(model), LORA, CPU, FSDP), world)
    before = {n: gathered(p).clone() for n, p in actor.model.named_parameters()}
    batch["old_log_probs"] = actor.log_probs(batch)
    metrics = actor.update(batch, 1, 0)
    assert abs(metrics["trained_rows/approx_kl"]) < rounding()
    moved = {n for n, p in actor.model.named_parameters() if not torch.equal(gathered(p), before[n])}
    assert moved == {n for n in before if ".lora_B." in n}, "lora_A has no gradient while lora_B is 0"


def test_a_critic_s_adapter_learns_with_its_head(model_folder: Path, batch: Batch, world: World) -> None:
    value = load_value_model(str(model_folder))
    torch.nn.init.ones_(value.head.weight)
    critic = Critic(
        shard(prepare(value, LORA, CPU, FSDP), world, FSDP), world, critic_config(), samples_per_prompt=1
    )
    before = {n: gathered(p).clone() for n, p in critic.model.named_parameters()}
    critic.update(batch, 1, 0)
    moved = {n for n, p in critic.model.named_parameters() if not torch.equal(gathered(p), before[n])}
    assert moved == {"head.weight"} | {n for n in before if ".lora_B." in n}


@pytest.mark.usefixtures("float64")
def test_the_saved_adapter_is_a_peft_folder(
    model: Any, adapted: Any, batch: Batch, world: World, tmp_path: Path
) -> None:
    expected = Reference(adapted, world, Batching(), temperature=1.0).log_probs(batch)
    write_adapter(*gather_adapter(shard(adapted, world, FSDP)), tmp_path)
    assert all(
        n.startswith("base_model.model.model.layers.")
        for n in load_file(tmp_path / "adapter_model.safetensors")
    )
    loaded = peft.PeftModel.from_pretrained(copy.deepcopy(model), tmp_path).merge_and_unload()
    found = Reference(loaded, world, Batching(), temperature=1.0).log_probs(batch)
    assert_same(found, expected)


@pytest.mark.usefixtures("float64")
def test_peft_s_own_arguments_reach_the_stream_and_the_saved_adapter(
    model: Any, batch: Batch, world: World, tmp_path: Path
) -> None:
    """A module that is trained as a whole, another scale, and dropout that is active only in updates."""
    given = {"use_rslora": True, "lora_dropout": 0.5, "modules_to_save": ["norm"]}
    options = ModelConfig("-", lora_rank=4, lora_alpha=8, override_lora_config=given)
    actor = make_actor(prepare(copy.deepcopy(model), options, CPU, FSDP), world)
    before = {n: gathered(p).clone() for n, p in actor.model.named_parameters()}
    batch["old_log_probs"] = actor.log_probs(batch)
    for step in (1, 2):  # in the first, lora_A has no gradient
        actor.update(batch, step, 0)
    moved = {n for n, p in actor.model.named_parameters() if not torch.equal(gathered(p), before[n])}
    assert moved == {n for n in before if ".lora_" in n or ".modules_to_save." in n}
    found = actor.log_probs(batch)
    assert torch.equal(found, actor.log_probs(batch)), "no dropout outside of updates"
    assert not torch.allclose(found, batch["old_log_probs"])

    streamed = dict(full_tensors(actor.model))
    assert list(streamed) == [n for n, _ in model.named_parameters()]
    plain = copy.deepcopy(model)
    plain.load_state_dict(streamed, strict=False)
    assert_same(Reference(plain, world, Batching(), temperature=1.0).log_probs(batch), found)
    write_adapter(*gather_adapter(actor.model), tmp_path)
    loaded = peft.PeftModel.from_pretrained(copy.deepcopy(model), tmp_path).merge_and_unload()
    assert_same(Reference(loaded, world, Batching(), temperature=1.0).log_probs(batch), found)
    again = prepare(copy.deepcopy(model), ModelConfig("-", lora_adapter_path=str(tmp_path)), CPU, FSDP)
    assert_same(Reference(again, world, Batching(), temperature=1.0).log_probs(batch), found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"override_lora_config": {"lora_drop_out": 0.1}}, "did you mean lora_dropout"),
        ({"override_lora_config": {"r": 8}}, "set lora_rank instead"),
        ({"override_lora_config": {"init_lora_weights": "pissa"}}, "changes the model"),
        ({"override_lora_config": {"use_rslora": True}, "lora_rank": 0}, "is for a new adapter"),
    ],
)
def test_an_argument_that_peft_does_not_know_or_that_has_a_setting_is_refused(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        check_lora("model", ModelConfig("-", **{"lora_rank": 4, **changes}))


@pytest.mark.parametrize("given", [{"use_dora": True}, {"lora_bias": True}])
def test_an_adapter_that_cannot_be_merged_is_refused(given: dict[str, Any], model: Any) -> None:
    options = ModelConfig("-", lora_rank=4, override_lora_config=given)
    with pytest.raises(ConfigError, match=r"cannot be merged|not a linear layer"):
        prepare(copy.deepcopy(model), options, CPU, FSDP)


def test_training_goes_on_from_a_saved_adapter(
    model: Any, adapted: Any, batch: Batch, world: World, tmp_path: Path
) -> None:
    write_adapter(*gather_adapter(adapted), tmp_path / "adapter")
    path = str(tmp_path / "adapter")
    again = prepare(copy.deepcopy(model), ModelConfig("-", lora_adapter_path=path), CPU, FSDP)
    trained = {name for name, p in again.named_parameters() if p.requires_grad}
    assert trained == {name for name, _ in again.named_parameters() if ".lora_" in name}
    expected = dict(full_tensors(shard(adapted, world, FSDP)))
    for name, tensor in full_tensors(shard(again, world, FSDP)):
        assert torch.equal(tensor, expected[name]), name


def test_an_adapter_that_does_not_fit_is_refused(model: Any, adapted: Any, tmp_path: Path) -> None:
    write_adapter(*gather_adapter(adapted), tmp_path / "adapter")
    saved = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    some = dict(list(saved.items())[1:])
    peft_file = tmp_path / "adapter" / "adapter_model.safetensors"
    save_file(some, peft_file, metadata={"format": "pt"})
    options = ModelConfig("-", lora_adapter_path=str(tmp_path / "adapter"))
    with pytest.raises(ConfigError, match="does not fit this model"):
        prepare(copy.deepcopy(model), options, CPU, FSDP)
