"""Weights read from files straight into shards are those of a model loaded whole, and take no more memory."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.load import (
    load_causal_lm,
    load_value_model,
    outline_causal_lm,
    outline_value_model,
)
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import full_tensors, shard
from tests.trainer.running import run_module

KINDS: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {"tie_word_embeddings": True},
    "phi3": {},
    "gemma2": {"query_pre_attn_scalar": 32},
    "granite": {"logits_scaling": 6.0},
    "cohere": {},
}
TINY = {
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 96,
    "head_dim": 32,
    "bos_token_id": None,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "eos_token_id": 1,
    "pad_token_id": 0,
    "max_position_embeddings": 64,
}


def save_tiny(kind: str, folder: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = AutoConfig.for_model(kind, **{**TINY, **KINDS.get(kind, {})})
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)


def same_tensors(a: Any, b: Any) -> bool:
    left, right = dict(full_tensors(a)), dict(full_tensors(b))
    left |= dict(a.named_buffers())
    right |= dict(b.named_buffers())
    return left.keys() == right.keys() and all(
        torch.equal(left[name], right[name]) and left[name].dtype == right[name].dtype for name in left
    )


@pytest.mark.parametrize(("kind", "dtype"), list(zip(KINDS, cycle(("float32", "bfloat16")), strict=False)))
def test_an_outline_that_is_filled_is_the_model_loaded_whole(
    kind: str, dtype: str, world: World, tmp_path: Path
) -> None:
    save_tiny(kind, tmp_path)
    options, fsdp, wanted = ModelConfig(str(tmp_path)), FsdpConfig(dtype), getattr(torch, dtype)
    model, places = outline_causal_lm(str(tmp_path), wanted, options)
    assert places is not None and all(p.is_meta for p in model.parameters())
    filled: Any = shard(prepare(model, options, world.device, fsdp), world, fsdp, places)
    loaded = load_causal_lm(str(tmp_path), wanted, options)
    whole: Any = shard(prepare(loaded, options, world.device, fsdp), world, fsdp)
    assert same_tensors(filled, whole)
    assert filled.packing == whole.packing
    ids = torch.tensor([[5, 6, 7, 8]])
    given = ids, torch.arange(4).view(1, 4), torch.tensor([0, 1, 2]), ids[0, 1:], 1.0, "no"
    assert torch.equal(filled(*given)[0], whole(*given)[0])


def test_a_critic_is_filled_too_and_keeps_the_head_that_its_folder_lacks(
    world: World, tmp_path: Path
) -> None:
    save_tiny("llama", tmp_path)
    options, fsdp = ModelConfig(str(tmp_path)), FsdpConfig("float32")
    model, places = outline_value_model(str(tmp_path), torch.float32, options, say=print)
    assert places is not None
    filled = shard(prepare(model, options, world.device, fsdp), world, fsdp, places)
    whole = shard(prepare(load_value_model(str(tmp_path)), options, world.device, fsdp), world, fsdp)
    assert same_tensors(filled, whole)


@pytest.mark.parametrize("spoilt", ["renamed", "no safetensors", "adapter"])
def test_what_cannot_be_read_tensor_by_tensor_is_loaded_whole(spoilt: str, tmp_path: Path) -> None:
    save_tiny("llama", tmp_path)
    options = ModelConfig(str(tmp_path), lora_rank=4 if spoilt == "adapter" else 0)
    file = tmp_path / "model.safetensors"
    if spoilt == "renamed":
        from safetensors.torch import load_file, save_file

        save_file({n.replace("mlp", "other"): t for n, t in load_file(file).items()}, file, {"format": "pt"})
    if spoilt == "no safetensors":
        from safetensors.torch import load_file

        torch.save(load_file(file), tmp_path / "pytorch_model.bin")
        file.unlink()
    model, places = outline_causal_lm(str(tmp_path), torch.float32, options)
    assert places is None
    assert not any(p.is_meta for p in model.parameters())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_two_processes_hold_little_more_than_their_shards_while_they_load(tmp_path: Path) -> None:
    config = LlamaConfig(vocab_size=8000, hidden_size=512, intermediate_size=1536, num_hidden_layers=14)
    folders = [str(tmp_path / "tiny"), str(tmp_path / "large")]
    save_tiny("llama", tmp_path / "tiny")
    LlamaForCausalLM(config).save_pretrained(folders[1])
    run_module("tests.trainer.models.shard_runs", tmp_path, *folders, timeout=600)
    for rank in (0, 1):
        own, largest, peak = json.loads((tmp_path / f"rank{rank}.json").read_text())
        assert own > 100e6, "too small a model to tell"
        assert peak <= 1.2 * own + largest
