"""The logs of other tools, made by the tools themselves, scored with no more than their names.

    python benchmarks/real_logs.py --peer PYTHON [--inspect PYTHON] [--model FOLDER] [--rows 1000]

PYTHON has verl, lm-eval, TRL (and vLLM, where a MODEL is given for `vllm run-batch`). inspect-ai wants newer
libraries than those, so it may have its own Python; here it is needed as well, to read its log. Prints for
each log how many rows were recognised and scored.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from rewardkit.offline import ReadOptions, read_join, score_file
from rewardkit.scoring.scorer import Scorer

PRODUCERS = Path(__file__).with_name("log_producers.py")
FILES = {
    "verl": "*.jsonl",
    "lm_eval": "**/samples_*.jsonl",
    "trl": "completions/*.parquet",
    "inspect": "*.eval",
    "batch": "out.jsonl",
}


def main() -> None:
    """Make each log, score it, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peer", default="python")
    parser.add_argument("--inspect")
    parser.add_argument("--model")
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--only", choices=FILES)
    args = parser.parse_args()
    for kind in [args.only] if args.only else FILES:
        if kind == "batch" and args.model is None:
            continue
        python = args.inspect or args.peer if kind == "inspect" else args.peer
        with tempfile.TemporaryDirectory() as folder:
            more = [args.model] if kind == "batch" else []
            made = [python, PRODUCERS, kind, folder, str(args.rows), *more]
            subprocess.run(list(map(str, made)), check=True, capture_output=True)
            print(kind, _scored(kind, Path(folder), args.rows))


def _scored(kind: str, folder: Path, rows: int) -> str:
    (log,) = folder.glob(FILES[kind])
    join = None
    if kind == "batch":
        questions = folder / "questions.jsonl"
        lines = (json.dumps({"id": f"q{i}", "answer": str(i + 7 * i % 100)}) for i in range(rows // 2))
        questions.write_text("\n".join(lines))
        join = read_join([questions], "custom_id=id")
    said: list[str] = []
    with Scorer() as scorer:
        options = ReadOptions(data_source="gsm8k", join=join)
        report = score_file(
            log, folder / "out.scored.jsonl", scorer=scorer, options=options, on_note=said.append
        )
    (found,) = report.sources.values()
    kind_said = said[0].partition(": ")[2]
    return f"({kind_said}): {found.n} responses, {found.scored} scored, accuracy {found.accuracy}"


if __name__ == "__main__":
    main()
