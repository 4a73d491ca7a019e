"""Detection of files with scores in an evaluation, and of rows that are missing from the result."""

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
"""Data source that the figures use for rows without a data source."""


@dataclass(frozen=True, slots=True)
class EvaluatedPart:
    """Input file, or folder whose subfolder names contain column values (`data_source=gsm8k/`)."""

    word: str
    scored: bool
    """True if the part already has scores from rewardkit. Other parts must be scored first."""


def parts_of(words: Sequence[str], prefix: str) -> list[EvaluatedPart]:
    """Return the parts of an evaluation in the order of the words.

    Raises:
        InputError: A file does not exist or cannot be read, or a folder whose subfolder names contain column
            values has both scored and unscored files.
    """
    found: dict[str, bool] = {}
    for word in words:
        inputs = find_inputs([word])
        flags = {one.path: is_scored([one.path], prefix) for one in inputs}
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
    """Return a message for each file or data source with rows that are missing from the result.

    Args:
        groups: Responses in the result.
        read: Files that already had scores.
        made: Output files of scoring, which contain the rows counted in `report`.
        report: Report on scoring.
        options: Options for reading the files.
        prefix: Prefix of the score columns.
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
    """Return a message for each data source whose rows were all dropped as unusable."""
    if not report.bad_count or not words:
        return []
    asked = Counter(sample.data_source for batch in read_samples(words, options) for sample in batch.samples)
    return [
        f"{name or UNNAMED}: all of its {n:,} rows were dropped"
        for name, n in sorted(asked.items())
        if name not in report.sources
    ]


def _inputs(words: Sequence[str]) -> dict[str, list[Input]]:
    """Return the inputs by path. A zip file may contain several inputs."""
    found: dict[str, list[Input]] = {}
    for one in find_inputs(words) if words else []:
        found.setdefault(one.path, []).append(one)
    return found


def _lost_of_file(path: str, files: Sequence[Input], options: ReadOptions, prefix: str) -> str:
    rows = sum(map(_rows_in, files))
    numbers = [row["file_row"] for row in read_rows([path], options, prefix)]
    read = len(set(numbers)) if len(files) == 1 else len(numbers)  # Each file in a zip begins at row 0.
    return f"{path}: {rows - read:,} of {rows:,} rows could not be read" if read < rows else ""


def _rows_in(source: Input) -> int:
    """Return the number of rows in a file, without empty lines."""
    file = open_rows(source)
    try:
        if file.schema is not None and file.total is not None:
            return file.total
        return sum(
            records.count - sum(1 for line in records.lines if not line.strip()) for records in file.chunks()
        )
    finally:
        file.close()
