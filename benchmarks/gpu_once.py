"""All checks that need one GPU, in nine minutes: each part has a time limit and writes its results at once.

    python benchmarks/gpu_once.py --wheels      (prints the packages that the machine needs besides torch)
    python benchmarks/gpu_once.py --out FOLDER [--only speed update ...] [--seconds 540]
    python benchmarks/gpu_once.py --out FOLDER --device cpu     (tiny shapes: tries the script without a GPU)

Needs torch 2.11 or newer and no network: weights are random, and tokenizers are trained on the prompts.
`FOLDER/results.jsonl` gets one line per result, with its part, and one line per part with its seconds and its
end: `done`, `failed` (with the last lines of its output), `timeout`, or `skipped` (with the reason).
`FOLDER/PART.log` is the output of a part. A part is a process of its own, which is killed at its limit.

| part | what it measures |
|---|---|
| tests | `tests/gpu` without vLLM |
| speed | an update of the shape of Qwen2.5-0.5B in bfloat16: compiled or not, kernels, shared prompts |
| update | one batch on a CPU in float32 and on the GPU in float32 and bfloat16: cosine of each gradient |
| left_out | an update in which half of the rows have no gradient, against one that computes all rows |
| learning | twenty steps of the demo's task on both devices: scores, and k3 of engine and policy |
| sft | SFT of a model of 135 million parameters |
| memory | the estimate of `run/memory.py` against the peak of a step, for two shapes |
| one_gpu_async | asynchronous training at staleness 0 against synchronous training; needs vLLM |
"""

from __future__ import annotations

import argparse
import copy
import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[1]
SLOWER = 3
"""Multiple of the time limits without a GPU, where imports and many small steps take longer."""
SMOL = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
}
"""Shape of SmolLM2-135M."""


@dataclass(frozen=True)
class Bench:
    """Device, sizes and results of a part."""

    device: str
    out: Path
    part: str

    @property
    def tiny(self) -> bool:
        """Return True if the shapes are tiny, because there is no GPU."""
        return self.device == "cpu"

    def tell(self, **figures: Any) -> None:
        """Append a result to the file of results, and print it."""
        line = json.dumps({"part": self.part, **figures})
        with (self.out / "results.jsonl").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        print(line, flush=True)


def run_tests(bench: Bench) -> None:
    """Run the tests of the GPU that need no vLLM."""
    chosen = ["-k", "benchmark and not measures" if bench.tiny else "not vllm and not two_gpus"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/gpu", *chosen]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout[-6000:], done.stderr[-2000:], flush=True)
    counts = {name: int(n) for n, name in re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout)}
    dots = re.match(r"[.sFEx]*", done.stdout.lstrip())
    signs = dots.group() if dots else ""
    counts = counts or {"passed": signs.count("."), "failed": signs.count("F"), "error": signs.count("E")}
    bench.tell(returncode=done.returncode, **counts)


def make_batch_of(rows: int, prompt: int, length: int, vocabulary: int, *, shared: int = 1) -> Any:
    """Return a batch of random responses of full length, of which `shared` have the same prompt."""
    import torch

    from rewardkit.trainer.batch import PromptRow, make_batch, pad_prompts

    random = torch.Generator().manual_seed(0)
    prompts = torch.randint(5, vocabulary, (rows // shared, prompt), generator=random)
    given = [PromptRow("", "", "", {}, ids) for ids in prompts.tolist() for _ in range(shared)]
    responses = torch.randint(5, vocabulary, (rows, length), generator=random)
    mask = torch.ones_like(responses)
    batch = make_batch(given, *pad_prompts(given, prompt, 0), responses, mask)
    batch["advantages"] = torch.randn((rows, 1), generator=random).expand(rows, length).clone()
    return batch


def make_actor(model: Any, device: str, dtype: str, *, tokens: int, **changes: Any) -> Any:
    """Return an actor that trains a copy of `model`, with all rows of a batch in one optimizer step."""
    import torch

    from rewardkit.trainer.config.workers import ActorConfig, FsdpConfig, ModelConfig, OptimConfig
    from rewardkit.trainer.distributed import World
    from rewardkit.trainer.models.prepare import prepare
    from rewardkit.trainer.models.sharding import shard
    from rewardkit.trainer.workers.actor import Actor
    from rewardkit.trainer.workers.batching import Batching

    world = World(0, 1, torch.device(device))
    fsdp = FsdpConfig(dtype=dtype, use_torch_compile=changes.pop("compiled", True))
    override = changes.pop("override", {})
    options = ModelConfig("-", enable_gradient_checkpointing=False, override_config=override)
    prepared = prepare(copy.deepcopy(model).to(device), options, world.device, fsdp)
    config = ActorConfig(
        ppo_mini_batch_size=10**6,
        use_dynamic_bsz=True,
        ppo_max_token_len_per_gpu=tokens,
        clip_ratio_low=0.2,
        clip_ratio_high=0.2,
        loss_scale_factor=1,
        grad_clip=1e9,
        optim=OptimConfig(lr=1e-6, weight_decay=0.0),
        fsdp_config=fsdp,
        **changes,
    )
    made: dict[str, Any] = {"samples_per_prompt": 1, "temperature": 1.0, "log_prob_batching": Batching()}
    return Actor(shard(prepared, world, fsdp), world, config, **made)


def make_model(shape: str, tiny: bool) -> Any:
    """Return a model of random weights: the shape of Qwen2.5-0.5B or SmolLM2-135M, or a tiny one."""
    import torch
    from gpu import SHAPES
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    if shape == "0.5b":
        sizes = SHAPES["tiny-qwen" if tiny else "qwen2.5-0.5b"]
        return Qwen2ForCausalLM(Qwen2Config(tie_word_embeddings=True, **sizes)).eval()
    sizes = {**SMOL, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2} if tiny else SMOL
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512} if tiny else {}
    return LlamaForCausalLM(LlamaConfig(tie_word_embeddings=True, **sizes)).eval()


def seconds_of(device: str, work: Callable[[], Any]) -> float:
    """Return the seconds that some work takes, with the work of the GPU."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def measure_speed(bench: Bench) -> None:
    """Measure an update of the shape of Qwen2.5-0.5B under several settings."""
    import torch

    model = make_model("0.5b", bench.tiny)
    rows, prompt, length, tokens = (8, 8, 16, 256) if bench.tiny else (64, 256, 512, 16384)
    dtype = "float32" if bench.tiny else "bfloat16"
    settings: dict[str, dict[str, Any]] = {
        "default": {},
        "not compiled": {"compiled": False},
        "sdpa": {"override": {"attn_implementation": "sdpa"}},
        "responses of 8 share a prompt": {"shared": 8},
    }
    for name, changes in settings.items():
        shared = changes.pop("shared", 1)
        batch = make_batch_of(rows, prompt, length, model.config.vocab_size, shared=shared)
        actor = make_actor(model, bench.device, dtype, tokens=tokens, **changes)
        bench.tell(setting=name, **update_figures(actor, batch.to(torch.device(bench.device)), bench.device))
        del actor


def update_figures(actor: Any, batch: Any, device: str) -> dict[str, Any]:
    """Return seconds, throughput, MFU and peak memory of updates with this batch."""
    import torch

    from rewardkit.trainer.logging.utilization import peak_flops, training_flops
    from rewardkit.trainer.models.sharding import language_model

    first = seconds_of(device, lambda: actor.update(batch, 1, 0))
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    seconds = sorted(seconds_of(device, lambda: actor.update(batch, 2, 0)) for _ in range(3))[1]
    lengths = batch["attention_mask"].sum(dim=1)
    peak = peak_flops(torch.device(device))
    flops = training_flops(language_model(actor.model), lengths)
    return {
        "first_s": first,
        "s_per_update": seconds,
        "tokens_per_s": float(lengths.sum()) / seconds,
        "mfu": flops / seconds / peak if peak else None,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None,
    }


def gradients(actor: Any, batch: Any) -> dict[str, Any]:
    """Return the gradient of each parameter in an update, on the CPU."""
    found: dict[str, Any] = {}

    def record() -> float:
        for name, parameter in actor.model.named_parameters():
            if parameter.grad is not None:
                grad = parameter.grad
                whole = grad.full_tensor() if hasattr(grad, "full_tensor") else grad
                found[name] = whole.detach().double().cpu()
        actor.optimizer.inner.zero_grad()
        return 0.0

    actor.optimizer.step = record
    actor.update(batch, 1, 0)
    return found


def cosines(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return the cosine of the whole gradients, and the five tensors with the lowest ones."""
    import torch

    def cosine(a: Any, b: Any) -> float:
        return float(torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0))

    each = {name: cosine(ours[name], theirs[name]) for name in theirs}
    whole = cosine(*(torch.cat([g[name].flatten() for name in theirs]) for g in (ours, theirs)))
    lowest = sorted(each.items(), key=lambda pair: pair[1])[:5]
    return {"cosine": whole, "lowest": dict(lowest), "tensors": len(each)}


def compare_update(bench: Bench) -> None:
    """Compare the gradients of one saved batch on both devices and in both data types."""
    import torch

    model = make_model("135m", bench.tiny)
    made = make_batch_of(8, 16, 24 if bench.tiny else 64, model.config.vocab_size, shared=2)
    torch.save(made.tensors, bench.out / "batch.pt")
    tensors = torch.load(bench.out / "batch.pt", weights_only=True)
    expected: dict[str, Any] = {}
    for device, dtype in (("cpu", "float32"), (bench.device, "float32"), (bench.device, "bfloat16")):
        batch = type(made)(tensors, made.rows).to(torch.device(device))
        found = gradients(make_actor(model, device, dtype, tokens=4096), batch)
        expected = expected or found
        bench.tell(device=device, dtype=dtype, **cosines(found, expected))


def compare_left_out(bench: Bench) -> None:
    """Compare an update that leaves out the rows without a gradient with one that computes all rows."""
    import torch

    model = make_model("135m", bench.tiny)
    rows, length = (8, 16) if bench.tiny else (64, 256)
    batch = make_batch_of(rows, 16, length, model.config.vocab_size).to(torch.device(bench.device))
    batch["advantages"][::2] = 0.0
    actor = make_actor(model, bench.device, "float32", tokens=8192)
    skipping = gradients(actor, batch)
    seconds = [seconds_of(bench.device, lambda: actor.update(batch, 1, 0))]
    actor.live = lambda given: given["response_mask"].bool().any(dim=1)
    everything = gradients(actor, batch)
    seconds.append(seconds_of(bench.device, lambda: actor.update(batch, 1, 0)))
    largest = max(float((skipping[n] - everything[n]).abs().max()) for n in everything)
    bench.tell(
        s_left_out=seconds[0], s_all=seconds[1], largest_difference=largest, **cosines(skipping, everything)
    )


def measure_learning(bench: Bench) -> None:
    """Train the demo's task on both devices at the same time, and report each step."""
    from rich.console import Console

    from rewardkit.datasets_prep import arithmetic
    from rewardkit.demo.run_demo import make_start
    from rewardkit.trainer.config.load import load_config

    folder = bench.out / "learning"
    arithmetic.prepare(folder / "data", n_train=2048, n_test=64, level="tiny", seed=0)
    files = [f"data.train_files={folder}/data/train.parquet", f"data.val_files={folder}/data/test.parquet"]
    config = load_config("tiny-cpu", [*files, f"actor_rollout_ref.model.path={folder}/model"])
    make_start(config, folder / "model", 0, Console(stderr=True))
    steps = 2 if bench.tiny else 20
    common = [
        *files,
        f"actor_rollout_ref.model.path={folder}/model",
        "actor_rollout_ref.rollout.name=hf",
        f"trainer.total_training_steps={steps}",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.logger=[jsonl]",
    ]
    halves = [
        "actor_rollout_ref.actor.fsdp_config.dtype=bfloat16",
        "actor_rollout_ref.rollout.dtype=bfloat16",
    ]
    runs = {
        "cpu": ["trainer.device=cpu"],
        f"{bench.device} bfloat16": [f"trainer.device={bench.device}", *halves],
    }
    processes = {}
    for i, (name, words) in enumerate(runs.items()):
        out = folder / f"run{i}"
        command = [sys.executable, "-m", "rewardkit.trainer.run.main", "--config", "tiny-cpu"]
        command += [*common, *words, f"trainer.default_local_dir={out}"]
        processes[name] = subprocess.Popen(command, cwd=ROOT), out
    for name, (process, out) in processes.items():
        code = process.wait()
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        bench.tell(
            run=name,
            returncode=code,
            scores=[row["critic/score/mean"] for row in rows],
            k3=[row.get("training/rollout_actor_kl") for row in rows],
            s_per_step=[row["perf/time_per_step"] for row in rows],
        )


def measure_sft(bench: Bench) -> None:
    """Measure SFT of the shape of SmolLM2-135M on random conversations."""
    from gpu import fill_up

    from rewardkit.demo.model import save
    from rewardkit.trainer.config.load import load_settings
    from rewardkit.trainer.run.process import train_here
    from rewardkit.trainer.sft.config import SETTINGS

    folder = bench.out / "sft"
    folder.mkdir()
    texts = [f"What is {a} plus {b}? It is {a + b}." for a in range(40) for b in range(40)]
    rows = ({"prompt": text, "response": " ".join(texts[i : i + 40])} for i, text in enumerate(texts[:640]))
    (folder / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    model = make_model("135m", bench.tiny)
    save(model, fill_up(texts, model.config.vocab_size), folder / "model")
    words = [
        f"data.train_files={folder}/train.jsonl",
        f"model.path={folder}/model",
        f"data.train_batch_size={4 if bench.tiny else 32}",
        "data.max_length=1024",
        "data.truncation=right",
        f"trainer.device={bench.device}",
        f"trainer.total_training_steps={2 if bench.tiny else 20}",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={folder}/run",
    ]
    train_here(load_settings(SETTINGS, None, words), "sft")
    found = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    later = found[1:] or found
    bench.tell(
        losses=[row["train/loss"] for row in found],
        s_per_step=sum(row["timing_s/step"] for row in later) / len(later),
        tokens_per_s=sum(row["perf/throughput"] for row in later) / len(later),
        peak_gib=max(row.get("perf/max_memory_allocated_gb", 0.0) for row in found),
    )


def train_words(bench: Bench, folder: Path, model: Path) -> list[str]:
    """Return the settings of a short run on random arithmetic with all responses of their full length."""
    length = 8 if bench.tiny else 256
    dtype = "float32" if bench.tiny else "bfloat16"
    return [
        f"data.train_files={folder}/data/train.parquet",
        "data.train_batch_size=8",
        "data.max_prompt_length=64",
        f"data.max_response_length={length}",
        f"custom_reward_function.path={HERE.parent}/digits.py",
        "custom_reward_function.name=digits",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=8",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8",
        "actor_rollout_ref.rollout.n=4",
        "actor_rollout_ref.rollout.ignore_eos=true",
        "algorithm.adv_estimator=grpo",
        f"actor_rollout_ref.actor.fsdp_config.dtype={dtype}",
        f"actor_rollout_ref.rollout.dtype={dtype}",
        f"trainer.device={bench.device}",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.logger=[jsonl]",
    ]


def save_shape(bench: Bench, shape: str, folder: Path) -> Path:
    """Write data and a model of this shape with its tokenizer, and return the model's folder."""
    from gpu import fill_up

    from rewardkit.datasets_prep import arithmetic
    from rewardkit.demo.model import save

    arithmetic.prepare(folder / "data", n_train=64, n_test=8, level="tiny", seed=0)
    model = make_model(shape, bench.tiny)
    save(model, fill_up([f"{a}+{a}={a + a}" for a in range(99)], model.config.vocab_size), folder / "model")
    return folder / "model"


def measure_memory(bench: Bench) -> None:
    """Compare the estimate of memory with the peak of two steps, for two shapes."""
    from rewardkit.trainer.config.load import load_config
    from rewardkit.trainer.run.memory import estimate

    for shape in ("135m", "0.5b"):
        folder = bench.out / f"memory-{shape}"
        model = save_shape(bench, shape, folder)
        words = [*train_words(bench, folder, model), "actor_rollout_ref.rollout.name=hf"]
        words += ["trainer.total_training_steps=2", f"trainer.default_local_dir={folder}/run"]
        needs = estimate(load_config(None, words)) or {}
        command = [sys.executable, "-m", "rewardkit.trainer.run.main", *words]
        done = subprocess.run(command, cwd=ROOT, check=False)
        rows = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
        peaks = [row.get("perf/max_memory_allocated_gb") or row["perf/cpu_memory_used_gb"] for row in rows]
        bench.tell(
            shape=shape,
            returncode=done.returncode,
            estimated_gib={name: size / 2**30 for name, size in needs.items()},
            estimated_sum_gib=sum(needs.values()) / 2**30,
            peak_gib=max(peaks),
        )


def compare_async(bench: Bench) -> None:
    """Train on servers, synchronously and asynchronously at staleness 0, and compare the metrics."""
    folder = bench.out / "async"
    model = save_shape(bench, "135m", folder)
    words = [*train_words(bench, folder, model), "actor_rollout_ref.rollout.name=vllm_server"]
    words += ["trainer.total_training_steps=3", "actor_rollout_ref.rollout.gpu_memory_utilization=0.3"]
    found = {}
    for name, more in (("sync", []), ("async", ["trainer.mode=async", "trainer.max_staleness=0"])):
        out = folder / name
        command = [sys.executable, "-m", "rewardkit.trainer.run.main", *words, *more]
        done = subprocess.run([*command, f"trainer.default_local_dir={out}"], cwd=ROOT, check=False)
        log = out / "metrics.jsonl"
        rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        found[name] = [(row["critic/score/mean"], row["actor/grad_norm"]) for row in rows]
        bench.tell(run=name, returncode=done.returncode, figures=found[name])
    bench.tell(same=found["sync"] == found["async"] and bool(found["sync"]))


def no_vllm(bench: Bench) -> str | None:
    """Return the reason why vLLM's parts cannot run here."""
    if find_spec("vllm") is None:
        return "vLLM is not installed"
    return "without a GPU, tests/trainer/rollout covers this" if bench.tiny else None


@dataclass(frozen=True)
class Part:
    """Part of the script."""

    run: Callable[[Bench], None]
    limit_s: float
    why_not: Callable[[Bench], str | None] = lambda bench: None


PARTS = {
    "update": Part(compare_update, 60),
    "speed": Part(measure_speed, 100),
    "left_out": Part(compare_left_out, 40),
    "learning": Part(measure_learning, 120),
    "memory": Part(measure_memory, 90),
    "sft": Part(measure_sft, 60),
    "tests": Part(run_tests, 120),
    "one_gpu_async": Part(compare_async, 120, no_vllm),
}
"""Parts by name, the most important ones first."""


def run_part(bench: Bench, limit_s: float) -> None:
    """Run a part in a process of its own, and kill that process and its children at the limit."""
    command = [
        sys.executable,
        str(HERE),
        "--part",
        bench.part,
        "--out",
        str(bench.out),
        "--device",
        bench.device,
    ]
    path = os.pathsep.join([str(ROOT), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    started = time.monotonic()
    with (bench.out / f"{bench.part}.log").open("w+") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, start_new_session=True, env={**os.environ, "PYTHONPATH": path}
        )
        try:
            end = "failed" if process.wait(limit_s) else "done"
        except subprocess.TimeoutExpired:
            end = "timeout"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        log.seek(0)
        last = [] if end == "done" else log.read().splitlines()[-12:]
    bench.tell(end=end, seconds=time.monotonic() - started, **({"output": last} if last else {}))


def run_all(device: str, out: Path, names: Sequence[str], seconds: float) -> None:
    """Run parts one after another until the time is over."""
    deadline = time.monotonic() + seconds
    for name in names:
        part, bench = PARTS[name], Bench(device, out, name)
        left = deadline - time.monotonic()
        reason = part.why_not(bench) or ("no time is left" if left < 5 else None)
        if reason:
            bench.tell(end="skipped", reason=reason)
        else:
            run_part(bench, min(part.limit_s * (SLOWER if bench.tiny else 1), left))


def wheels() -> Iterator[str]:
    """Yield the packages that training with the engine `hf` needs, except torch and what torch needs."""

    def needed(name: str, extras: Sequence[str], found: dict[str, str]) -> None:
        from packaging.requirements import Requirement

        for line in importlib.metadata.requires(name) or ():
            one = Requirement(line)
            wanted = one.marker is None or any(one.marker.evaluate({"extra": e}) for e in ("", *extras))
            key = one.name.lower().replace("_", "-")
            if wanted and key not in found and key not in without:
                try:
                    found[key] = importlib.metadata.version(one.name)
                except importlib.metadata.PackageNotFoundError:
                    continue
                needed(one.name, sorted(one.extras), found)

    without: dict[str, str] = {"torch": ""}
    of_torch: dict[str, str] = {}
    needed("torch", (), of_torch)
    without |= of_torch
    found: dict[str, str] = {}
    needed("rewardkit", ("train",), found)
    needed("pytest", (), found)
    found["pytest"] = importlib.metadata.version("pytest")
    yield from sorted(f"{name}=={version}" for name, version in found.items())


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="new folder for the results")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--only", nargs="*", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--seconds", type=float, default=540.0, help="time for all parts together")
    parser.add_argument("--wheels", action="store_true")
    parser.add_argument("--part", choices=[*PARTS], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.wheels:
        print("\n".join(wheels()))
        return 0
    out = (args.out or Path(tempfile.mkdtemp(prefix="gpu-once-"))).resolve()
    if args.part:
        from rewardkit.trainer.distributed import open_world

        with open_world(args.device):
            PARTS[args.part].run(Bench(args.device, out, args.part))
        return 0
    out.mkdir(parents=True, exist_ok=True)
    run_all(args.device, out, args.only, args.seconds)
    print(f"results: {out / 'results.jsonl'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
