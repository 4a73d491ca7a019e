"""TRL's side of the comparisons: its settings, and the time of its steps.

It runs where TRL is installed, and imports nothing of ours. Both trainers: temperature 1 without top_k and
top_p, no KL and so no reference, one optimizer step a batch, a constant learning rate, no gradient
checkpointing, no checkpoints, no trackers. The rest is given by each benchmark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Row = dict[str, float]


def grpo_config(folder: Path, device: str = "cpu", **sizes: Any) -> Any:
    """Return a GRPOConfig: what both trainers do in all comparisons, and the sizes of one."""
    from trl import GRPOConfig

    return GRPOConfig(
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
        **sizes,
    )


def watch(rows: list[Row], **names: str) -> Any:
    """Return a callback that appends each optimizer step's seconds and tokens, as TRL counts them.

    Args:
        names: further figures, by their names in TRL's log.
    """
    from transformers import TrainerCallback

    class Watch(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.last, self.tokens = time.perf_counter(), 0.0

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "num_tokens" not in logs:
                return
            now = time.perf_counter()
            row = {"seconds": now - self.last, "tokens": logs["num_tokens"] - self.tokens}
            row |= {name: float(logs.get(theirs, 0.0)) for name, theirs in names.items()}
            rows.append(row)
            print(f"TRL: {row}", file=sys.stderr, flush=True)  # a run that is cut short has its steps too
            self.last, self.tokens = now, logs["num_tokens"]

    return Watch()


def run_inside(python: str, script: Path, *arguments: object) -> list[Row]:
    """Run `script --inside-trl ...` in TRL's environment, and return the rows that it prints last."""
    command = [python, str(script), "--inside-trl", *map(str, arguments)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    rows: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return rows
