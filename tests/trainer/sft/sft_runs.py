"""Small SFT runs in forked processes, one of them killed and started again; `test_sft.py` looks at the results.

python -m tests.trainer.sft.sft_runs FOLDER      (FOLDER holds model/ and train.jsonl)
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.trainer.checkpoint.crash_runs import in_second
from tests.trainer.forking import fork_ranks

QLORA = (
    "model.lora_rank=4",
    "model.quantization_config={load_in_4bit: true, bnb_4bit_quant_type: nf4}",
    "engine.dtype=float32",
)
"""Settings of a run with an adapter on weights in 4 bits. It needs bitsandbytes."""


def run(folder: Path, name: str, *more: str, size: int = 1, killed: bool = False) -> list[int]:
    """Run to the end, or until the process dies in its second step; return exit codes."""
    overrides = [
        f"data.train_files={folder}/train.jsonl",
        f"data.val_files={folder}/train.jsonl",
        "data.val_max_samples=5",  # which no two processes can share equally
        "data.train_batch_size=8",
        f"model.path={folder}/model",
        "trainer.total_training_steps=5",  # of three to an epoch
        "trainer.save_freq=1",
        "trainer.logger=[jsonl]",
        f"trainer.n_gpus_per_node={size}",
        f"trainer.default_local_dir={folder}/{name}",
        *more,
    ]
    return fork_ranks(overrides, size, {0: in_second("update_actor")} if killed else None, "sft")


def main(folder: Path) -> None:
    """Make all runs and write their exit codes to `codes.json`."""
    codes = {
        "whole": run(folder, "whole"),
        "killed": run(folder, "killed", killed=True),
        "again": run(folder, "killed"),
        "two": run(folder, "two", size=2),
        "split": run(folder, "split", "data.use_dynamic_bsz=false", "data.micro_batch_size_per_gpu=3"),
        "lora": run(folder, "lora", "model.lora_rank=4"),
        "diverged": run(folder, "diverged", "optim.lr=1e38"),
    }
    if find_spec("bitsandbytes") is not None:
        codes["quantised"] = run(folder, "quantised", *QLORA)
    (folder / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
