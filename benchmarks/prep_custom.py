"""How much time and memory does `rewardkit prep custom` take for a large jsonl, beside `datasets`?

    python benchmarks/prep_custom.py [--rows 5000000] [--runs 3] [--folder SCRATCH]

Rows are made once: a question of 35 words and an answer of 20 that ends in `#### number`. Ours parses,
checks, takes the number out and writes verl's rows; `datasets` loads the file and writes it as parquet as it
is (`load_dataset("json").to_parquet()`), without checks, and in a second form maps each row to verl's (with
--map). Each run is a fresh process with a cache of its own; the sides take turns; CPU seconds count.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

OURS = """
import resource, sys
from rewardkit.cli import run
words = ["--data-source", "my/set", "--reward", "math", "--prompt-key", "question", "--answer-key", "answer"]
words += ["--map", "ground_truth=answer|last_number", "--no-verify", "--out", sys.argv[2]]
code = run(["prep", "custom", "--raw", sys.argv[1], *words])
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
sys.exit(code)
"""

CONVERT = """
import resource, sys, datasets
data = datasets.load_dataset("json", data_files=sys.argv[1], split="train")
data.to_parquet(sys.argv[2] + "/train.parquet")
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""

MAPPED = """
import re, resource, sys, datasets
data = datasets.load_dataset("json", data_files=sys.argv[1], split="train")
def convert(row, index):
    truth = re.search(r"#### (-?[0-9.,]+)", row["answer"]).group(1).replace(",", "")
    return {"data_source": "my/set", "prompt": [{"role": "user", "content": row["question"]}],
        "ability": "math", "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {"split": "train", "index": index, **row}}
rows = data.map(convert, with_indices=True, remove_columns=data.column_names)
rows.to_parquet(sys.argv[2] + "/train.parquet")
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def make(path: Path, rows: int) -> None:
    """Write the file of rows."""
    rng = random.Random(0)
    words = [
        "the",
        "quick",
        "brown",
        "fox",
        "jumps",
        "over",
        "a",
        "lazy",
        "dog",
        "and",
        "runs",
        "away",
        "from",
        "one",
        "big",
        "red",
        "house",
    ]
    with open(path, "w") as file:
        for i in range(rows):
            question = " ".join(rng.choices(words, k=35))
            answer = " ".join(rng.choices(words, k=20))
            row = {"question": f"{question} {i}?", "answer": f"{answer}\n#### {i * 7 % 100003:,}", "id": i}
            file.write(json.dumps(row) + "\n")


def measure(script: str, raw: Path) -> tuple[float, int]:
    """Run one side; return its CPU seconds and its peak memory in MB."""
    with tempfile.TemporaryDirectory(dir=raw.parent) as scratch:
        out = Path(scratch, "out")
        out.mkdir()
        environment = os.environ | {"HF_HOME": f"{scratch}/cache", "HF_HUB_OFFLINE": "1"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", script, str(raw), str(out)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, int(done.stdout.rsplit("peak", 1)[1])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--map", action="store_true", help="also let datasets map the rows to verl's")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    arguments = parser.parse_args()
    sides = {"rewardkit": OURS, "datasets, as it is": CONVERT}
    if arguments.map:
        sides["datasets, mapped"] = MAPPED
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        raw = Path(scratch, "rows.jsonl")
        make(raw, arguments.rows)
        print(f"{arguments.rows:,} rows, {raw.stat().st_size / 1e6:,.0f} MB")
        results: dict[str, list[tuple[float, int]]] = {side: [] for side in sides}
        for _ in range(arguments.runs):
            for side, script in sides.items():
                results[side].append(measure(script, raw))
    base = statistics.median(cpu for cpu, _ in results["datasets, as it is"])
    for side, runs in results.items():
        cpu = statistics.median(seconds for seconds, _ in runs)
        print(f"{side:<20} CPU {cpu:7.1f} s   {cpu / base:.2f}x   peak {max(mb for _, mb in runs):,} MB")


if __name__ == "__main__":
    main()
