"""Checks that the reward for a row can read the ground truth and accepts the reference solution.

`prep` uses this module to find rows whose responses could never be scored, and to choose the answer from
several published solutions. It also reports ground truths that a maths reward cannot read, and scores the
reference solutions in a published file. The registry selects the reward for each row.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rewardkit.checks.findings import Finding
from rewardkit.checks.ground_truths import scores_maths, ships, unread
from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.schema import Row
from rewardkit.errors import InputError, UnknownDataSourceError
from rewardkit.json_objects import NOT_JSON
from rewardkit.registry import REGISTRY
from rewardkit.rewards.code.ground_truth import read
from rewardkit.rewards.code.problem import GroundTruthError
from rewardkit.rewards.shaping import SPANS
from rewardkit.rows import ground_truth_text
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score

MOST = 5
"""Maximum number of solutions to try for a row."""
Located = tuple[str, Row]
"""Location of a raw record, and the row created from the record."""
_SCORER: ContextVar[Scorer | None] = ContextVar("scorer", default=None)
_ROWS = 64
"""Number of rows checked or scored together. It is small because a row may contain megabytes of tests."""


# Without verification, the first published solution becomes a row's answer.
# With verification, the first correct solution becomes the answer.
# Some collected datasets contain programs that fail their own tests.


@contextlib.contextmanager
def solutions_scored_by(scorer: Scorer) -> Iterator[None]:
    """Within the block, make `chosen` find a correct solution for each row with this scorer."""
    token = _SCORER.set(scorer)
    try:
        yield
    finally:
        _SCORER.reset(token)


def chosen(rows: Iterable[Located]) -> Iterator[Located]:
    """Yield the rows, each with its first correct solution as the answer.

    Outside `solutions_scored_by`, or if no solution is correct, the answer is unchanged.
    """
    scorer = _SCORER.get()
    if scorer is None:
        yield from rows
        return
    source = iter(rows)
    while some := list(islice(source, _ROWS)):
        better = _right_ones([row for _, row in some], scorer)
        yield from ((where, row) for (where, _), row in zip(some, better, strict=True))


def _right_ones(rows: list[Row], scorer: Scorer) -> list[Row]:
    """Return the rows, with the first correct solution as the answer in rows with several solutions."""
    open_places = [i for i, row in enumerate(rows) if row.alternatives]
    tried = {i: (rows[i].answer, *rows[i].alternatives)[:MOST] for i in open_places}
    made = list(rows)
    for turn in range(MOST):
        asked = [i for i in open_places if turn < len(tried[i])]
        scores = scorer.score_batch([_with_answer(rows[i], tried[i][turn]) for i in asked])
        right = [i for i, score in zip(asked, scores, strict=True) if is_right(score)]
        for i in right:
            made[i] = replace(rows[i], answer=tried[i][turn])
        open_places = [i for i in open_places if i not in right]
        if not open_places:
            break
    return made


def _with_answer(row: Row, answer: str) -> Sample:
    extra = replace(row, answer=answer).as_record()["extra_info"]
    return Sample(row.data_source, answer, row.ground_truth, extra_info=extra)  # type: ignore[arg-type]


def is_right(score: Score) -> bool:
    """Return True if a solution is scored as correct.

    A composed reward may give a correct solution a score other than 1.0, but it sets `correct`.
    """
    return score.ok and (score.score == 1.0 if score.correct is None else score.correct)


# The reward scores an empty response. A malformed ground truth gives this score the status `invalid`.
# Expensive rewards, and rewards that need more than the ground truth, are not called.

_OF_ANSWERS = ("math", "math_dapo", "geometry3k")
"""Rewards that accept any text as the ground truth."""
_OF_NUMBERS = (*_OF_ANSWERS, "gsm8k", "number")
_BY_METADATA = ("choice", "reasoning_gym")
"""Rewards that also read the metadata, such as the options of a question, with the ground truth."""
_DIGITS = r"-?[0-9]{1,15}(\.[0-9]{1,15})?"
_NUMBER = re.compile(_DIGITS)


def scorable(rows: Iterable[Located], bad: BadRows) -> Iterator[Located]:
    """Yield the rows with ground truths that their rewards can read. All other rows are bad rows."""
    source = iter(rows)
    with Scorer() as scorer:
        while some := list(islice(source, _ROWS)):
            asked = ((i, *_asked(row)) for i, (_, row) in enumerate(some))
            unfit = refused(asked, scorer)
            for i, (where, row) in enumerate(some):
                if i in unfit:
                    bad.add(InputError(f"{where}: {unfit[i]}"))
                else:
                    yield where, row


def _asked(row: Row) -> tuple[str, str, str]:
    """Return the name of a row's reward, the ground truth, and the metadata that the reward reads."""
    name = REGISTRY.resolve(row.data_source).name
    return name, row.ground_truth, json.dumps(row.metadata, default=str) if name in _BY_METADATA else ""


def all_numbers(reward: str, ground_truths: pa.Array) -> bool:
    """Return True if all ground truths are plain numbers, which the reward can always score."""
    if reward not in _OF_NUMBERS:
        return False
    return bool(pc.all(pc.match_substring_regex(ground_truths, f"^(?:{_DIGITS})$"), skip_nulls=True).as_py())


def refused(
    rows: Iterable[tuple[int, str, str, str]], scorer: Scorer, expected: str = "the answer"
) -> dict[int, str]:
    """Return the rows for which no response can be scored, as a mapping of row numbers to reasons.

    Args:
        rows: Row number, reward name, ground truth and metadata of each row.
        scorer: Scorer that calls the rewards.
        expected: Description of a valid ground truth, for the error message about a JSON object.
    """
    found: dict[int, str] = {}
    alike: dict[tuple[str, str, str], list[int]] = {}
    for row, reward, ground_truth, metadata in rows:
        if reward in _OF_NUMBERS and _NUMBER.fullmatch(ground_truth):
            continue
        key = (reward, ground_truth, metadata if reward in _BY_METADATA else "")
        alike.setdefault(key, []).append(row)
    tried: list[tuple[str, str, str]] = []
    for key in alike:
        why = _unread_tests(key[1]) if key[0] == "code" else _no_answer(key[0], key[1], expected)
        if why:
            found.update(dict.fromkeys(alike[key], why))
        elif key[0] != "code" and _can_be_tried(key[0]):
            tried.append(key)
    samples = [
        Sample(reward, "", ground_truth, extra_info={"metadata": metadata} if metadata else {})
        for reward, ground_truth, metadata in tried
    ]
    for key, score in zip(tried, scorer.score_batch(samples), strict=True):
        if score.status == "invalid":
            found.update(dict.fromkeys(alike[key], f"{key[0]} cannot score it: {score.detail}"))
    return found


def _can_be_tried(name: str) -> bool:
    # The search is by reward name, because the name of a composition is not a data source.
    reward = REGISTRY.by_name(name)
    if reward is None:
        return False
    cheap = reward.running.runs in ("inline", "process") and not reward.running.batch
    return cheap and ships(reward) and reward.name not in SPANS


def _unread_tests(ground_truth: str) -> str:
    try:
        read(ground_truth or "{}")
    except GroundTruthError as error:
        return f"cannot use the row's tests: {error}"
    return ""


def _no_answer(reward: str, ground_truth: str, expected: str) -> str:
    """Return an error message if the ground truth for a maths reward is a JSON object, or else ""."""
    if reward not in _OF_ANSWERS or not ground_truth.lstrip().startswith("{"):
        return ""
    try:
        value = msgspec.json.decode(ground_truth)
    except NOT_JSON:
        return ""
    if not isinstance(value, dict):
        return ""
    keys = ", ".join(list(value)[:4])
    return (
        f"{reward} cannot score it: the ground truth is a JSON object ({keys}), so no answer "
        f"can match; expected {expected}"
    )


# Ground truths that a reward for maths accepts but cannot read as an answer.


class UnreadTruths:
    """Written rows whose ground truths a reward for maths cannot read."""

    def __init__(self) -> None:
        self._done: Counter[str] = Counter()
        self._rows: dict[str, list[int]] = {}
        self._why: dict[str, str] = {}
        self._is_maths: dict[str, bool] = {}

    def see(self, split: str, batch: pa.RecordBatch) -> None:
        """Read the ground truths in the next batch of a split."""
        for row, ground_truth in self._of_maths(batch):
            if not _NUMBER.fullmatch(ground_truth) and (why := unread(ground_truth)):
                self._rows.setdefault(split, []).append(self._done[split] + row)
                self._why.setdefault(split, why)
        self._done[split] += batch.num_rows

    def finding(self, split: str, file: Path) -> Finding | None:
        """Return a finding about a split, which is published as `file`, or None if all can be read."""
        rows = self._rows.get(split)
        return Finding("warning", "ground truth", str(file), self._why[split], rows) if rows else None

    def _of_maths(self, batch: pa.RecordBatch) -> Iterator[tuple[int, str]]:
        """Yield the row number and the ground truth of each row that a reward for maths scores."""
        names = batch.schema.names
        column = next((name for name in ("ground_truth", "reward_model") if name in names), None)
        if column is None or "data_source" not in names:
            return
        sources = batch["data_source"].to_pylist()
        for source in set(sources) - self._is_maths.keys():
            self._is_maths[source] = _is_maths(source)
        if any(self._is_maths[source] for source in set(sources)):
            for row, (source, value) in enumerate(zip(sources, batch[column].to_pylist(), strict=True)):
                ground_truth = value["ground_truth"] if isinstance(value, dict) else value
                if self._is_maths[source]:
                    yield row, ground_truth_text(ground_truth) or ""


def _is_maths(data_source: str) -> bool:
    try:
        return scores_maths(REGISTRY.resolve(data_source))
    except UnknownDataSourceError:  # A model scores these rows.
        return False


# Verification of the reference solutions in a published file.

_COLUMNS = ["data_source", "ground_truth", "extra_info"]
_QUICK_S = 60.0
_ROW_S = {"inline": 1e-4, "process": 1e-3, "sandbox": 0.05, "model": 1.0}
"""Approximate maximum time to score a solution, in seconds, by the place where the reward runs."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Row whose reference solution is not scored as correct."""

    row: int
    """Zero-based index of the row in the file."""
    question: str
    """Beginning of the question."""
    why: str

    def as_dict(self) -> dict[str, object]:
        """Return the fields as JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of verifying the solutions in a file."""

    rows: int
    """Number of rows whose solutions were scored."""
    failures: tuple[Failure, ...]
    without_solution: int = 0
    """Number of rows without a published solution, which cannot be scored."""


def is_quick(parts: Sequence[Path]) -> bool:
    """Return True if scoring the solutions in a prepared split is expected to take less than a minute.

    The result depends only on the files, not on the machine.

    Raises:
        UnknownDataSourceError: No reward is registered for some of the rows.
    """
    return sum(map(_seconds, parts)) < _QUICK_S


def _seconds(path: Path) -> float:
    """Estimate the time to score a file, in seconds, as if every row had the file's slowest reward."""
    found: set[str] = set()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(columns=["data_source"]):
            found.update(pc.unique(batch["data_source"]).to_pylist())
        places = (REGISTRY.resolve(source).running.runs for source in found)
        return float(file.metadata.num_rows * max(_ROW_S[place] for place in places))


def verify_file(path: Path, scorer: Scorer, progress: Callable[[int], None] | None = None) -> Verification:
    """Score the reference solutions (`extra_info.answer`) in a prepared file.

    Args:
        path: Parquet file of a split.
        scorer: Scorer that scores the solutions.
        progress: Callback that receives the number of rows done so far, or None.
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
    """Combine the results for the files of a split. Rows are numbered across the files."""
    before = 0
    failures: list[Failure] = []
    for part in parts:
        failures += [replace(failure, row=before + failure.row) for failure in part.failures]
        before += part.rows + part.without_solution
    without = sum(part.without_solution for part in parts)
    return Verification(before - without, tuple(failures), without)


def verify_records(records: Sequence[dict[str, Any]], scorer: Scorer) -> tuple[int, dict[int, str]]:
    """Score the solutions. Return the number of rows with a solution, and the reasons for failures by row."""
    solved = [row for row, record in enumerate(records) if record["extra_info"]["answer"]]
    scores = scorer.score_batch([_sample(records[row]) for row in solved])
    failed = {row: _why(score) for row, score in zip(solved, scores, strict=True) if not is_right(score)}
    return len(solved), failed


def _batches(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a file in batches that never span two row groups, whose size the writer limits."""
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(batch_size=1024, row_groups=[group], columns=_COLUMNS):
                yield batch.to_pylist()


def _sample(record: dict[str, Any]) -> Sample:
    data_source = str(record["data_source"])
    ground_truth = str(record["ground_truth"])
    return Sample(data_source, record["extra_info"]["answer"], ground_truth, extra_info=record["extra_info"])


def _why(score: Score) -> str:
    verdict = f"score {score.score:g}" if score.ok else score.status
    read = f", read as {score.extracted!r}" if score.extracted is not None else ""
    return f"{verdict}{read}: {score.detail}" if score.detail else f"{verdict}{read}"
