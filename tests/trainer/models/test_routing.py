"""Router replay: tokens go to the experts that they are told to, however their rows are packed."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from transformers import AutoConfig, AutoModelForCausalLM

from rewardkit.errors import ConfigError
from rewardkit.trainer.batch import Batch, PromptRow, make_batch, pad_prompts
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.models.heads import PolicyModel
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.routing import ROUTES, align_routes
from rewardkit.trainer.workers.forward import response_log_probs
from tests.closeness import LOG_PROBS

KINDS: dict[str, dict[str, Any]] = {
    "qwen3_moe": {"num_experts": 8, "moe_intermediate_size": 16, "norm_topk_prob": False},
    "mixtral": {"num_local_experts": 4},
}
LAYERS, TOP = 2, 2


def policy(kind: str, seed: int) -> PolicyModel:
    config = AutoConfig.for_model(
        kind,
        vocab_size=64,
        hidden_size=32,
        intermediate_size=32,
        head_dim=16,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_experts_per_tok=TOP,
        pad_token_id=0,
        **KINDS[kind],
    )
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3.0)
    found = prepare(made, ModelConfig(path="-"), torch.device("cpu"), FsdpConfig())  # computes layers again
    assert isinstance(found, PolicyModel)
    assert found.packing == "flat"
    return found


def batch_of(*lengths: tuple[int, int]) -> Batch:
    rows = [PromptRow("x", [], "", {}, list(range(3, 3 + prompt))) for prompt, _ in lengths]
    mask = torch.tensor([[1] * response + [0] * (6 - response) for _, response in lengths])
    drawn = torch.randint(3, 60, mask.shape, generator=torch.Generator().manual_seed(1)) * mask
    return make_batch(rows, *pad_prompts(rows, 9, 0), drawn, mask)


def used_by(model: PolicyModel, batch: Batch) -> tuple[Any, list[Any]]:
    """Log-probabilities of an unpacked batch, and the experts that its tokens went to, layer by layer."""
    model.packing = "off"
    went: list[Any] = []
    experts = [m for m in model.body.modules() if type(m).__name__.endswith("Experts")]
    hooks = [one.register_forward_pre_hook(lambda one, given: went.append(given[1])) for one in experts]
    found, _ = response_log_probs(model, batch, 1.0, entropy="no")
    for hook in hooks:
        hook.remove()
    return found, went


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_go_to_the_experts_of_the_engine_and_the_router_learns(kind: str) -> None:
    batch = batch_of((4, 6), (7, 3), (7, 5))
    engine, model = policy(kind, 0), policy(kind, 1)  # others choose other experts
    own, _ = used_by(model, batch)
    _, theirs = used_by(engine, batch)
    lengths = batch["attention_mask"].sum(dim=1).tolist()
    width = max(lengths)  # unpacked, rows begin with their first token
    table = torch.stack([went.view(3, width, TOP) for went in theirs], dim=2)
    routes = [table[i, : n - 1].numpy() for i, n in enumerate(lengths)]
    batch[ROUTES] = align_routes(routes, batch["attention_mask"])
    found, went = used_by(model, batch)
    for layer, ids in enumerate(went):
        for row, n in enumerate(lengths):
            assert torch.equal(ids.view(3, width, TOP)[row, : n - 1], table[row, : n - 1, layer])
    assert not torch.allclose(found, own, atol=0.01)
    found.sum().backward()
    gate = next(p for n, p in model.named_parameters() if n.endswith("gate.weight"))
    assert gate.grad is not None
    assert gate.grad.abs().max() > 0
    for packing in ("rows", "flat"):
        model.packing = packing  # type: ignore[assignment]
        packed, _ = response_log_probs(model, batch, 1.0, entropy="no")
        torch.testing.assert_close(packed, found, atol=LOG_PROBS, rtol=0)
    batch[ROUTES] = torch.full_like(batch[ROUTES], -1)
    assert torch.equal(used_by(model, batch)[0], own), "unknown experts are the router's own"
    del batch.tensors[ROUTES]
    assert torch.equal(used_by(model, batch)[0], own), "nothing is left of an earlier batch"


def test_experts_that_the_policy_cannot_follow_end_the_run_in_one_line() -> None:
    model = policy("mixtral", 0)
    batch = batch_of((4, 6))
    batch[ROUTES] = torch.zeros(1, 15, 3, dtype=torch.int32)
    with pytest.raises(ConfigError, match=r"3 experts .* 2 routers"):
        response_log_probs(model, batch, 1.0, entropy="no")
    gate = next(m for m in model.body.modules() if type(m).__name__.endswith("TopKRouter"))
    gate.register_forward_hook(
        lambda gate, given, result: (result[0], result[1] * 3, result[2]), prepend=True
    )
    batch[ROUTES] = torch.zeros(1, 15, 4, dtype=torch.int32)
    with pytest.raises(ConfigError, match="router probabilities"):
        response_log_probs(model, batch, 1.0, entropy="no")
