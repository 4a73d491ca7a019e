"""Small runs of both stages in forked processes, two of them killed and started again; for `test_pair_runs.py`.

python -m tests.trainer.pairs.pair_runs FOLDER      (FOLDER holds model/ and pairs.jsonl)
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.trainer.checkpoint.crash_runs import in_second
from tests.trainer.forking import fork_ranks
from tests.trainer.sft.sft_runs import QLORA

STEPS = 4


def run(folder: Path, stage: str, name: str, *more: str, size: int = 1, killed: bool = False) -> list[int]:
    """Run to the end, or until the process dies in its second step; return exit codes."""
    overrides = [
        f"data.train_files={folder}/pairs.jsonl",
        f"data.val_files={folder}/pairs.jsonl",
        "data.val_max_samples=5",  # which no two processes can share equally
        "data.train_batch_size=8",
        f"model.path={folder}/model",
        f"trainer.total_training_steps={STEPS}",  # of three to an epoch
        "trainer.save_freq=1",
        "trainer.logger=[jsonl]",
        f"trainer.n_gpus_per_node={size}",
        f"trainer.default_local_dir={folder}/{name}",
        *more,
    ]
    return fork_ranks(overrides, size, {0: in_second("update_actor")} if killed else None, stage)


def main(folder: Path) -> None:
    """Make all runs and write their exit codes to `codes.json`."""
    codes = {}
    for stage in ("rm", "dpo"):
        codes |= {
            f"{stage}_whole": run(folder, stage, f"{stage}_whole"),
            f"{stage}_killed": run(folder, stage, f"{stage}_killed", killed=True),
            f"{stage}_again": run(folder, stage, f"{stage}_killed"),
            f"{stage}_two": run(folder, stage, f"{stage}_two", size=2),
            f"{stage}_lora": run(folder, stage, f"{stage}_lora", "model.lora_rank=4"),
        }
        if find_spec("bitsandbytes") is not None:
            codes[f"{stage}_quantised"] = run(folder, stage, f"{stage}_quantised", *QLORA)
    (folder / "codes.json").write_text(json.dumps(codes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
