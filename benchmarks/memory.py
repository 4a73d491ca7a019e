"""Memory of a run on a CPU, measured beside what preflight estimates of it, for five shapes of models.

    python benchmarks/memory.py [--only NAME] [--phases] [--json]

Each shape trains for two steps with random weights in a process of its own, which has trained a tiny model
before: what imports, allocator and threads take is there by then. Measured is the growth of the resident
memory from there to its peak, by Linux's VmHWM. Exit code 1 where a shape is more than a tenth away.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("MALLOC_ARENA_MAX", "1")
os.environ.setdefault(
    "MALLOC_MMAP_THRESHOLD_", "65536"
)  # what is freed is given back, and not kept for later

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from rewardkit.demo.model import make_tokenizer
from rewardkit.trainer import loop
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.distributed import World, open_world
from rewardkit.trainer.logging.metrics import Clock
from rewardkit.trainer.run.build import open_run
from rewardkit.trainer.run.memory import estimate

MIB = 1 << 20
LIMIT = 0.1
FLOAT32 = ("actor_rollout_ref.actor.fsdp_config.dtype=float32", "critic.fsdp_config.dtype=float32")
PLAIN = ("actor_rollout_ref.model.enable_gradient_checkpointing=false",)
GRPO = ("algorithm.adv_estimator=grpo", "actor_rollout_ref.rollout.n=4")

SHAPES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "deep llama, grpo": (
        {"model_type": "llama", "hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 20},
        (*FLOAT32, *GRPO),
    ),
    "wide llama, ppo": (
        {"model_type": "llama", "hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 4},
        FLOAT32,
    ),
    "qwen2, tied, many words, no checkpointing": (
        {
            "model_type": "qwen2",
            "hidden_size": 448,
            "num_attention_heads": 7,
            "intermediate_size": 2432,
            "num_hidden_layers": 8,
            "num_key_value_heads": 1,
            "vocab_size": 50000,
            "tie_word_embeddings": True,
        },
        (*FLOAT32, *GRPO, *PLAIN, "data.max_response_length=128"),
    ),
    "qwen3, bfloat16, reference": (
        {
            "model_type": "qwen3",
            "hidden_size": 512,
            "intermediate_size": 1536,
            "num_hidden_layers": 10,
            "head_dim": 64,
            "vocab_size": 20000,
        },
        (*GRPO, "actor_rollout_ref.actor.use_kl_loss=true"),
    ),
    "gemma2, critic and reference": (
        {
            "model_type": "gemma2",
            "hidden_size": 384,
            "intermediate_size": 1536,
            "num_hidden_layers": 6,
            "head_dim": 64,
            "vocab_size": 30000,
        },
        (*FLOAT32, "algorithm.use_kl_in_reward=true"),
    ),
}
TINY = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}


def make_model(folder: Path, shape: dict[str, Any], tokenizer: Any) -> None:
    """Save a model of random weights."""
    given = {"vocab_size": 8000, "num_attention_heads": shape["hidden_size"] // 64, "bos_token_id": None}
    given |= {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    given |= {"max_position_embeddings": 1024, **shape}
    given.setdefault("num_key_value_heads", given["num_attention_heads"])
    config = AutoConfig.for_model(given.pop("model_type"), **given)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_files(folder: Path, shape: dict[str, Any]) -> None:
    """Save data, the model and a tiny one, and a reward that costs nothing."""
    texts = [f"Tom has {n} apples. How many?" for n in range(16)]
    rows = [
        {"data_source": "my/digits", "prompt": [{"role": "user", "content": t}], "ground_truth": str(n)}
        for n, t in enumerate(texts)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
    tokenizer = make_tokenizer(texts, vocab_size=320)
    make_model(folder / "model", shape, tokenizer)
    make_model(folder / "tiny", TINY, tokenizer)


def settings(folder: Path, model: str, words: tuple[str, ...]) -> Config:
    """Return the config of a run of two steps."""
    return load_config(
        None,
        [
            f"data.train_files={folder}/train.parquet",
            "data.train_batch_size=4",
            "data.max_prompt_length=40",
            "data.max_response_length=64",
            f"custom_reward_function.path={Path(__file__).resolve().parent}/digits.py",
            "custom_reward_function.name=digits",
            f"actor_rollout_ref.model.path={folder}/{model}",
            f"critic.model.path={folder}/{model}",
            "actor_rollout_ref.actor.ppo_mini_batch_size=4",
            "critic.ppo_mini_batch_size=4",
            "actor_rollout_ref.rollout.name=hf",
            "actor_rollout_ref.rollout.ignore_eos=true",
            "trainer.device=cpu",
            "trainer.val_before_train=false",
            "trainer.logger=[jsonl]",
            "trainer.resume_mode=disable",
            "reward.num_workers=1",
            f"trainer.default_local_dir={folder}/out-{model}",
            *words,
        ],
    )


def reset_peak() -> int:
    """Let the peak count from here; return the resident memory."""
    Path("/proc/self/clear_refs").write_text("5")
    resident: int = psutil.Process().memory_info().rss
    return resident


def peak() -> int:
    """Return the most resident memory since `reset_peak`."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


class Watch:
    """The peak of each phase of a step, above what there was before the run."""

    def __init__(self) -> None:
        self.before = reset_peak()
        self.peaks: dict[str, int] = {}

    def note(self, phase: str) -> None:
        """Keep the peak since the last note under this name."""
        self.peaks[phase] = max(self.peaks.get(phase, 0), peak() - self.before)
        reset_peak()

    @contextmanager
    def clock(self, clock: Clock, phase: str) -> Iterator[None]:
        """Stand in for a clock."""
        self.note("between")
        yield
        self.note(phase)


def train(config: Config, world: World, watch: Watch) -> None:
    """Take two steps; the last checkpoint is of the size of the disk's cache and left out."""
    with open_run(config, world) as run:
        watch.note("loading")
        loop.sync_weights(run)
        for step in (1, 2):
            loop.ppo_step(run, run.loader.take(), step, Clock(world.device))


def measure(folder: Path, words: tuple[str, ...]) -> dict[str, Any]:
    """Return estimate and measurement in bytes, here."""
    torch.set_num_threads(1)
    config = settings(folder, "model", words)
    needs = estimate(config)
    assert needs is not None
    with open_world("cpu") as world:
        train(settings(folder, "tiny", words), world, Watch())
        watch = Watch()
        Clock.__call__ = lambda clock, phase: watch.clock(clock, phase)  # type: ignore[assignment, method-assign]
        train(config, world, watch)
        watch.note("between")
    return {"estimate": needs, "phases": watch.peaks, "measured": max(watch.peaks.values())}


def main() -> int:
    """Measure each shape in a process of its own and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--phases", action="store_true", help="Show each phase, and each part of the estimate."
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        print(json.dumps(measure(Path(asked.inside[0]), SHAPES[asked.inside[1]][1])))
        return 0
    found = {}
    for name, (shape, _) in SHAPES.items():
        if asked.only not in name:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            make_files(Path(temporary), shape)
            command = [sys.executable, __file__, "--inside", temporary, name]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[name] = json.loads(done.stdout.splitlines()[-1])
        show(name, found[name], phases=asked.phases)
    if asked.json:
        print(json.dumps(found))
    return int(any(abs(off(one)) > LIMIT for one in found.values()))


def off(found: dict[str, Any]) -> float:
    """How far the estimate is from what was measured, as a share of that."""
    return float(sum(found["estimate"].values()) / found["measured"] - 1)


def show(name: str, found: dict[str, Any], *, phases: bool) -> None:
    """Print a line of the table."""
    whole = sum(found["estimate"].values()) / MIB
    print(f"{name:<44}{whole:8.0f} MiB estimated {found['measured'] / MIB:8.0f} measured {off(found):+7.1%}")
    for part in ("estimate", "phases") if phases else ():
        print(f"    {part}: " + ", ".join(f"{k} {v / MIB:.0f}" for k, v in found[part].items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
