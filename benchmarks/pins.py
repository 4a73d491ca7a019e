"""Maths responses to pin verdicts on, for `rewardkit diff --pin`: labelled cases, MATH's answers in forms.

python benchmarks/pins.py --cases cases.jsonl --math test.jsonl --out mix.jsonl [--limit 1500]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from rewardkit.rewards.math.reading.extraction import extract


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--math", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=1_500, help="problems of MATH")
    args = parser.parse_args()
    rows = [*_cases(args.cases), *_math(args.math, args.limit)]
    lines = (json.dumps({"data_source": "math", "response": r, "ground_truth": t}) + "\n" for r, t in rows)
    args.out.write_text("".join(lines))
    print(len(rows), "responses")


def _cases(path: Path) -> Iterator[tuple[str, str]]:
    for case in map(json.loads, path.read_text().splitlines()):
        said = case["pred"]
        yield (f"So it is $\\boxed{{{said}}}$." if case["kind"] == "answer" else said), case["gold"]


def _math(path: Path, limit: int) -> Iterator[tuple[str, str]]:
    for row in map(json.loads, path.read_text().splitlines()[:limit]):
        answer = row.get("answer") or extract(row["solution"]).answer
        if answer:
            yield row["solution"], answer
            yield f"The final answer is ${answer}$. I hope it is correct.", answer
            yield f"#### {answer}", answer


if __name__ == "__main__":
    main()
