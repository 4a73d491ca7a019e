"""The files of an evaluation: which have our scores already, and whether a result has all of their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.errors import InputError
from rewardkit.evaluation.scored import Groups, is_scored, read_rows
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import Input, find_inputs
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import read_samples
from rewardkit.offline.report import Report

UNNAMED = "unnamed"
"""The data source of rows that name none, in figures."""


@dataclass(frozen=True, slots=True)
class EvaluatedPart:
    """A file, or a folder whose names say something of every row (`data_source=gsm8k/`)."""

    word: str
    scored: bool
    """It has our scores, which are read; else it is scored first."""


def parts_of(words: Sequence[str], options: ReadOptions, prefix: str) -> list[EvaluatedPart]:
    """Return the parts of an evaluation in order.

    Raises:
        InputError: a file does not exist or cannot be read, or in a folder whose names say something of its
            rows only some files have scores.
    """
    found: dict[str, bool] = {}
    for word in words:
        inputs = find_inputs([word])
        flags = {one.path: is_scored([one.path], options, prefix) for one in inputs}
        if not any(one.keys for one in inputs):
            found |= flags
        elif len(set(flags.values())) == 1:
            found[word] = next(iter(flags.values()))
        else:
            first = next(path for path, scored in flags.items() if not scored)
            raise InputError(
                f"{word} contains files with scores, and {first} without; evaluate the two kinds separately"
            )
    return [EvaluatedPart(word, scored) for word, scored in found.items()]


def lost_rows(
    groups: Groups,
    read: Sequence[str],
    made: Sequence[str],
    report: Report,
    options: ReadOptions,
    prefix: str,
) -> list[str]:
    """Return a line for each file or data source of which rows are missing from a result.

    Args:
        groups: the result.
        read: files that had scores.
        made: outputs of scoring, which have the rows of `report`.
    """
    found = {source: sum(map(len, prompts.values())) for source, prompts in groups.items()}
    made_rows = {name or UNNAMED: source.n for name, source in report.sources.items()}
    files = _inputs(read)
    there = sum(_rows_in(one) for same in files.values() for one in same)
    if sum(found.values()) == there + sum(made_rows.values()) and all(
        found.get(name, 0) >= n for name, n in made_rows.items()
    ):
        return []
    lines = [line for path, same in files.items() if (line := _lost_of_file(path, same, options, prefix))]
    if made_rows:
        back = Counter(str(row.get("data_source") or UNNAMED) for row in read_rows(made, options, prefix))
        lines += [
            f"{name}: {n - back[name]:,} of {n:,} scored responses are missing from the result"
            for name, n in made_rows.items()
            if back[name] < n
        ]
    return lines


def dropped_sources(words: Sequence[str], options: ReadOptions, report: Report) -> list[str]:
    """Return a line for each data source of which every row was dropped as unusable."""
    if not report.bad_count or not words:
        return []
    asked = Counter(sample.data_source for batch in read_samples(words, options) for sample in batch.samples)
    return [
        f"{name or UNNAMED}: all of its {n:,} rows were dropped"
        for name, n in sorted(asked.items())
        if name not in report.sources
    ]


def _inputs(words: Sequence[str]) -> dict[str, list[Input]]:
    """The files by path: of a zip there may be several."""
    found: dict[str, list[Input]] = {}
    for one in find_inputs(words) if words else []:
        found.setdefault(one.path, []).append(one)
    return found


def _lost_of_file(path: str, files: Sequence[Input], options: ReadOptions, prefix: str) -> str:
    rows = sum(map(_rows_in, files))
    numbers = [row["file_row"] for row in read_rows([path], options, prefix)]
    read = len(set(numbers)) if len(files) == 1 else len(numbers)  # of a zip, each file begins at 0
    return f"{path}: {rows - read:,} of {rows:,} rows could not be read" if read < rows else ""


def _rows_in(source: Input) -> int:
    """The rows of a file, but for empty lines."""
    file = open_rows(source)
    try:
        if file.schema is not None and file.total is not None:
            return file.total
        return sum(
            records.count - sum(1 for line in records.lines if not line.strip()) for records in file.chunks()
        )
    finally:
        file.close()
