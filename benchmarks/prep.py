"""Measures the time of `rewardkit prep gsm8k`, compared with the usual way with `datasets`.

    python benchmarks/prep.py --raw GSM8K_FOLDER [--peer-python PYTHON_WITH_DATASETS] [--runs 5]

Each run is a new process, including the start of the interpreter, and writes to a new folder. The peer does
the same as GSM8K's preparation in RL trainers: it loads the jsonl, maps each split to rows, and calls
`to_parquet`; it neither checks rows, nor verifies solutions, nor writes atomically.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = "import sys; from rewardkit.cli import main; main()"

PEER = """
import re, sys, datasets
raw, out = sys.argv[1:]
instruction = "Think step by step and put the final number after ####."
data = datasets.load_dataset("json", data_files={s: f"{raw}/{s}.jsonl" for s in ("train", "test")})

def to_row(split):
    def convert(example, index):
        question, answer = example.pop("question"), example.pop("answer")
        gold = re.search(r"#### (-?[0-9.,]+)", answer).group(1).replace(",", "")
        return {
            "data_source": "openai/gsm8k",
            "prompt": [{"role": "user", "content": f"{question} {instruction}"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": gold},
            "extra_info": {"split": split, "index": index, "answer": answer, "question": question},
        }
    return convert

for split in ("train", "test"):
    data[split].map(to_row(split), with_indices=True).to_parquet(f"{out}/{split}.parquet")
"""


def measure(command: list[str], out: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Run a command once; return its wall and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (out / "train.parquet").exists()
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digest(folder: Path) -> str:
    """Return one hash of all files in a folder."""
    content = b"".join(path.name.encode() + path.read_bytes() for path in sorted(folder.glob("*.parquet")))
    return hashlib.sha256(content).hexdigest()[:12]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--raw", type=Path, required=True, help="folder with train.jsonl and test.jsonl")
    parser.add_argument("--peer-python", help="a Python that has the package datasets; without it, only ours")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    raw = str(arguments.raw.resolve())
    results: dict[str, list[tuple[float, float]]] = {}
    digests: dict[str, set[str]] = {}
    for run in range(arguments.runs):
        with tempfile.TemporaryDirectory() as scratch:
            # A separate cache for each run; otherwise the peer would reuse the rows of the previous run.
            environment = os.environ | {"HF_HOME": f"{scratch}/cache", "HF_HUB_OFFLINE": "1"}
            commands = {"rewardkit": [sys.executable, "-c", OURS, "prep", "gsm8k", "--raw", raw, "--out"]}
            if arguments.peer_python:
                commands["datasets"] = [arguments.peer_python, "-c", PEER, raw]
            for name, command in commands.items():
                out = Path(scratch, name)
                out.mkdir()
                results.setdefault(name, []).append(measure([*command, str(out)], out, environment))
                digests.setdefault(name, set()).add(digest(out))
        print(f"run {run + 1} of {arguments.runs} done", file=sys.stderr)
    for name, times in results.items():
        wall = statistics.median(t[0] for t in times)
        cpu = statistics.median(t[1] for t in times)
        same = "identical bytes" if len(digests[name]) == 1 else f"{len(digests[name])} different outputs"
        print(f"{name:<10} wall {wall:.2f} s   CPU {cpu:.2f} s   (median of {len(times)}; {same})")


if __name__ == "__main__":
    main()
