"""Scores each row's own reference solution: a row whose solution does not score 1.0 cannot be learned.

Reads the published file rather than what was meant to be written. Chooses no reward: the registry does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rewardkit.registry import REGISTRY
from rewardkit.scorer import Scorer
from rewardkit.types import Sample, Score

_COLUMNS = ["data_source", "ground_truth", "extra_info"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A row whose reference solution does not score 1.0."""

    row: int
    """In the file, counted from 1."""
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


def is_cheap(path: Path) -> bool:
    """Return whether the reward of a prepared file's rows is cheap enough to verify by default.

    Raises:
        UnknownDataSourceError: no reward is registered for its rows.
    """
    with pq.ParquetFile(path) as file:
        first = next(file.iter_batches(batch_size=1, columns=["data_source"]))
    return REGISTRY.resolve(first["data_source"][0].as_py()).verify


def verify_file(path: Path, scorer: Scorer, progress: Callable[[int], None] | None = None) -> Verification:
    """Score the reference solution (`extra_info.answer`) of every row of a prepared file that has one.

    `progress` is called with the rows done so far.
    """
    seen = scored = 0
    failures: list[Failure] = []
    for records in _batches(path):
        solved = [(n, r) for n, r in enumerate(records, start=seen + 1) if r["extra_info"]["answer"]]
        scores = scorer.score_batch([_sample(record) for _, record in solved])
        for (number, record), score in zip(solved, scores, strict=True):
            if not (score.ok and score.score == 1.0):
                failures.append(Failure(number, record["extra_info"]["question"][:80], _why(score)))
        seen += len(records)
        scored += len(solved)
        if progress is not None:
            progress(seen)
    return Verification(scored, tuple(failures), seen - scored)


def _batches(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The rows, never more than a row group at once, as the writer bounds those by their size."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(batch_size=1024, row_groups=[group], columns=_COLUMNS):
                yield batch.to_pylist()


def _sample(record: dict[str, Any]) -> Sample:
    data_source, ground_truth = str(record["data_source"]), str(record["ground_truth"])
    return Sample(data_source, record["extra_info"]["answer"], ground_truth, extra_info=record["extra_info"])


def _why(score: Score) -> str:
    verdict = f"score {score.score:g}" if score.ok else score.status
    read = f", read as {score.extracted!r}" if score.extracted is not None else ""
    return f"{verdict}{read}: {score.detail}" if score.detail else f"{verdict}{read}"
