"""`rewardkit prep custom --dedup` on many rows: time, peak memory, and how many planted repeats are found.

Word problems in the words of GSM8K with other numbers and names; one row in ten repeats an earlier one in
other case and spacing, one in ten with two words changed, one in ten with another number (another problem).

    python benchmarks/dedup.py [--rows 1000000] [--raw ../shared/data/gsm8k/train.jsonl]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

NUMBER = re.compile(r"\d+")
NAME = re.compile(r"\b[A-Z][a-z]{3,}\b")


def fresh(question: str, rng: random.Random) -> str:
    """Return a question with other numbers and one other name."""
    changed = NUMBER.sub(lambda _: str(rng.randint(2, 99_999)), question)
    return NAME.sub(f"N{rng.randrange(10**6)}", changed, count=1)


def write_rows(path: Path, raw: Path, count: int, seed: int) -> list[str]:
    """Write rows as jsonl; return for each what it is: fresh, same, near or number."""
    rng = random.Random(seed)
    questions = [json.loads(line)["question"] for line in raw.read_text().splitlines()]
    questions = [q for q in questions if len(q.split()) > 20 and NUMBER.search(q)]
    kinds: list[str] = []
    kept: list[tuple[str, str]] = []
    with open(path, "w") as file:
        for number in range(count):
            kind = rng.choice(("same", "near", "number")) if kept and rng.random() < 0.3 else "fresh"
            if kind == "fresh":
                question, answer = fresh(rng.choice(questions), rng), str(rng.randint(1, 10**6))
                if len(kept) < 50_000:
                    kept.append((question, answer))
            else:
                question, answer = rng.choice(kept)
                question = repeat(question, kind, rng)
            kinds.append(kind)
            file.write(json.dumps({"question": question, "answer": answer, "id": number}) + "\n")
    return kinds


def repeat(question: str, kind: str, rng: random.Random) -> str:
    """Return a question again: in other case and spacing, with two other words, or with another number."""
    if kind == "same":
        return "  ".join(question.upper().split()) + " "
    if kind == "number":
        return NUMBER.sub(lambda m: str(rng.randint(100_000, 10**9)), question, count=1)
    words = question.split()
    places = [i for i, word in enumerate(words) if word.isalpha()]
    for place in rng.sample(places, 2):
        words[place] = "quite"
    return " ".join(words)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--raw", type=Path, default=Path("../shared/data/gsm8k/train.jsonl"))
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = write_rows(folder / "train.jsonl", asked.raw, asked.rows, asked.seed)
        words = ["prep", "custom", "--raw", str(folder / "train.jsonl"), "--data-source", "dedup/words"]
        words += ["--reward", "gsm8k", "--prompt-key", "question", "--answer-key", "answer", "--no-verify"]
        begun = time.perf_counter()
        made = subprocess.run(
            [sys.executable, "-m", "rewardkit", *words, "--dedup", "--out", str(folder / "out")],
            env={**os.environ},
            check=True,
            capture_output=True,
            text=True,
        )
        wall_s = time.perf_counter() - begun
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(folder / "out" / "dropped.jsonl", "rb") as listed:
            dropped = [json.loads(line) for line in listed]
    print(made.stdout)
    print(
        f"{asked.rows:,} rows: {wall_s:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of CPU, "
        f"peak {usage.ru_maxrss / 1024:,.0f} MiB"
    )
    found = Counter(kinds[row["index"]] for row in dropped)
    for kind, count in sorted(Counter(kinds).items()):
        print(f"{kind}: {found[kind]:,} of {count:,} left out")


if __name__ == "__main__":
    main()
