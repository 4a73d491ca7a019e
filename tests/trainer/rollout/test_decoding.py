"""The hf engine's decoding: prompts read once, rows that end and leave, and how a token is found."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.rollout.hf import HfRollout, _find
from tests.closeness import assert_same

SIZE = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2, "vocab_size": 40, "head_dim": 8}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"num_attention_heads": 6, "num_key_value_heads": 2},
    "qwen3": {"num_attention_heads": 4, "num_key_value_heads": 4},
    "gemma3_text": {"num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 4},
}
ENDS = [3, 4, 5, 6]
LENGTH = 90


def make(family: str) -> Any:
    config = type(transformers.AutoConfig.for_model(family))(**SIZE, **FAMILIES[family])
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def engine(family: str) -> HfRollout:
    return HfRollout(make(family), eos_ids=ENDS, pad_id=0, response_length=LENGTH)


@pytest.fixture
def prompts() -> tuple[Any, Any]:
    """Of 5, 2, 5 and 4 tokens; the first and the third are the same."""
    ids = torch.tensor([[7, 8, 9, 10, 11], [0, 0, 0, 12, 13], [7, 8, 9, 10, 11], [0, 9, 9, 8, 7]])
    return ids, (ids > 0).long()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_that_end_early_and_shared_prompts_change_no_response(
    family: str, prompts: tuple[Any, Any]
) -> None:
    rollout = engine(family)
    found = rollout.generate(*prompts, Sampling(n=3), list(range(12)))
    lengths = found.response_mask.sum(dim=1)
    assert len(set(lengths.tolist())) > 3, "they end at different times"
    ids, mask = (each.repeat_interleave(3, dim=0) for each in prompts)
    for i in range(12):
        alone = rollout.generate(ids[i : i + 1], mask[i : i + 1], Sampling(), [i])
        assert torch.equal(found.responses[i], alone.responses[0])
        assert_same(found.rollout_log_probs[i], alone.rollout_log_probs[0])


def test_prompts_are_read_once_and_rows_that_have_ended_are_left_out(prompts: tuple[Any, Any]) -> None:
    rollout = engine("llama")
    sizes: list[tuple[int, ...]] = []
    rollout.model.register_forward_pre_hook(
        lambda _, __, given: sizes.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    found = rollout.generate(*prompts, Sampling(n=6), list(range(24)))
    assert sizes[0] == (3, 5), "two of the four prompts are the same"
    lengths = found.response_mask.sum(dim=1)
    going_on = [int((lengths > t).sum()) for t in range(1, len(sizes))]
    assert all(going <= size[0] <= going / 0.75 for size, going in zip(sizes[1:], going_on, strict=True))
    assert sizes[-1][0] < sizes[1][0]


@pytest.mark.parametrize("size", [3, 256, 384, 5000])
def test_a_token_is_found_where_the_running_sum_passes_the_uniform(size: int) -> None:
    generator = torch.Generator().manual_seed(size)
    weights = torch.rand(50, size, generator=generator).pow(8)
    weights[:, ::3] = 0.0
    probabilities = weights / weights.sum(-1, keepdim=True)
    uniforms = torch.rand(50, 1, generator=generator, dtype=torch.float64)
    uniforms[0], uniforms[1] = 0.0, 1 - 2**-53
    running = probabilities.double().cumsum(-1)
    wanted = (running <= uniforms * running[:, -1:]).sum(-1).clamp(max=size - 1)
    found = _find(probabilities, uniforms)
    assert torch.equal(found[2:], wanted[2:])
    assert bool((probabilities.gather(1, found[:, None]) > 0).all()), "also at both ends"
