"""The demo, two steps after little of a warm-up: its engine is vLLM where there is one.

python -m tests.trainer.short_demo FOLDER      (what it shows is printed; its curve goes to `curve.json`)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console

from rewardkit.datasets_prep import arithmetic
from rewardkit.demo import run_demo as demo
from rewardkit.demo.run_demo import run_demo


def main(folder: Path) -> None:
    """Run it."""
    demo.STEPS = 20
    settings = ["trainer.total_training_steps=2", "data.train_batch_size=64", "trainer.logger=[jsonl]"]
    arithmetic.prepare(folder / "data", n_train=200, n_test=20, level="tiny", seed=0)
    shown = Console(file=sys.stdout, width=100)
    outcome = run_demo(folder / "data", folder, seed=0, overrides=settings, console=shown)
    (folder / "curve.json").write_text(json.dumps(outcome.curve))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
