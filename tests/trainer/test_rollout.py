"""The rollout contract, on the hf engine: masks, seeds, sampling, log-probabilities, weight sync."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from rewardkit.trainer.batch import Row, make_batch, pad_prompts
from rewardkit.trainer.rollout.base import Sampling, row_seed, until_eos
from rewardkit.trainer.rollout.hf import HfRollout, draw, restrict, unsharded_copy
from rewardkit.trainer.workers.actor import Reference


def engine(model: Any, tokenizer: Any, **changes: Any) -> HfRollout:
    settings = {"eos_ids": [tokenizer.eos_token_id], "pad_id": tokenizer.pad_token_id, "response_length": 6}
    return HfRollout(model, **{**settings, **changes})


@given(st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=6))
def test_the_mask_is_1_up_to_and_including_the_first_eos(responses: list[list[int]]) -> None:
    mask = until_eos(torch.tensor(responses), torch.tensor([0, 3]))
    for tokens, found in zip(responses, mask.tolist(), strict=True):
        ends = [i for i, token in enumerate(tokens) if token in (0, 3)]
        length = ends[0] + 1 if ends else len(tokens)
        assert found == [1] * length + [0] * (len(tokens) - length)


def test_greedy_is_what_transformers_generates(model: Any, tokenizer: Any, rows: list[Row]) -> None:
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    ours = engine(model, tokenizer).generate(ids, mask, Sampling(do_sample=False), [0] * len(rows))
    theirs = model.generate(
        input_ids=ids,
        attention_mask=mask,
        do_sample=False,
        max_new_tokens=6,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )[:, 40:]
    assert ours.responses[:, : theirs.shape[1]].tolist() == theirs.tolist()


def test_a_response_depends_on_its_seed_alone(model: Any, tokenizer: Any, rows: list[Row]) -> None:
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    seeds = [row_seed(7, i) for i in range(len(rows))]
    rollout = engine(model, tokenizer)
    whole = rollout.generate(ids, mask, Sampling(), seeds)
    order = torch.randperm(len(rows))
    shuffled = rollout.generate(ids[order], mask[order], Sampling(), [seeds[i] for i in order])
    pieces = engine(model, tokenizer, micro_batch_size=3).generate(ids, mask, Sampling(), seeds)
    assert torch.equal(shuffled.responses, whole.responses[order])
    assert torch.equal(pieces.responses, whole.responses)
    other = rollout.generate(ids, mask, Sampling(), [s + 1 for s in seeds])
    assert not torch.equal(other.responses, whole.responses)


def test_generation_leaves_the_global_random_state_alone(model: Any, tokenizer: Any, rows: list[Row]) -> None:
    before = torch.get_rng_state()
    engine(model, tokenizer).generate(
        *pad_prompts(rows, 40, tokenizer.pad_token_id), Sampling(), list(range(len(rows)))
    )
    assert torch.equal(torch.get_rng_state(), before)


def test_n_responses_stand_next_to_each_other(model: Any, tokenizer: Any, rows: list[Row]) -> None:
    ids, mask = pad_prompts(rows[:2], 40, tokenizer.pad_token_id)
    drawn = engine(model, tokenizer).generate(ids, mask, Sampling(n=3), list(range(6)))
    single = engine(model, tokenizer).generate(ids[1:], mask[1:], Sampling(), [4])
    assert drawn.responses.shape == (6, 6)
    assert torch.equal(drawn.responses[4], single.responses[0])


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_rollout_and_actor_agree_on_the_log_probs(
    model: Any, tokenizer: Any, rows: list[Row], temperature: float
) -> None:
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    drawn = engine(model, tokenizer).generate(ids, mask, Sampling(temperature=temperature), list(range(8)))
    batch = make_batch(rows, ids, mask, drawn.responses, drawn.response_mask)
    reference = Reference(model, temperature=temperature, micro_batch_size=3)
    log_probs, entropies = reference.log_probs(batch)
    kept = drawn.response_mask.bool()
    torch.testing.assert_close(log_probs[kept], drawn.rollout_log_probs[kept], atol=1e-4, rtol=0)
    assert bool((entropies[kept] > 0).all())
    assert not bool(drawn.rollout_log_probs[~kept].any())


def test_position_ids_continue_from_the_last_prompt_position(rows: list[Row], tokenizer: Any) -> None:
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    batch = make_batch(rows, ids, mask, ids[:, :3], mask[:, -3:])
    n = len(rows[0].token_ids)
    assert batch["position_ids"][0, 40 - n :].tolist() == list(range(n + 3))
    assert not bool(batch["position_ids"][0, : 40 - n].any())


@settings(max_examples=25)
@given(st.lists(st.floats(-4, 4), min_size=3, max_size=8), st.integers(0, 2**32))
def test_sampling_never_draws_a_token_that_is_ruled_out(logits: list[float], seed: int) -> None:
    row = torch.tensor([[*logits, -torch.inf]]).repeat(50, 1)
    uniforms = torch.rand(50, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    uniforms[0], uniforms[1] = 0.0, 1 - 2**-53
    tokens, log_probs = draw(row, Sampling(top_k=2), uniforms)
    assert set(tokens.tolist()) <= set(restrict(row[:1], 2, 1.0).isfinite()[0].nonzero().flatten().tolist())
    assert bool(log_probs.isfinite().all())


def test_sampled_frequencies_are_the_probabilities() -> None:
    probabilities = torch.tensor([0.5, 0.2, 0.3])
    uniforms = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    tokens, _ = draw(probabilities.log().repeat(1000, 1), Sampling(), uniforms)
    assert tokens.bincount().tolist() == [500, 200, 300]


def test_top_p_keeps_the_token_that_reaches_the_mass() -> None:
    logits = torch.tensor([[0.2, 0.5, 0.3]]).log()
    assert restrict(logits, -1, 0.5).isfinite().tolist() == [[False, True, False]]
    assert restrict(logits, -1, 0.6).isfinite().tolist() == [[False, True, True]]
    assert restrict(logits, -1, 0.0).isfinite().tolist() == [[False, True, False]]


def test_sync_takes_over_every_weight_tied_ones_too(model: Any, tokenizer: Any, rows: list[Row]) -> None:
    rollout = engine(unsharded_copy(model, torch.float32, torch.device("cpu")), tokenizer)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    rollout.sync_weights(model.named_parameters())
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    torch.testing.assert_close(rollout.model(ids, mask).logits, model(ids, mask).logits)


def test_a_weight_that_stays_out_of_a_sync_is_an_error(model: Any, tokenizer: Any) -> None:
    rollout = engine(unsharded_copy(model, torch.float32, torch.device("cpu")), tokenizer)
    with pytest.raises(ConfigError, match=r"sent no weights for: model\.norm\.weight"):
        rollout.sync_weights((n, p) for n, p in model.named_parameters() if n != "model.norm.weight")


def test_a_bfloat16_copy_keeps_its_rotary_frequencies(model: Any) -> None:
    copied = unsharded_copy(model, torch.bfloat16, torch.device("cpu"))
    assert {p.dtype for p in copied.parameters()} == {torch.bfloat16}
    assert {b.dtype for b in copied.buffers()} == {torch.float32}
