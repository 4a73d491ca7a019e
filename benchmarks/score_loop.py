"""The naive loop with which `benchmarks/score.py` compares `rewardkit score`: a function in the form of
verl's `compute_score(solution_str, ground_truth)`, called for each row. The result is one column without a
status.

    python benchmarks/score_loop.py verl/utils/reward_score/gsm8k.py responses.parquet scored.parquet
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

Call = Callable[[str, str], float]


def main() -> None:
    function, source, out = map(Path, sys.argv[1:])
    call = load(function)
    if source.suffix == ".parquet":
        score_frame(call, source, out)
    else:
        score_lines(call, source, out)


def score_frame(call: Call, source: Path, out: Path) -> None:
    """Score a parquet file with pandas."""
    import pandas as pd

    frame = pd.read_parquet(source)
    rows = zip(frame["response"], frame["reward_model"], strict=True)
    frame["score"] = [float(call(response, truth["ground_truth"])) for response, truth in rows]
    frame.to_parquet(out)


def score_lines(call: Call, source: Path, out: Path) -> None:
    """Score a file of JSON objects, one per line, in constant memory."""
    with source.open() as lines, out.open("w") as written:
        for line in lines:
            row = json.loads(line)
            row["score"] = float(call(row["response"], row["reward_model"]["ground_truth"]))
            written.write(json.dumps(row) + "\n")


def load(path: Path) -> Call:
    """Return the function `compute_score` of a file."""
    spec = importlib.util.spec_from_file_location("peer", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Call = module.compute_score
    return found


if __name__ == "__main__":
    main()
