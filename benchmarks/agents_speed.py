"""Episodes in training, ours beside TRL's `environment_factory`: same model, task, tool, batch and updates.

    python3 -m venv trl && trl/bin/pip install torch==2.13.0 trl==1.16.0 jmespath
    python benchmarks/agents_speed.py --trl-python trl/bin/python [--steps 4] [--prompts 8]
        [--engines hf vllm]

The task and the warmed-up model are those of `agents_tiny.py`: a call of the calculator, and an answer.
Both train with GRPO, eight episodes a prompt, float32, one thread, one optimizer step a batch, no
reference, at a learning rate that changes nothing, one after the other; TRL with transformers' generation,
its default, ours with the engines that are asked for. The first step, with its warm-up, is left out. Tokens
are those of prompts and episodes, as each trainer counts them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from trl_side import grpo_config, run_inside, watch

N = 8
PROMPT, RESPONSE = 16, 48
LEARNING_RATE = 1e-9


class Arithmetic:
    """TRL's side of the task: an environment with one tool."""

    def reset(self, **_: Any) -> None:
        """Begin; there is nothing to clear."""

    def calculator(self, expression: str) -> str:
        """Calculate an arithmetic expression.

        Args:
            expression: Such as (12 * 34) % 97.
        """
        found = re.fullmatch(r"\((\d+) ([-+*]) (\d+)\) % (\d+)", expression)
        if found is None:
            return "Error"
        a, b, modulus = (int(found[i]) for i in (1, 3, 4))
        return str({"+": a + b, "-": a - b, "*": a * b}[found[2]] % modulus)


def trl_reward(completions: list[list[dict[str, Any]]], answer: list[str], **_: Any) -> list[float]:
    """Reward the right number after ####, 0.1 for another."""
    said = [str(messages[-1].get("content") or "") for messages in completions]
    return [
        1.0 if text.startswith(f"#### {right}") else 0.1 * text.startswith("####")
        for text, right in zip(said, answer, strict=True)
    ]


def inside_trl(folder: Path, prompts: int, steps: int) -> list[dict[str, float]]:
    """Train with GRPOTrainer; runs where TRL is installed, and imports nothing of ours."""
    import pyarrow.parquet as pq
    import torch
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOTrainer
    from trl.chat_template_utils import qwen3_schema, qwen3_template

    torch.set_num_threads(1)
    rows = pq.read_table(folder / "calculator" / "train.parquet").to_pylist()[:2000]
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    ends = {"start_anchor": "<|assistant|>"}
    fields = dict(qwen3_template["fields"])
    fields["content"] = {"close_pattern": r"<\|end\|>\s*", "content": "text"}
    tokenizer.response_template = {**qwen3_template, **ends, "fields": fields}
    tokenizer.response_schema = json.loads(json.dumps(qwen3_schema).replace("im_end", "end"))
    seen: list[dict[str, float]] = []
    config = grpo_config(
        folder,
        per_device_train_batch_size=prompts * N,
        gradient_accumulation_steps=1,
        num_generations=N,
        max_completion_length=RESPONSE,
        max_tool_calling_iterations=2,
        learning_rate=LEARNING_RATE,
        max_steps=steps,
    )
    given = {
        "prompt": [row["prompt"] for row in rows],
        "answer": [row["reward_model"]["ground_truth"] for row in rows],
    }
    trainer = GRPOTrainer(
        model=str(folder / "model"),
        args=config,
        reward_funcs=trl_reward,
        train_dataset=Dataset.from_dict(given),
        processing_class=tokenizer,
        environment_factory=Arithmetic,
        callbacks=[watch(seen, calls="tools/call_frequency", reward="reward")],
    )
    trainer.train()
    return seen


def run_ours(folder: Path, prompts: int, steps: int, engine: str) -> list[dict[str, float]]:
    """Train with ours, in a process of its own too."""
    rollout = "actor_rollout_ref.rollout"
    actor = "actor_rollout_ref.actor"
    out = folder / "ours" / engine
    command = [
        *(sys.executable, "-m", "rewardkit.trainer.run.main"),
        f"data.train_files={folder / 'calculator' / 'train.parquet'}",
        f"data.train_batch_size={prompts}",
        f"data.max_prompt_length={PROMPT}",
        f"data.max_response_length={RESPONSE}",
        f"actor_rollout_ref.model.path={folder / 'model'}",
        "actor_rollout_ref.model.enable_gradient_checkpointing=false",
        f"{actor}.ppo_mini_batch_size={prompts}",
        f"{actor}.ppo_micro_batch_size_per_gpu={prompts * N}",
        f"{actor}.optim.lr={LEARNING_RATE}",
        f"{actor}.fsdp_config.dtype=float32",
        f"{rollout}.name={engine}",
        f"{rollout}.dtype=float32",
        f"{rollout}.n={N}",
        f"{rollout}.log_prob_micro_batch_size_per_gpu={prompts * N}",
        f"{rollout}.multi_turn.tool_config_path=calculator",
        f"{rollout}.multi_turn.max_assistant_turns=3",
        "algorithm.adv_estimator=grpo",
        "algorithm.use_kl_in_reward=false",
        "trainer.device=cpu",
        "trainer.n_gpus_per_node=1",
        f"trainer.total_training_steps={steps}",
        "trainer.val_before_train=false",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)
    lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        {
            "seconds": row["timing_s/step"],
            "tokens": row["perf/total_num_tokens"],
            "calls": row["agent/tool_calls/mean"],
            "reward": row["critic/score/mean"],
        }
        for row in map(json.loads, lines)
    ]


def main() -> int:
    """Run both and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trl-python", help="Python of an environment with TRL; without it, ours alone")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--engines", nargs="+", default=["hf"], choices=["hf", "vllm"], help="ours")
    parser.add_argument("--model", type=Path, help="a folder that agents_tiny.make_start has written")
    parser.add_argument("--inside-trl", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside_trl:
        folder, prompts, steps = args.inside_trl
        print(json.dumps(inside_trl(Path(folder), int(prompts), int(steps))))
        return 0
    from agents_tiny import prepare_start

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare_start("calculator", folder, args.model)
        runs = {f"ours, {e}": run_ours(folder, args.prompts, args.steps, e) for e in args.engines}
        if args.trl_python:
            runs["TRL"] = run_inside(
                args.trl_python, Path(__file__).resolve(), folder, args.prompts, args.steps
            )
    print(f"{'trainer':<12}{'s/step':>8}{'episodes/s':>12}{'tokens/s':>10}{'calls':>7}{'reward':>8}")
    for name, rows in runs.items():
        later = rows[1:] or rows
        seconds = sum(row["seconds"] for row in later)
        calls, reward = (sum(row[key] for row in later) / len(later) for key in ("calls", "reward"))
        print(
            f"{name:<12}{seconds / len(later):>8.2f}{len(later) * args.prompts * N / seconds:>12.1f}"
            f"{sum(row['tokens'] for row in later) / seconds:>10.0f}{calls:>7.2f}{reward:>8.3f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
