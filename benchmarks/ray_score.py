"""A million GSM8K responses in 16 files with `--engine ray`, a process killed half way, beside a local run.

    python benchmarks/ray_score.py [--raw grade-school-math/data] [--rows 1000000] [--files 16]

Prints the wall time of both and whether the outputs have the same bytes: a folder of files, and one file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from score import write_responses

from rewardkit import Scorer
from rewardkit.offline import score_file
from rewardkit.offline.on_ray import RaySettings, RayWorkers


def main() -> None:
    """Make the files, score them on both, and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=16)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write(folder / "in", args.rows, args.files, args.raw)
        found = {target: _both(folder, target, args.rows) for target in ("files", "one.parquet")}
    print(json.dumps(found, indent=2))


def _write(folder: Path, rows: int, files: int, raw: Path | None) -> None:
    folder.mkdir()
    write_responses(folder.parent / "all.parquet", rows, raw)
    table = pq.read_table(folder.parent / "all.parquet")
    each = rows // files
    for i in range(files):
        pq.write_table(table.slice(i * each, each), folder / f"{i:02d}.parquet")


def _both(folder: Path, target: str, rows: int) -> dict[str, object]:
    killed: list[int] = []
    with Scorer() as scorer:
        start = time.monotonic()
        score_file(folder / "in", folder / f"local.{target}", scorer=scorer)
        local_s = time.monotonic() - start
        start = time.monotonic()
        with RayWorkers(RaySettings(num_cpus=2), scorer) as workers:
            up_s = time.monotonic() - start
            done_before = [0, 0]

            def on_progress(done: int, total: int | None) -> None:
                done_before[0] += max(0, done - done_before[1])
                done_before[1] = done
                if done_before[0] > rows // 2 and not killed:
                    killed.append(done_before[0])
                    _kill_one()

            score_file(
                folder / "in",
                folder / f"ray.{target}",
                scorer=scorer,
                workers=workers,
                on_progress=on_progress,
            )
            ray_s = time.monotonic() - start - up_s
    same = _content(folder / f"local.{target}") == _content(folder / f"ray.{target}")
    return {
        "local_s": round(local_s, 1),
        "ray_start_s": round(up_s, 1),
        "ray_s": round(ray_s, 1),
        "process_killed_after_rows": killed,
        "same_bytes": same,
    }


def _kill_one() -> None:
    scoring = (
        one for one in psutil.process_iter(["cmdline"]) if "ray::_score" in (one.info["cmdline"] or ())
    )
    next(scoring).kill()


def _content(path: Path) -> list[bytes]:
    return [p.read_bytes() for p in sorted(path.rglob("*"))] if path.is_dir() else [path.read_bytes()]


if __name__ == "__main__":
    main()
