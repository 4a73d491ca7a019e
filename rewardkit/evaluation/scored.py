"""Reads scored files from any writer: one `ScoredResponse` for each response, with our field names.

`reader.py` reads files and recognises logs; the names that scores have in them are here. Some thousand rows
are read at a time, however large the files. Figures are made of them in `evaluation.py`, `comparison.py` and
`gradient.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import InputError, UnscoredError
from rewardkit.files.formats import columns_of
from rewardkit.files.inputs import find_inputs
from rewardkit.json_objects import NOT_JSON
from rewardkit.logs.kinds import by_name
from rewardkit.logs.layout import PROMPT_IDS, SCORE_COLUMNS, ReadOptions, RowLayout, score_prefix
from rewardkit.logs.reader import PLAIN, opened
from rewardkit.logs.samples import SampleBatch, parsed, to_batch
from rewardkit.rows import GROUND_TRUTH, PROMPT, RESPONSE
from rewardkit.types import STATUSES

NAMES = {
    "score": ("score", "reward"),
    "correct": ("correct", "acc"),
    "extracted": ("extracted", "pred"),
}
"""The columns that scoring adds to a row, and the names that other writers give them."""
_HAVE_SCORES = {"scorer", *NAMES["score"]}
"""A file with one of these columns is read without a prefix."""
LENGTHS = ("response_tokens", "completion_tokens", "response_length", "num_tokens")
"""Columns with the number of tokens of a response; without one its characters are counted."""

LARGEST = 1e100
"""Of scores: sums of squares of much larger ones are no numbers any more."""

_SHORT = 40
"""A ground truth of at most so many characters stands in a prompt's key as it is, a longer one as a
digest."""

_OF_A_SAMPLE = {name.partition(".")[0] for name in (*RESPONSE, *GROUND_TRUTH, *PROMPT)}

ScoredRow = dict[str, Any]
Paths = Iterable[str | Path]


class ScoredResponse(msgspec.Struct, frozen=True, gc=False):
    """The score of one response, and what its group is known by, without its text."""

    data_source: str
    prompt: str
    """A key for its prompt within the data source. Prompts with the same text have the same key."""
    status: str
    """As in `Score`, or `unscored` if the row has no score."""
    score: float | None
    correct: bool | None
    extracted: str | None
    parts: dict[str, float]
    length: int
    """In tokens if the row says how many, otherwise in characters."""
    truncated: bool | None
    """Whether it was cut off at the length limit; None: the row does not say."""
    ground_truth: str = ""
    """By which prompts with the same text are told apart: a digest if it is long; empty if there is none."""

    @property
    def ok(self) -> bool:
        """True when the score says something about the response."""
        return self.status == "ok"


OF_EPISODES = (
    "turns",
    "ended",
    "episode_status",
    "turn_rewards",
    "tool_rewards",
    "interaction_score",
)
"""The columns by which generation describes an episode of several turns."""

Groups = dict[str, dict[str, list[ScoredResponse]]]
"""Data source -> prompt -> its responses, in the order of the files."""


def read_groups(paths: Paths, options: ReadOptions = PLAIN, prefix: str = "") -> Groups:
    """Return all scored responses of files, by data source and prompt.

    Raises:
        InputError: as `read_rows`.
        UnscoredError: no row has a score.
    """
    paths = list(paths)
    groups = grouped(scored_response(row) for row in read_rows(paths, options, prefix))
    everyone = (one for prompts in groups.values() for group in prompts.values() for one in group)
    if all(one.status == "unscored" for one in everyone):
        names = " ".join(map(str, paths))
        raise UnscoredError(f"no row in {names} has a score; score the rows first: rewardkit score {names}")
    return groups


def is_scored(paths: Paths, options: ReadOptions = PLAIN, prefix: str = "") -> bool:
    """Return whether the first of some files has scores with a status, as `rewardkit score` writes them.

    Raises:
        InputError: as `read_rows`.
    """
    with opened(find_inputs(paths)[0], replace(options, to_score=False)) as (file, _):
        return {f"{prefix}score", f"{prefix}status"} <= set(columns_of(file))


def grouped(responses: Iterable[ScoredResponse]) -> Groups:
    """Return responses by data source and prompt. A prompt with several ground truths is several problems.

    Only then the ground truth is part of a prompt's key. So files in which ground truths were corrected, or
    that have none, can still be compared prompt by prompt.
    """
    groups: Groups = {}
    for one in responses:
        groups.setdefault(one.data_source, {}).setdefault(one.prompt, []).append(one)
    return {source: _problems(prompts) for source, prompts in groups.items()}


def _problems(prompts: dict[str, list[ScoredResponse]]) -> dict[str, list[ScoredResponse]]:
    found: dict[str, list[ScoredResponse]] = {}
    for prompt, group in prompts.items():
        several = len({one.ground_truth for one in group} - {""}) > 1
        for one in group:
            key = f"{prompt} (ground truth: {one.ground_truth or 'none'})" if several else prompt
            found.setdefault(key, []).append(one)
    return found


def scored_response(row: ScoredRow) -> ScoredResponse:
    """Return a row of `read_rows` as a `ScoredResponse`."""
    status = status_of(row)
    response = row.get("response") or ""
    finish = row.get("finish_reason")
    lengths = (_number(row.get(name)) for name in LENGTHS)
    return ScoredResponse(
        data_source=str(row.get("data_source") or "unnamed"),
        prompt=prompt_key(row),
        status=status,
        score=row.get("score") if status == "ok" else None,
        correct=row.get("correct") if status == "ok" else None,
        extracted=row.get("extracted"),
        parts=row.get("parts") or {},
        length=next((int(length) for length in lengths if length is not None), len(response)),
        truncated=None if finish is None else finish == "length",
        ground_truth=_short(row.get("ground_truth") or ""),
    )


def _short(ground_truth: str) -> str:
    return (
        ground_truth
        if len(ground_truth) <= _SHORT
        else hashlib.blake2b(ground_truth.encode(errors="replace"), digest_size=8).hexdigest()
    )


def status_of(row: ScoredRow) -> str:
    """Return the status of a row of `read_rows`: its own, else `ok` if it has a score, else `unscored`."""
    status = row.get("status")
    if status in STATUSES and not (status == "ok" and row.get("score") is None):
        return str(status)
    return "unscored" if row.get("score") is None else "ok"


def prompt_key(row: ScoredRow) -> str:
    """Return a key for the prompt of a row: what its log says, the prompt's text, an id, or the row's
    place."""
    if row.get("group") is not None and "uid" not in row:  # a uid is another one in every run
        return str(row["group"])
    prompt = row.get("prompt")
    if prompt:
        return prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, default=str)
    extra = row.get("extra_info")
    if isinstance(extra, Mapping) and extra.get("index") is not None:
        return f"{extra.get('split')}:{extra['index']}"
    for name in ("group", *PROMPT_IDS):
        if row.get(name) is not None:
            return str(row[name])
    return f"row {row['file_row']}"


# --- files -> rows under our names ----------------------------------------------------------------------


def read_rows(paths: Paths, options: ReadOptions = PLAIN, prefix: str = "") -> Iterator[ScoredRow]:
    """Yield each response of files in order, with its columns under our names.

    `row` is its number among all responses, `file_row` that of its row in its file, both from 0. A row that
    cannot be read has the status `invalid` and the reason as its `detail`.

    Raises:
        InputError: a file does not exist, cannot be read or has no responses.
    """
    number = 0
    for source in find_inputs(paths):
        with opened(source, replace(options, to_score=False)) as (file, layout):
            columns = columns_of(file)
            if prefix and not any(prefix + name in columns for name in SCORE_COLUMNS):
                raise UnscoredError(
                    f"{source.path} has no column '{prefix}score'; pass the --prefix that you used with "
                    f"`rewardkit score`; columns: {', '.join(columns)}"
                )
            added = prefix or ("" if _HAVE_SCORES & set(columns) else score_prefix(columns))
            for records in file.chunks():
                for row in _rows_of(to_batch(records, layout), layout, added, source.path):
                    row["row"] = number
                    yield row
                    number += 1


def _rows_of(batch: SampleBatch, layout: RowLayout, prefix: str, path: str) -> Iterator[ScoredRow]:
    records = batch.records
    rows: Iterable[Any] = parsed(records) if records.damaged is None else [{}] * records.count
    lengths = batch.lengths if batch.lengths is not None else [1] * records.count
    at = 0
    for i, (raw, length) in enumerate(zip(rows, lengths, strict=True)):
        own = _named(raw, layout, prefix) if isinstance(raw, Mapping) else {}
        for place in range(length):
            sample = batch.samples[at]
            row = _one_of(own, place) if layout.many else own.copy()
            row |= {
                "file_row": records.first_row + i,
                "data_source": sample.data_source or None,
                "response": sample.response,
                "ground_truth": sample.ground_truth or None,
                "prompt": sample.prompt,
            }
            if sample.extra_info:
                row["extra_info"] = sample.extra_info
            if batch.groups is not None and batch.groups[at] is not None:
                row["group"] = batch.groups[at]
            if at in batch.bad and row.get("status") is None:
                row |= {"status": "invalid", "detail": batch.bad[at]}
            yield _with_plain_scores(row, path)
            at += 1


def _named(raw: Mapping[str, Any], layout: RowLayout, prefix: str) -> ScoredRow:
    """A row's columns but those of its Sample, those of scoring under our names."""
    if layout.kind is None:
        heads = (layout.names.response, layout.names.ground_truth, layout.names.prompt)
        taken = {name.partition(".")[0] for name in heads if name} - set(SCORE_COLUMNS)
        row = {name: value for name, value in raw.items() if name not in taken}
    else:
        row = {name: value for name, value in raw.items() if name not in _OF_A_SAMPLE}
        own = SCORE_COLUMNS if layout.many else ("parts",)  # of one response, a list is the log's own
        row = {n: v for n, v in row.items() if n in own or not isinstance(v, Mapping | list)}
        row = _facts(raw, layout.kind) | row
    for name in SCORE_COLUMNS:
        if prefix and prefix + name in row:
            row[name] = row.pop(prefix + name)
    for name, others in NAMES.items():
        found = next((other for other in others if other in row), None)
        if found is not None and found != name:
            row[name] = row.pop(found)
    return row


def _facts(raw: Mapping[str, Any], kind: str) -> ScoredRow:
    """What a log says of its responses in its own way; nothing where the row is not as the log's are."""
    with contextlib.suppress(KeyError, TypeError, AttributeError, IndexError, ValueError):
        return {name: value for name, value in by_name(kind).facts(raw).items() if value is not None}
    return {}


def _one_of(own: ScoredRow, place: int) -> ScoredRow:
    """What scoring and generation say of one response of a row that has several."""
    row = own.copy()
    for name in (*SCORE_COLUMNS, *LENGTHS, *OF_EPISODES, "finish_reason"):
        values = row.get(name)
        if isinstance(values, list):
            row[name] = values[place] if place < len(values) else None
    return row


def _with_plain_scores(row: ScoredRow, path: str) -> ScoredRow:
    """The row with its scores as numbers and truth values, whatever form they were written in."""
    if "score" in row:
        row["score"] = _number(row["score"])
        if abs(row["score"] or 0.0) > LARGEST:
            raise InputError(
                f"{path}, row {row['file_row']}: the score {row['score']:g} is too large to be averaged; "
                f"scores must be between {-LARGEST:g} and {LARGEST:g}"
            )
    if "correct" in row:
        right = _number(row["correct"])
        row["correct"] = None if right is None else right > 0
    if row.get("parts") is not None:
        row["parts"] = _parts(row["parts"])
    for name in ("status", "extracted", "detail", "finish_reason"):
        if row.get(name) is not None and not isinstance(row[name], str):
            row[name] = str(row[name])
    return row


def _number(value: Any) -> float | None:
    """A finite number, also one that is written as text; None for anything else."""
    if value is None:
        return None
    if isinstance(value, str):
        value = {"true": 1.0, "false": 0.0}.get(value.lower(), value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _parts(value: Any) -> dict[str, float]:
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except NOT_JSON:
            return {}
    if not isinstance(value, Mapping):
        return {}
    numbers = {str(name): _number(part) for name, part in value.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def dumps_in(path: str, step: int | None = None) -> str:
    """Return the path itself, or of a folder of dumps (`1.jsonl`, ...) that of a step, or the last.

    Raises:
        InputError: there is no such step.
    """
    dumps = find_dumps(path)
    if step is not None and step not in dumps:
        has = "expected a folder with files such as 1.jsonl"
        has = f"the dumps go from step {min(dumps)} to {max(dumps)}" if dumps else has
        raise InputError(f"{path} has no dump for step {step}; {has}")
    return str(dumps[max(dumps) if step is None else step]) if dumps else path


def find_dumps(path: str) -> dict[int, Path]:
    """Return the dumps of a folder (`1.jsonl`, ...) by step, in order; none where it is no such folder."""
    folder = Path(path)
    files = list(folder.iterdir()) if folder.is_dir() else []
    dumps = {int(p.stem): p for p in files if p.stem.isdecimal() and p.suffix in (".jsonl", ".parquet")}
    return dict(sorted(dumps.items()))
