"""The trainer on one CUDA device: both engines in bfloat16, packing, resume, offloading, memory. Skipped without."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import gc
import json
import multiprocessing
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from transformers import AutoConfig, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import World, gathered, open_world
from rewardkit.trainer.loop import train
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import shard
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.memory import estimate
from rewardkit.trainer.steps.generation import sync_weights
from rewardkit.trainer.workers.forward import response_log_probs
from tests.gpu.settings import save_model, settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with open_world("cuda") as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("tiny") / "model")


def config_of(engine: str, folder: Path, out: Path, *more: str) -> Any:
    return load_config("tiny-cpu", settings(engine, folder, out, *more))


def train_by(config: Any, world: World) -> None:
    with open_run(config, world) as opened:
        train(opened)


def read(out: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def run_and_read(config: Any, world: World) -> list[dict[str, float]]:
    train_by(config, world)
    return read(Path(config.trainer.default_local_dir))


def in_own_process(work: Callable[..., None], *given: object) -> None:
    """Run it where no engine was before: vLLM's memory that can sleep serves one in a process."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=given)
    process.start()
    process.join(timeout=300)
    process.kill()
    process.join()
    assert process.exitcode == 0


def roll_out_with_vllm(folder: Path, out: Path, *more: str) -> None:
    with open_world("cuda") as world:
        train_by(config_of("vllm", folder, out, *more), world)


EAGER = "actor_rollout_ref.rollout.enforce_eager=true"
LORA = ["actor_rollout_ref.model.lora_rank=4"]
QLORA = [*LORA, "actor_rollout_ref.model.quantization_config={load_in_4bit: true, bnb_4bit_quant_type: nf4}"]
OFFLOAD = [
    "actor_rollout_ref.actor.fsdp_config.param_offload=true",
    "actor_rollout_ref.ref.fsdp_config.param_offload=true",
]
LATER_OFFLOAD = ["actor_rollout_ref.actor.fsdp_config.optimizer_offload=true"]


def needs_vllm() -> None:
    if find_spec("vllm") is None:
        pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm]'")


@pytest.mark.parametrize(
    "more",
    [[], LORA, QLORA, OFFLOAD, LATER_OFFLOAD],
    ids=["plain", "lora", "qlora", "offload", "optimizer-offload"],
)
@pytest.mark.parametrize("engine", ["hf", "vllm"])
def test_engine_and_policy_agree_in_bfloat16_over_sleep_and_wake(
    engine: str, more: list[str], folder: Path, world: World, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    if more is QLORA:
        pytest.importorskip("bitsandbytes")
    if engine == "vllm":
        needs_vllm()
        # With CUDA graphs once: they take vLLM most of its start.
        in_own_process(roll_out_with_vllm, folder, out, *more, *([EAGER] if more else []))
    else:
        train_by(config_of(engine, folder, out, *more), world)
    steps = read(out)
    assert len(steps) == 4
    # Every sync is into an engine that gave its memory back; a stale weight would have ended the run.
    assert all(metrics["training/rollout_actor_kl"] < 1e-2 for metrics in steps)
    assert all(metrics["perf/max_memory_allocated_gb"] > 0 for metrics in steps)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices: one rolls out")
@pytest.mark.parametrize("mode", ["sync", "one_step_off", "async"])
def test_a_server_on_a_gpu_of_its_own_has_the_policy_s_weights_by_nccl(
    mode: str, folder: Path, world: World, tmp_path: Path
) -> None:
    needs_vllm()
    more = [EAGER, f"trainer.mode={mode}", "algorithm.rollout_correction.rollout_is=token"]
    steps = run_and_read(config_of("vllm_server", folder, tmp_path / "out", *more), world)
    assert len(steps) == 4
    assert all(metrics["training/rollout_actor_kl"] < 1e-2 for metrics in steps)
    assert all(metrics.get("staleness/max", 0.0) <= (mode != "sync") for metrics in steps)


def sleep_and_wake(folder: Path, out: Path) -> None:
    whole = torch.cuda.mem_get_info()[1]
    with open_world("cuda") as world, open_run(config_of("vllm", folder, out, EAGER), world) as run:
        asleep = torch.cuda.mem_get_info()[0]
        sync_weights(run)
        awake = torch.cuda.mem_get_info()[0]
        run.rollout.release()
        again = torch.cuda.mem_get_info()[0]
    assert asleep - awake > 0.1 * whole, "it may take a fifth"
    assert again - awake > 0.1 * whole


def test_an_engine_that_sleeps_gives_its_memory_back(folder: Path, tmp_path: Path) -> None:
    needs_vllm()
    in_own_process(sleep_and_wake, folder, tmp_path / "out")


def test_master_weights_keep_steps_that_bfloat16_would_round_away(
    folder: Path, world: World, tmp_path: Path
) -> None:
    config = config_of("hf", folder, tmp_path / "out", "actor_rollout_ref.actor.optim.lr=1e-8")
    with open_run(config, world) as run:
        before = {name: gathered(p.detach()).clone() for name, p in run.actor.model.named_parameters()}
        train(run)
        after = {name: gathered(p.detach()) for name, p in run.actor.model.named_parameters()}
    assert {p.dtype for p in after.values()} == {torch.float32}
    assert any(not torch.equal(before[name], after[name]) for name in after)
    norms = [name for name in after if name.endswith("norm.weight")]
    assert norms, "their weights are 1, whose neighbours in bfloat16 are 0.004 away"
    assert all(torch.equal(before[name].bfloat16(), after[name].bfloat16()) for name in norms)


def test_a_resumed_run_goes_on_as_if_it_had_never_stopped(folder: Path, world: World, tmp_path: Path) -> None:
    whole = run_and_read(config_of("hf", folder, tmp_path / "whole"), world)
    halves = [
        config_of("hf", folder, tmp_path / "halves", f"trainer.total_training_steps={n}") for n in (2, 4)
    ]
    run_and_read(halves[0], world)
    resumed = run_and_read(halves[1], world)
    # Not bit for bit: some of CUDA's kernels add up in the order in which their threads come.
    for name in ("actor/pg_loss", "actor/grad_norm", "critic/vf_loss", "actor/entropy"):
        assert resumed[-1][name] == pytest.approx(whole[-1][name], rel=1e-3, abs=1e-6), name


def make_batch(device: Any) -> Batch:
    """Sequences of 4 to 40 tokens, of which three have their prompt in common."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([30, 5, 17, 3])
    prompts = torch.tensor([10, 10, 10, 1])
    ids = torch.randint(3, 100, (4, 40), generator=generator)
    ids[:3, :10] = ids[0, :10]
    places = torch.arange(40)
    mask = (places >= 10 - prompts[:, None]) & (places < 10 + lengths[:, None])
    tensors = {"input_ids": ids * mask, "attention_mask": mask.long(), "responses": ids[:, 10:]}
    return Batch({name: tensor.to(device) for name, tensor in tensors.items()}, [])


def make_policy(dtype: str, window: int | None, world: World) -> Any:
    """A model of 2 layers with grouped heads; its weights are float32, sharded over one process."""
    shape = {"vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
    torch.manual_seed(0)
    model = MistralForCausalLM(MistralConfig(**shape, **heads, sliding_window=window)).eval()
    options, fsdp = ModelConfig("-", enable_gradient_checkpointing=False), FsdpConfig(dtype)
    return shard(prepare(model, options, world.device, fsdp), world, fsdp)


@pytest.mark.parametrize("window", [None, 6], ids=["full", "sliding"])
@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-3), ("bfloat16", 3e-2)])
def test_packed_sequences_score_as_they_do_one_by_one(
    dtype: str, near: float, window: int | None, world: World
) -> None:
    """Log-probabilities and gradients; in bfloat16 by `varlen_attn`, in float32 sequence by sequence."""
    batch = make_batch(world.device)

    def score(rows: list[list[int]]) -> tuple[Any, Any]:
        policy = make_policy(dtype, window, world)
        assert policy.packing == "flat"
        found = []
        for places in rows:
            some = batch.select(torch.tensor(places, device=world.device))
            log_probs, _ = response_log_probs(policy, some, 1.0, entropy="no")
            log_probs.sum().backward()
            found.append(log_probs.detach())
        return torch.cat(found), torch.cat([gathered(p.grad).flatten() for p in policy.parameters()])

    for packed, alone in zip(score([[0, 1, 2, 3]]), score([[0], [1], [2], [3]]), strict=True):
        assert float((packed - alone).norm() / alone.norm()) < near


@pytest.mark.parametrize("entropy", ["no", "value", "loss"])
def test_the_compiled_head_finds_what_the_other_does(entropy: Any, world: World) -> None:
    batch = make_batch(world.device)

    def score(compiled: bool) -> list[Any]:
        policy = make_policy("bfloat16", None, world)
        assert policy.compiled, "the default, where Triton and a C compiler are there"
        policy.compiled = compiled
        log_probs, figures = response_log_probs(policy, batch, 0.7, entropy=entropy)
        (log_probs.sum() + (figures.sum() if entropy == "loss" else 0.0)).backward()
        found = [log_probs.detach(), *(gathered(p.grad) for p in policy.parameters())]
        return found if figures is None else [*found, figures.detach()]

    for found, wanted in zip(score(True), score(False), strict=True):
        assert float((found - wanted).norm() / wanted.norm()) < 1e-2


def test_the_memory_estimate_is_near_what_a_run_takes(world: World, tmp_path: Path) -> None:
    """With 190 million parameters, so that cuBLAS's workspaces (some 40 MiB) do not count for much."""
    folder = save_model(tmp_path / "model")
    shape = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 12, "vocab_size": 32000}
    heads = {"num_attention_heads": 16, "num_key_value_heads": 4, "tie_word_embeddings": True}
    known = AutoConfig.from_pretrained(folder)
    ids = {name: getattr(known, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    LlamaForCausalLM(LlamaConfig(**shape, **heads, **ids)).save_pretrained(folder)
    config = config_of(
        "hf",
        folder,
        tmp_path / "out",
        "algorithm.adv_estimator=grpo",
        "actor_rollout_ref.rollout.n=4",
        "actor_rollout_ref.rollout.ignore_eos=true",
        "data.max_response_length=256",
        "algorithm.use_kl_in_reward=false",
        "trainer.total_training_steps=2",
    )
    needs = estimate(config)
    assert needs is not None
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run_and_read(config, world)
    measured = torch.cuda.max_memory_allocated() - before
    assert sum(needs.values()) == pytest.approx(measured, rel=0.15), needs
