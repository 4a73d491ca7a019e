"""Packed sequences, whole in one process or shared by several, score as they do one by one: family by family.

The processes of these tests are threads, and what passes between them goes through a list.
"""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import copy
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from rewardkit.errors import ConfigError
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models import attention, sequence
from rewardkit.trainer.models.attention import ATTENTION, like_lengths, why_unserved
from rewardkit.trainer.models.heads import ValueModel
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.workers import forward
from rewardkit.trainer.workers.forward import lay_out, response_log_probs, response_values
from tests.closeness import assert_same, in_float64

CPU = torch.device("cpu")
SIZE: dict[str, Any] = {
    "hidden_size": 24,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 40,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"attention_bias": True},
    "qwen2": {"num_attention_heads": 3, "num_key_value_heads": 1},
    "qwen3": {},
    "mistral": {"sliding_window": 4},
    "gemma3_text": {"sliding_window": 3, "num_hidden_layers": 3, "sliding_window_pattern": 2},
    "olmo2": {},
    "phi3": {"sliding_window": None},
    "smollm3": {},
    "cohere": {},
    "qwen3_moe": EXPERTS,
    "deepseek_v3": {
        "head_dim": None,
        "num_key_value_heads": 4,
        "q_lora_rank": None,
        "kv_lora_rank": 8,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4,
        "v_head_dim": 6,
        "first_k_dense_replace": 2,
    },
}
UNSERVED: dict[str, tuple[dict[str, Any], str]] = {
    "gemma2": ({}, "attn_logit_softcapping"),
    "mamba": ({}, "of type linear_attention"),
    "lfm2": ({"layer_types": ["conv", "full_attention"], "num_hidden_layers": 2}, "of type conv"),
    "llama4_text": ({"num_hidden_layers": 4}, "chunk"),
    "gpt_oss": ({}, "the model's attention does not use transformers' attention interface"),
}


def make(family: str, **changes: Any) -> Any:
    kind = type(transformers.AutoConfig.for_model(family))
    torch.manual_seed(0)
    known = {k: v for k, v in {**SIZE, **FAMILIES[family], **changes}.items() if v is not None}
    config = kind(**known)
    config._experts_implementation = "eager"  # the others have no float64
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)  # or every distribution is uniform
    return model


@pytest.fixture
def rows() -> Batch:
    """Sequences of 3 to 11 tokens, none a multiple of the other: slices begin in their midst."""
    generator = torch.Generator().manual_seed(0)
    lengths = [3, 11, 6, 9]
    ids = torch.randint(3, 40, (4, 12), generator=generator)
    mask = torch.zeros(4, 12, dtype=torch.int64)
    for i, length in enumerate(lengths):
        mask[i, 2 - min(i, 2) : 2 - min(i, 2) + length] = 1
    return Batch({"input_ids": ids * mask, "attention_mask": mask, "responses": ids[:, 3:]}, [])


@pytest.fixture
def alike(rows: Batch) -> Batch:
    """The same with prompts of 3 tokens, one of three rows that do not follow each other, one of two."""
    ids = torch.cat([rows["input_ids"], rows["input_ids"][1:3]])
    mask = torch.ones_like(ids)
    for i, length in enumerate((7, 4, 11, 12, 9, 5)):
        mask[i, length:] = 0
    ids[[0, 2, 5], :3] = torch.tensor([7, 8, 9])
    ids[[1, 4], :3] = torch.tensor([0, 8, 9])
    mask[[1, 4], 0] = 0
    return Batch({"input_ids": ids * mask, "attention_mask": mask, "responses": ids[:, 3:]}, [])


class Exchange:
    """What `torch.distributed` does for the threads of one test."""

    def __init__(self, size: int) -> None:
        self._barrier = Barrier(size, timeout=60)
        self._slots: list[Any] = [None] * size

    def _swap(self, mine: Any, group: int) -> list[Any]:
        self._slots[group] = mine
        self._barrier.wait()
        seen = list(self._slots)
        self._barrier.wait()
        return seen

    def all_to_all_single(self, received: Any, sent: Any, group: int) -> None:
        received.copy_(torch.stack([other[group] for other in self._swap(sent.detach(), group)]))

    def all_gather(self, received: list[Any], sent: Any, group: int) -> None:
        for place, other in zip(received, self._swap(sent.detach(), group), strict=True):
            place.copy_(other)


def score(model: Any, rows: Batch, sharing: World | None) -> tuple[Any, ...]:
    """Return log-probabilities, entropies, and the gradient of a sum over both."""
    chosen, entropies = response_log_probs(model, rows, 0.8, entropy="loss", sharing=sharing)
    weights = torch.linspace(-1, 1, chosen.numel()).view_as(chosen)
    (weights * chosen + 0.3 * weights.flip(0) * entropies).sum().backward()
    return chosen.detach(), entropies.detach(), gradient(model)


def value(model: Any, rows: Batch, sharing: World | None) -> tuple[Any, ...]:
    values = response_values(model, rows, sharing)
    (torch.linspace(-1, 1, values.numel()).view_as(values) * values).sum().backward()
    return values.detach(), gradient(model)


def gradient(model: Any) -> Any:
    empty = (p.grad if p.grad is not None else torch.zeros_like(p) for p in model.parameters())
    return torch.cat([g.flatten() for g in empty])


def shared(compute: Any, model: Any, rows: Batch, size: int, patch: pytest.MonkeyPatch) -> list[Any]:
    """Return what each of `size` threads computed, which shared the tokens of `rows`."""
    patch.setattr(sequence, "dist", Exchange(size))

    def one(rank: int) -> Any:
        with in_float64():
            return compute(copy.deepcopy(model), rows, World(rank, size, CPU, rank))

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


def prepared(model: Any, split: int = 1, **options: Any) -> Any:
    options = {"enable_gradient_checkpointing": False} | options
    return prepare(model, ModelConfig("-", **options), CPU, FsdpConfig("float32"), sequence_parallel=split)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("family", "prompts"), [*((f, "alike") for f in FAMILIES), ("llama", "rows"), ("mistral", "rows")]
)
def test_a_packed_row_scores_as_its_sequences_do_one_by_one(
    family: str, prompts: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = request.getfixturevalue(prompts)
    model = make(family)
    assert why_unserved(model.config) is None
    expected = score(prepared(copy.deepcopy(model), use_remove_padding=False), rows, None)
    policy = prepared(model, 2, enable_gradient_checkpointing=True)
    assert policy.packing == "flat"
    alone = score(copy.deepcopy(policy), rows, None)
    for name, found, wanted in zip(("log-probs", "entropies", "gradient"), alone, expected, strict=True):
        assert_same(found, wanted, said=name)
    for size in (2, 3, 4):
        outcomes = shared(score, policy, rows, size, monkeypatch)
        assert_same(sum(outcome[2] for outcome in outcomes), alone[2], said=f"gradient of {size}")
        for log_probs, entropies, _ in outcomes:
            assert_same(log_probs, alone[0], said=f"log-probs of {size}")
            assert_same(entropies, alone[1], said=f"entropies of {size}")


@pytest.mark.usefixtures("float64")
def test_values_are_those_of_one_process(rows: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    body = make("llama").model
    critic = ValueModel(body, 24)
    torch.nn.init.constant_(critic.head.weight, 0.3)
    critic = prepared(critic, 2)
    expected, whole = value(copy.deepcopy(critic), rows, None)
    outcomes = shared(value, critic, rows, 4, monkeypatch)
    assert_same(sum(o[1] for o in outcomes), whole)
    for values, _ in outcomes:
        assert_same(values, expected)


@pytest.mark.usefixtures("float64")
def test_a_part_without_any_response_has_a_gradient_of_its_own(
    rows: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = rows.select(torch.tensor([1]))
    few["responses"] = few["responses"][:, -1:]
    few["input_ids"][0, -2:], few["attention_mask"][0, -2:] = 5, 1
    policy = prepared(make("qwen2"), 2)
    expected = score(copy.deepcopy(policy), few, None)
    outcomes = shared(score, policy, few, 4, monkeypatch)
    assert sum(bool(o[2].any()) for o in outcomes) > 1, "keys and values of the prompt are in several parts"
    assert_same(sum(o[2] for o in outcomes), expected[2])


def test_a_prompt_that_rows_have_in_common_is_computed_once(alike: Batch) -> None:
    layout = lay_out(alike, "flat")
    repeated = 2 * 3 + 2  # of the first prompt twice, of the second, which is shorter, once
    assert layout.ids.numel() == int(alike["attention_mask"].sum()) - repeated
    assert layout.packed is not None
    assert layout.packed.lengths == (7, 3, 11, 12, 8, 5), "sequences are whole"


@pytest.mark.usefixtures("float64")
def test_attending_to_short_sequences_together_changes_nothing(
    rows: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = rows["attention_mask"].sum(dim=1).tolist()
    policy = prepared(make("mistral"))
    assert like_lengths(lengths) == [sorted(range(len(lengths)), key=lambda i: -lengths[i])]
    together = score(copy.deepcopy(policy), rows, None)
    monkeypatch.setattr(attention, "BLOCK_PAIRS", 1)
    assert len(like_lengths(lengths)) == len(set(lengths))
    for found, wanted in zip(score(policy, rows, None), together, strict=True):
        assert_same(found, wanted)


def kernel_of_cuda(
    query: Any,
    key: Any,
    value: Any,
    cu_seq_q: Any,
    cu_seq_k: Any,
    max_q: int,
    max_k: int,
    *,
    scale: float | None,
    window_size: tuple[int, int],
    enable_gqa: bool,
) -> Any:
    """Compute what the documents of `torch.nn.attention.varlen.varlen_attn` say, (T, heads, D) each."""
    assert cu_seq_q.dtype == cu_seq_k.dtype == torch.int32
    assert enable_gqa or query.shape[1] == key.shape[1]
    bounds = cu_seq_q.tolist()
    assert torch.equal(cu_seq_q, cu_seq_k)
    assert bounds[0] == 0
    assert bounds[-1] == len(query) == len(key)
    assert max_q == max_k == max(b - a for a, b in pairwise(bounds))
    left, right = window_size
    assert right == 0
    found = []
    for a, b in pairwise(bounds):
        q, k, v = (t[a:b].transpose(0, 1) for t in (query, key, value))
        k, v = (t.repeat_interleave(len(q) // len(t), dim=0) for t in (k, v))
        seen = torch.ones(b - a, b - a, dtype=torch.bool).tril()
        seen = seen.triu(-left) if left >= 0 else seen
        weights = q @ k.transpose(1, 2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        found.append((weights.masked_fill(~seen, -torch.inf).softmax(-1) @ v).transpose(0, 1))
    return torch.cat(found)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("family", "prompts"),
    [("llama", "rows"), ("qwen2", "alike"), ("mistral", "rows"), ("gemma3_text", "alike")],
)
def test_cudas_kernel_is_called_as_its_documents_say(
    family: str, prompts: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is given, as no CPU has it; it has run on no GPU yet."""
    rows = request.getfixturevalue(prompts)
    policy = prepared(make(family))
    expected = score(copy.deepcopy(policy), rows, None)
    for module in (attention, forward):
        monkeypatch.setattr(module, "BLOCKS_ON", frozenset())
    calls = []
    monkeypatch.setattr(attention, "_kernel", lambda *tensors: calls.append(tensors) or kernel_of_cuda)
    for found, wanted in zip(score(policy, rows, None), expected, strict=True):
        assert_same(found, wanted)
    assert len(calls) == policy.body.config.num_hidden_layers


def test_torchs_own_function_takes_what_it_is_given() -> None:
    """Its shapes alone, on the meta device, forward and backward."""
    varlen = pytest.importorskip("torch.nn.attention.varlen")
    packed = attention.Packed((3, 5), torch.tensor([0, 3, 8], dtype=torch.int32, device="meta"))
    sizes = {"query": (1, 4, 8, 16), "key": (1, 2, 8, 16), "value": (1, 2, 8, 16)}
    given = {
        k: torch.empty(v, dtype=torch.bfloat16, device="meta", requires_grad=True) for k, v in sizes.items()
    }
    for window in (None, 2):
        visible = attention.Visible(packed, window)
        out = attention._within_at_once(varlen.varlen_attn, **given, visible=visible, scaling=0.25)
        assert out.shape == (1, 4, 8, 16)
        out.sum().backward()
        assert all(t.grad is not None and t.grad.shape == t.shape for t in given.values())


@pytest.mark.parametrize(
    ("size", "dtype", "on_cuda", "capability", "taken"),
    [
        (16, torch.float16, True, (8, 0), True),
        (256, torch.bfloat16, True, (8, 0), True),
        (16, torch.float32, True, (9, 0), False),
        (12, torch.bfloat16, True, (9, 0), False),
        (16, torch.float16, True, (7, 5), False),
        (16, torch.bfloat16, False, (9, 0), False),
    ],
)
def test_the_kernel_is_used_for_what_it_takes_alone(
    size: int,
    dtype: Any,
    on_cuda: bool,
    capability: tuple[int, int],
    taken: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = torch.device("cuda", 0)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    one: Any = SimpleNamespace(shape=(1, 2, 8, size), is_cuda=on_cuda, dtype=dtype, device=device)
    attention._varlen.cache_clear()
    try:
        assert (attention._kernel(one, one, one) is not None) is taken
    finally:
        attention._varlen.cache_clear()


def test_a_row_is_filled_up_to_equal_parts(rows: Batch) -> None:
    tokens = int(rows["attention_mask"].sum())
    for size in (2, 3, 4):
        layout = lay_out(rows, "flat", World(0, size, CPU))
        assert layout.packed is not None
        assert tokens <= layout.ids.numel() < tokens + size
        assert sum(layout.packed.lengths) == layout.ids.numel() == int(layout.packed.bounds[-1])
        assert layout.ids.numel() % size == 0


@pytest.mark.parametrize("family", UNSERVED)
def test_a_family_that_cannot_be_served_is_known_by_its_configuration(family: str) -> None:
    changes, reason = UNSERVED[family]
    config = type(transformers.AutoConfig.for_model(family))(**changes)
    found = why_unserved(config)
    assert found is not None
    assert re.search(reason, found), found


def test_what_is_not_served_is_refused_to_share_and_still_packs(rows: Batch) -> None:
    config = transformers.Gemma2Config(**{**SIZE, "num_key_value_heads": 4})
    model = transformers.Gemma2ForCausalLM(config).eval()
    with pytest.raises(ConfigError, match=r"above 1 .*caps"):
        prepared(copy.deepcopy(model), 2)
    assert prepared(model).packing == "rows"


def test_the_attention_that_was_asked_for_is_taken() -> None:
    assert prepared(make("llama")).body.config._attn_implementation == ATTENTION
    asked = prepared(make("llama"), override_config={"attn_implementation": "eager"})
    assert asked.body.config._attn_implementation == "eager"
    assert asked.packing == "rows"
