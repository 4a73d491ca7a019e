"""Speed on one GPU, compared with TRL's GRPOTrainer, for the shape of Qwen2.5-0.5B with random weights.

    pip install 'torch>=2.6' && pip install 'vllm>=0.32' && pip install -e '.[all]'
    python3 -m venv trl && trl/bin/pip install 'torch>=2.6' trl
    python benchmarks/gpu.py [--trl-python trl/bin/python] [--steps 5] [--json] [KEY=VALUE ...]
    python benchmarks/gpu.py --tiny --device cpu      (the same code in a minute, without a GPU)

Nothing is downloaded: weights are random, and the tokenizer is trained on the prompts and filled up to Qwen's
vocabulary. Each step has 16 prompts with 8 responses each, all of their full 512 tokens; bfloat16 with
float32 master weights, one update per step, no checkpointing, no KL. Ours generates with vLLM, TRL with
transformers. Seconds and tokens are those of all steps except the first. Peak memory is that of the whole
device during a run, as reported by nvidia-smi, because torch also counts memory that a sleeping engine has
released. MFU is that of the actor's update alone: forward and backward, relative to the GPU's peak in
bfloat16. Settings at the end override ours: compare
`actor_rollout_ref.model.override_config.attn_implementation=sdpa`,
`actor_rollout_ref.actor.fsdp_config.use_torch_compile=false`, or `actor_rollout_ref.rollout.name=hf`. On two
GPUs, `actor_rollout_ref.rollout.name=vllm_server actor_rollout_ref.rollout.gpu_memory_utilization=0.9` with
`trainer.mode=one_step_off` or `async` reserves one for rollouts; compare with both roles on one GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import trainer_speed
from trainer_speed import SIZES, run_ours, run_trl, summary

SHAPES: dict[str, dict[str, Any]] = {
    "qwen2.5-0.5b": {
        "vocab_size": 151936,
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
    },
    "tiny-qwen": {
        "vocab_size": 512,
        "hidden_size": 224,  # heads of 16: CUDA's kernels need multiples of 8
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
    },
}
SIZES["qwen2.5-0.5b"] = (16, 8, 512, 256, 8)
SIZES["tiny-qwen"] = (4, 2, 8, 64, 4)
TOKENS = {"qwen2.5-0.5b": 16384, "tiny-qwen": 256}
"""Tokens in one of our forward passes."""


def make_folder(kind: str, folder: Path) -> Path:
    """Write data, and a model of this shape with its tokenizer; return the model's folder."""
    import pyarrow.parquet as pq
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from rewardkit.datasets_prep import arithmetic
    from rewardkit.demo.model import save

    arithmetic.prepare(folder / "data", n_train=512, n_test=8, level="tiny", seed=0)
    infos = pq.read_table(folder / "data" / "train.parquet", columns=["extra_info"])["extra_info"].to_pylist()
    shape = SHAPES[kind]
    tokenizer = fill_up((f"{i['question']}\n{i['answer']}" for i in infos), shape["vocab_size"])
    ids = {
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    torch.manual_seed(0)
    save(Qwen2ForCausalLM(Qwen2Config(tie_word_embeddings=True, **shape, **ids)), tokenizer, folder / "model")
    return folder / "model"


def fill_up(texts: Iterable[str], size: int) -> Any:
    """Return a tokenizer trained on the texts, its vocabulary filled up to `size` with unused tokens."""
    from tokenizers import Tokenizer

    from rewardkit.demo.model import make_tokenizer

    tokenizer = make_tokenizer(texts)
    made = json.loads(tokenizer.backend_tokenizer.to_str())
    vocabulary = made["model"]["vocab"]
    vocabulary |= {f"filler{i}": i for i in range(len(tokenizer), size)}
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(made))
    assert len(tokenizer) == size
    return tokenizer


def our_settings(kind: str, device: str) -> list[str]:
    """Return the settings that differ from a run of `trainer_speed.py`."""
    settings = [
        f"trainer.device={device}",
        f"actor_rollout_ref.actor.ppo_max_token_len_per_gpu={TOKENS[kind]}",
    ]
    if device == "cuda":
        settings += [
            "actor_rollout_ref.actor.fsdp_config.dtype=bfloat16",
            "actor_rollout_ref.rollout.dtype=bfloat16",
            "actor_rollout_ref.rollout.gpu_memory_utilization=0.4",
        ]
    return settings


def read_mfu(log: Path) -> float | None:
    """Return the mean MFU of all steps except the first; None if the device's peak is unknown."""
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    shares = [row["perf/mfu/actor"] for row in rows[1:] or rows if "perf/mfu/actor" in row]
    return sum(shares) / len(shares) if shares else None


class DeviceMemory:
    """Peak memory in use on the first visible GPU within a block, sampled five times a second."""

    def __init__(self, device: str) -> None:
        self.peak_gb: float | None = None
        """Peak in GB; None without a GPU or nvidia-smi."""
        first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        query = ["nvidia-smi", "-i", first, "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        self._command = [*query, "-lms", "200"]
        self._asks = device == "cuda" and shutil.which("nvidia-smi") is not None

    def __enter__(self) -> DeviceMemory:
        if self._asks:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()
        return self

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip().isdigit():
                self.peak_gb = max(self.peak_gb or 0.0, int(line) / 1024)

    def __exit__(self, *_: object) -> None:
        if self._asks:
            self._process.terminate()
            self._thread.join()
            self._process.wait()


def measure(args: argparse.Namespace, kind: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Run ours, then TRL if its Python is given; return the figures by trainer."""
    model = make_folder(kind, folder)
    settings = [*our_settings(kind, args.device), *args.overrides]
    with DeviceMemory(args.device) as memory:
        rows = run_ours(model, folder, kind, args.steps, True, settings)
    later = rows[1:] or rows
    found: dict[str, dict[str, Any]] = {
        "rewardkit": {
            **summary(rows),
            "mfu": read_mfu(folder / "ours" / "metrics.jsonl"),
            "memory_gb": memory.peak_gb,
            "phases": {
                k: sum(r.get(k, 0.0) for r in later) / len(later)
                for k in later[-1]
                if k not in ("seconds", "tokens", "step")
            },
        }
    }
    if args.trl_python:
        with DeviceMemory(args.device) as memory:
            theirs = run_trl(args.trl_python, model, folder, SIZES[kind], args.steps, True, args.device)
        found["TRL"] = {**summary(theirs), "mfu": None, "memory_gb": memory.peak_gb}
    return found


def table(found: dict[str, dict[str, Any]]) -> str:
    """Return the figures as a printable table."""
    lines = [
        f"{'trainer':<12}{'s/step':>10}{'tokens/step':>13}{'tokens/s':>10}{'MFU':>8}{'peak GiB':>10}",
    ]
    for name, of in found.items():
        share = "-" if of["mfu"] is None else f"{of['mfu']:.1%}"
        peak = "-" if of["memory_gb"] is None else f"{of['memory_gb']:.1f}"
        cells = f"{of['s_per_step']:>10.2f}{of['tokens']:>13.0f}{of['tokens_per_s']:>10.0f}"
        lines.append(f"{name:<12}{cells}{share:>8}{peak:>10}")
    if "TRL" in found:
        ratio = found["rewardkit"]["tokens_per_s"] / found["TRL"]["tokens_per_s"]
        lines.append(f"ours in units of TRL's: {ratio:.2f}")
    phases = found["rewardkit"]["phases"]
    lines.append("our phases, s: " + ", ".join(f"{k} {v:.3f}" for k, v in phases.items()))
    return "\n".join(lines)


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="a tiny model of the same family")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--trl-python", help="Python of an environment with TRL; without it, ours alone")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of our side")
    args = parser.parse_args()
    if args.device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise SystemExit("there is no CUDA device here; --tiny --device cpu tries the code without one")
    kind = "tiny-qwen" if args.tiny else "qwen2.5-0.5b"
    trainer_speed.ENGINES[kind] = ["name=vllm" if args.device == "cuda" else "name=hf"]
    os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count() or 1))
    with tempfile.TemporaryDirectory() as temporary:
        found = measure(args, kind, Path(temporary))
    print(json.dumps(found) if args.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
