"""A small project with a reward of its own, and our command line run in it as on another machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

REWARD = """\
from closeness import close


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return close(solution_str.split()[-1], ground_truth)
"""
CLOSE = "def close(said, wanted):\n    return float(said == wanted)\n"
MIX = "data_sources: [mixed]\nsum: [gsm8k, {reward: think_format, weight: 0.1}]\n"
WORDS = (
    "--reward",
    "mine=rewards.py:compute_score",
    "--rewards",
    "mix.yaml",
    "--option",
    "gsm8k:method=strict",
)


def make_project(folder: Path) -> Path:
    """Write rewards, and responses to three prompts of each of three data sources."""
    folder.mkdir(parents=True)
    files = {"rewards.py": REWARD, "closeness.py": CLOSE, "mix.yaml": MIX}
    for name, text in files.items():
        (folder / name).write_text(text)
    rows = [
        {
            "data_source": source,
            "prompt": f"What is {n} + 1?",
            "response": f"It is\n#### {n + said % 2}",
            "ground_truth": str(n + 1),
        }
        for source in ("mine", "mixed", "openai/gsm8k")
        for n in range(3)
        for said in range(4)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def elsewhere(folder: Path, *words: str, home: str = "/", seed: str = "0") -> tuple[int, str]:
    """Run `rewardkit` in a process of its own, and return its exit code and what it printed."""
    environment = os.environ | {"HOME": home, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-m", "rewardkit", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr
