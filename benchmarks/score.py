"""`rewardkit score` on a million GSM8K responses, compared with a naive loop: CPU and elapsed time, memory,
and a kill in the middle.

    python benchmarks/score.py --raw grade-school-math/data [--verl verl/utils/reward_score/gsm8k.py]

Without --raw, the rows come from our own generator. With --verl, the file of that name from an installed verl
is timed on the same rows in the same run, alternately: its function and our Scorer, and the loop over it in
`score_loop.py` and our command, for parquet and for jsonl. The time of our command's steps is measured for
one chunk in one process, and that of starting its processes separately.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import score_loop

from rewardkit import Sample, Scorer
from rewardkit.datasets_prep.arithmetic import problems
from rewardkit.files.inputs import find_inputs
from rewardkit.logs.reader import PLAIN, opened
from rewardkit.logs.samples import to_batch
from rewardkit.offline.chunk import Output, finish
from rewardkit.offline.columns import score_fields
from rewardkit.offline.inline import ChunkScorer, FileSetup
from rewardkit.offline.writing import LinesWriter, ParquetWriter


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw", type=Path, help="folder with GSM8K's train.jsonl")
    parser.add_argument("--verl", type=Path, help="verl's reward_score/gsm8k.py, to be timed beside ours")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3, help="of each command; the least CPU counts")
    arguments = parser.parse_args()
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "responses.parquet"
        write_responses(file, arguments.rows, arguments.raw)
        figures |= time_scoring(file, arguments.verl)
        part = file.with_name("part.parquet")
        write_responses(part, 50_000, arguments.raw)
        figures |= time_starts(Path(scratch))
        write_lines(file)
        write_lines(part)
        for suffix in (".parquet", ".jsonl"):
            figures |= time_steps(part.with_suffix(suffix))
            figures |= time_commands(file.with_suffix(suffix), arguments.verl, arguments.runs)
        figures["cores"] = len(os.sched_getaffinity(0))
        figures |= kill_and_resume(file)
    print(json.dumps(figures, indent=2))


def write_responses(path: Path, rows: int, raw: Path | None) -> None:
    """Write responses: 60 % right as in the reference, 30 % wrong, 10 % without a marker."""
    solutions = list(_solutions(raw))
    rng = random.Random(0)
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for start in range(0, rows, 50_000):
            chosen = [rng.choice(solutions) for _ in range(min(50_000, rows - start))]
            writer.write_table(
                pa.table(
                    {
                        "data_source": ["openai/gsm8k"] * len(chosen),
                        "response": [_spoiled(answer, rng.random()) for answer, _ in chosen],
                        "reward_model": [{"style": "rule", "ground_truth": gold} for _, gold in chosen],
                    },
                    SCHEMA,
                )
            )


def write_lines(path: Path) -> None:
    """Write the same rows as jsonl."""
    with path.with_suffix(".jsonl").open("w") as file:
        for batch in pq.ParquetFile(path).iter_batches():
            file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


SCHEMA = pa.schema(
    {
        "data_source": pa.string(),
        "response": pa.string(),
        "reward_model": pa.struct({"style": pa.string(), "ground_truth": pa.string()}),
    }
)


def _solutions(raw: Path | None) -> Iterator[tuple[str, str]]:
    if raw is None:
        for problem, _ in islice(problems("medium", "train", 0), 5_000):
            yield problem.solution, problem.answer
        return
    for line in (raw / "train.jsonl").open():
        answer = json.loads(line)["answer"]
        yield answer, answer.rpartition("####")[2].strip().replace(",", "")


def _spoiled(answer: str, chance: float) -> str:
    if chance < 0.3:
        return answer + "1"
    return answer.partition("####")[0] if chance < 0.4 else answer


def time_scoring(file: Path, verl: Path | None) -> dict[str, object]:
    """Return the rows per CPU second of `Scorer.score_batch` and verl's bare function, run alternately."""
    rows = pq.read_table(file).slice(0, 100_000).to_pylist()
    samples = [Sample(r["data_source"], r["response"], r["reward_model"]["ground_truth"]) for r in rows]
    scorer = Scorer()
    contenders: dict[str, Callable[[], object]] = {"rewardkit Scorer": lambda: scorer.score_batch(samples)}
    if verl is not None:
        theirs = score_loop.load(verl)
        contenders["verl bare function"] = lambda: [theirs(s.response, s.ground_truth) for s in samples]
    best = _least_cpu(contenders, 7)
    return {f"{name}, rows per CPU-second": round(len(samples) / t) for name, t in best.items()}


def time_steps(file: Path) -> dict[str, object]:
    """Return the CPU time of each step of a chunk in one process, in microseconds per row."""
    (source,) = find_inputs([file])
    with opened(source, PLAIN) as (rows, layout), Scorer() as scorer:
        records = next(rows.chunks())
        batch = to_batch(records, layout, ())
        name = batch.samples[0].data_source
        rewards = {name: (scorer.reward_for(name), scorer.options_for(name))}
        output = Output(as_lines=not records.table)
        chunks = ChunkScorer(FileSetup(layout, (), rewards, output), killable=False)
        scores = chunks.scores(batch.samples)
        assert scores is not None
        result = finish(batch, scores, layout, output)

        def write() -> None:
            if records.table is None:
                LinesWriter(io.BytesIO(), "").write(records, result)
                return
            fields = score_fields("", rewards[name][0].parts, many=False)
            writer = ParquetWriter(io.BytesIO(), records.table.schema, (), fields, "", b"")
            writer.write(records, result)
            writer.close()

        steps: dict[str, Callable[[], object]] = {
            "read": lambda: deque(rows.chunks(), maxlen=0),
            "make samples": lambda: to_batch(records, layout, ()),
            "score": lambda: chunks.scores(batch.samples),
            "make columns or ends of lines, and totals": lambda: finish(batch, scores, layout, output),
            "write": write,
        }
        best = _least_cpu(steps, 9)
        best["read"] *= records.count / sum(one.count for one in rows.chunks())
    key = f"steps of a chunk, {file.suffix[1:]}: microseconds a row"
    return {key: {step: round(1e6 * s / records.count, 2) for step, s in best.items()}}


def _least_cpu(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least CPU seconds of each contender in this many alternating rounds."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, contender in contenders.items():
            started = time.process_time()
            contender()
            best[name] = min(best[name], time.process_time() - started)
    return best


def time_starts(scratch: Path) -> dict[str, object]:
    """Return the CPU time of the command on one row, and of the imports of each worker of a large file."""
    line = scratch / "one.jsonl"
    line.write_text(json.dumps({"data_source": "gsm8k", "response": "#### 7", "ground_truth": "7"}) + "\n")
    imports = "import rewardkit.scoring.worker, rewardkit.offline.file_workers, rewardkit.rewards.gsm8k"
    commands = {
        "start of the command": [*_command(line, scratch / "one.out.jsonl"), "--force"],
        "start of a worker": [sys.executable, "-c", imports],
    }
    least = {name: min(_measured(command)[0] for _ in range(3)) for name, command in commands.items()}
    return {f"{name}: CPU s": round(seconds, 2) for name, seconds in least.items()}


def time_commands(file: Path, verl: Path | None, runs: int) -> dict[str, object]:
    """Return CPU and elapsed time of the whole command, and the peak memory of its processes together."""
    kind = file.suffix[1:]
    commands = {f"rewardkit score, {kind}": [*_command(file, file.with_name(f"out.{kind}")), "--force"]}
    if verl is not None:
        loop = [
            sys.executable,
            score_loop.__file__,
            str(verl),
            str(file),
            str(file.with_name(f"loop.{kind}")),
        ]
        commands[f"loop, {kind}"] = loop
    figures: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            figures[name].append(_measured(command))
    return {
        f"{name}: CPU s, wall s, peak MiB of all processes": [round(one, 1) for one in min(found)]
        for name, found in figures.items()
    }


def _measured(command: list[str]) -> tuple[float, float, int]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _memory_of(process.pid))
        time.sleep(0.05)
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu, wall, peak >> 20


def kill_and_resume(file: Path) -> dict[str, object]:
    """Kill the command half-way, resume it, and compare with the uninterrupted run."""
    out = file.with_name("killed.parquet")
    progress = out.with_name(f".{out.name}.progress")
    chunks = -(-pq.read_metadata(file).num_rows // 8_192)
    process = subprocess.Popen(_command(file, out), stdout=subprocess.DEVNULL)
    while len(list(progress.glob("*.msgpack"))) < chunks // 2:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(list(progress.glob("*.msgpack")))
    subprocess.run([*_command(file, out), "--resume"], check=True, stdout=subprocess.DEVNULL)
    same = out.read_bytes() == file.with_name("out.parquet").read_bytes()
    return {"killed with chunks done": f"{kept} of {chunks}", "resumed to the same bytes": same}


def _command(file: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "rewardkit", "score", str(file), "--out", str(out)]


def _memory_of(pid: int) -> int:
    """Return the proportional set size of a process and its children, in bytes."""
    total = 0
    try:
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            total += process.memory_full_info().pss
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        pass
    return total


if __name__ == "__main__":
    main()
