"""Scores each row's own reference solution: a row whose solution is not right cannot be learned.

Reads the published file rather than what was meant to be written. Chooses no reward: the registry does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from rewardkit.registry import REGISTRY
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score

_COLUMNS = ["data_source", "ground_truth", "extra_info"]
_QUICK_S = 60.0
_ROW_S = {"inline": 1e-4, "process": 1e-3, "sandbox": 0.05, "model": 1.0}
"""Seconds that scoring a solution takes at most, about, by the place where its reward runs."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A row whose reference solution is not scored as right."""

    row: int
    """In the file, counted from 0."""
    question: str
    """Its beginning."""
    why: str

    def as_dict(self) -> dict[str, object]:
        """Return the fields as JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of verifying one file."""

    rows: int
    """Rows whose solution was scored."""
    failures: tuple[Failure, ...]
    without_solution: int = 0
    """Rows whose set publishes no solution: there is nothing to score."""


def is_quick(parts: Sequence[Path]) -> bool:
    """Return whether the solutions of a prepared split can be expected to be scored in under a minute.

    The same files give the same answer on every machine.

    Raises:
        UnknownDataSourceError: no reward is registered for some of its rows.
    """
    return sum(map(_seconds, parts)) < _QUICK_S


def _seconds(path: Path) -> float:
    """What scoring the solutions of a file takes at most, if all rows took as long as the slowest."""
    found: set[str] = set()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(columns=["data_source"]):
            found.update(pc.unique(batch["data_source"]).to_pylist())
        places = (REGISTRY.resolve(source).runs for source in found)
        return float(file.metadata.num_rows * max(_ROW_S[place] for place in places))


def verify_file(path: Path, scorer: Scorer, progress: Callable[[int], None] | None = None) -> Verification:
    """Score the reference solution (`extra_info.answer`) of every row of a prepared file that has one.

    `progress` is called with the rows done so far.
    """
    seen = scored = 0
    failures: list[Failure] = []
    for records in _batches(path):
        count, failed = verify_records(records, scorer)
        failures += [
            Failure(seen + row, records[row]["extra_info"]["question"][:80], why)
            for row, why in failed.items()
        ]
        seen += len(records)
        scored += count
        if progress is not None:
            progress(seen)
    return Verification(scored, tuple(failures), seen - scored)


def sum_up(parts: Sequence[Verification]) -> Verification:
    """Return what came of the parts of one split, its rows counted through."""
    before = 0
    failures: list[Failure] = []
    for part in parts:
        failures += [replace(failure, row=before + failure.row) for failure in part.failures]
        before += part.rows + part.without_solution
    without = sum(part.without_solution for part in parts)
    return Verification(before - without, tuple(failures), without)


def verify_records(records: Sequence[dict[str, Any]], scorer: Scorer) -> tuple[int, dict[int, str]]:
    """Return how many of some rows have a solution, and of those that are not scored as right, why."""
    solved = [row for row, record in enumerate(records) if record["extra_info"]["answer"]]
    scores = scorer.score_batch([_sample(records[row]) for row in solved])
    failed = {row: _why(score) for row, score in zip(solved, scores, strict=True) if not is_right(score)}
    return len(solved), failed


def _batches(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The rows, never more than a row group at once, as the writer bounds those by their size."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(batch_size=1024, row_groups=[group], columns=_COLUMNS):
                yield batch.to_pylist()


def _sample(record: dict[str, Any]) -> Sample:
    data_source = str(record["data_source"])
    ground_truth = str(record["ground_truth"])
    return Sample(data_source, record["extra_info"]["answer"], ground_truth, extra_info=record["extra_info"])


def is_right(score: Score) -> bool:
    """Return whether a solution is scored as right.

    A composition may pay a right one more or less than 1.0, but says whether it is right.
    """
    return score.ok and (score.score == 1.0 if score.correct is None else score.correct)


def _why(score: Score) -> str:
    verdict = f"score {score.score:g}" if score.ok else score.status
    read = f", read as {score.extracted!r}" if score.extracted is not None else ""
    return f"{verdict}{read}: {score.detail}" if score.detail else f"{verdict}{read}"
