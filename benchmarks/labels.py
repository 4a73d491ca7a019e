"""How many of the most suspicious ground truths are wrong, where we know which are.

Takes GSM8K, changes 200 ground truths as graders do not forgive (another number; the worked solution is taken
away), writes responses that are right with a known accuracy, and asks `rewardkit labels`.

    python benchmarks/labels.py [--raw FOLDER] [--accuracy 0.6] [--responses 8] [--sticky 0.5]

`sticky` is the share of wrong responses to a question that make the same mistake.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

from rewardkit.labels.rows import add_responses, read_labelled
from rewardkit.labels.run import find_suspicions
from rewardkit.offline import ReadOptions
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer

CORRUPTED = 200


def other_number(text: str, rng: random.Random) -> str:
    """Return a number near this one that is not equal to it."""
    value = int(float(text.replace(",", "")))
    choices = {
        value + 1,
        value - 1,
        value + 10,
        value * 2,
        value * 10,
        -value,
        value // 2,
        int(str(abs(value))[::-1]),
    }
    return str(rng.choice(sorted(choices - {value})))


def write_files(
    folder: Path, raw: Path, split: str, accuracy: float, count: int, sticky: float, seed: int
) -> set[int]:
    """Write the rows with their corrupted ground truths, and the responses; return which are corrupted."""
    rng = random.Random(seed)
    rows = [json.loads(line) for line in (raw / f"{split}.jsonl").read_text().splitlines()]
    corrupted = set(rng.sample(range(len(rows)), CORRUPTED))
    with open(folder / "rows.jsonl", "w") as kept, open(folder / "responses.jsonl", "w") as made:
        for number, row in enumerate(rows):
            right = row["answer"].rpartition("####")[2].strip()
            truth = other_number(right, rng) if number in corrupted else right
            mistake = other_number(right, rng)
            record = {"data_source": "openai/gsm8k", "prompt": row["question"], "ground_truth": truth}
            kept.write(json.dumps(record) + "\n")
            for _ in range(count):
                wrong = mistake if rng.random() < sticky else other_number(right, rng)
                said = right if rng.random() < accuracy else wrong
                response = f"Step by step, it comes to {said}.\n#### {said}"
                made.write(json.dumps({**record, "response": response}) + "\n")
    return corrupted


def main() -> None:
    """Print the share of corrupted rows among the first 200."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raw", type=Path, default=Path("../shared/data/gsm8k"))
    parser.add_argument("--split", default="test")
    parser.add_argument("--accuracy", type=float, default=0.6)
    parser.add_argument("--responses", type=int, default=8)
    parser.add_argument("--sticky", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Scorer() as scorer:
        folder = Path(name)
        corrupted = write_files(
            folder, asked.raw, asked.split, asked.accuracy, asked.responses, asked.sticky, asked.seed
        )
        rows = read_labelled(folder / "rows.jsonl", RowNames(), None)
        given, _ = add_responses(rows, [str(folder / "responses.jsonl")], ReadOptions())
        found = find_suspicions(rows, scorer, most=CORRUPTED)
    hits = sum(one.row.item.row in corrupted for one in found[:CORRUPTED])
    graders = sorted({vote.grader for one in found for vote in one.votes})
    print(f"{len(rows):,} rows, {given:,} responses, graders: {', '.join(graders)}")
    print(f"corrupted among the {CORRUPTED} most suspicious: {hits / CORRUPTED:.1%}")


if __name__ == "__main__":
    main()
