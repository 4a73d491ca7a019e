"""The whole command `rewardkit eval` beside verl's `main_eval`, on the same parquet of GSM8K responses.

    python benchmarks/eval_peer.py --peer PYTHON [--rows 100000] [--peer-rows 10000] [--rounds 1]

PYTHON has verl and Ray. verl's program starts a task of Ray for each row and, after each, waits on all that
are left, so it may be given fewer rows; nothing is reckoned up from those. Both have all cores; wall time of
the whole command, in turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from score import write_responses


def main() -> None:
    """Time both and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--peer-rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        ours, theirs = folder / "ours.parquet", folder / "theirs.parquet"
        _write(ours, args.rows)
        _write(theirs, args.peer_rows)
        for _ in range(args.rounds):
            mine_s, mine = _timed([sys.executable, "-m", "rewardkit", "eval", str(ours), "--force", "--json"])
            peer_s, said = _timed(_verl(args.peer, theirs))
            score = json.loads(mine)["data_sources"]["openai/gsm8k"]["score"]["mean"]
            print(
                f"rewardkit eval: {args.rows} rows in {mine_s:.1f} s (mean score {score:.4f}); "
                f"main_eval: {args.peer_rows} rows in {peer_s:.1f} s ({said.strip().splitlines()[-1]}); "
                f"{peer_s / mine_s:.1f} times as long"
            )


def _write(path: Path, rows: int) -> None:
    write_responses(path, rows, None)
    table = pq.read_table(path)
    lists = pa.array([[response] for response in table["response"].to_pylist()])
    prompts = pa.array([f"problem {i}" for i in range(rows)])
    table = table.drop_columns(["response"]).append_column("responses", lists)
    pq.write_table(table.append_column("prompt", prompts), path)


def _verl(python: str, path: Path) -> list[str]:
    """Its program, with its own GSM8K reward; it reads the function where its yaml does not have it."""
    where = "import verl.utils.reward_score.gsm8k as m; print(m.__file__)"
    file = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
    function = path.with_name("peer_reward.py")
    function.write_text(
        f"import importlib.util as u\ns = u.spec_from_file_location('g', {file.splitlines()[-1]!r})\n"
        "g = u.module_from_spec(s)\ns.loader.exec_module(g)\n"
        "def compute_score(data_source, solution, truth):\n    return g.compute_score(solution, truth)\n"
    )
    key = "+reward.custom_reward_function"
    named = [f"{key}.path={function}", f"{key}.name=compute_score"]
    return [python, "-m", "verl.trainer.main_eval", f"data.path={path}", *named]


def _timed(command: list[str]) -> tuple[float, str]:
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return time.monotonic() - start, done.stdout


if __name__ == "__main__":
    main()
