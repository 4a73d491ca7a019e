"""Reader of scored files from rewardkit or other tools. It yields one `ScoredResponse` per response.

`reader.py` reads files and recognises logs. This module maps the names of score columns to rewardkit's names,
and reads a few thousand rows at a time, so files may have any size. `evaluation.py`, `comparison.py` and
`gradient.py` compute figures from the responses.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from rewardkit.errors import InputError, UnscoredError
from rewardkit.files.formats import RowFile, columns_of, open_rows
from rewardkit.files.inputs import Input, find_inputs
from rewardkit.json_objects import NOT_JSON
from rewardkit.logs.kinds import facts_of
from rewardkit.logs.known import data_sources_of
from rewardkit.logs.layout import PROMPT_IDS, ReadOptions, RowLayout
from rewardkit.logs.lists import with_lists
from rewardkit.logs.reader import PLAIN, opened
from rewardkit.logs.samples import SampleBatch, parsed, to_batch
from rewardkit.logs.scored_rows import renamed, score_prefixes
from rewardkit.pictures import media_digest
from rewardkit.rows import GROUP, flags_of, has_value, value_at
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import SCORE_FIELDS, STATUSES

LENGTHS = ("response_tokens", "completion_tokens", "response_length", "num_tokens")
"""Columns that may contain the number of tokens in a response. Without them, its length is in characters."""

LARGEST = 1e100
"""Largest permitted absolute score. The sum of squares of much larger scores would overflow."""

_SHORT = 40
"""Maximum length, in characters, of a ground truth that is kept unchanged. A digest replaces longer ground
truths."""

ScoredRow = dict[str, Any]
Paths = Iterable[str | Path]


class ScoredResponse(msgspec.Struct, frozen=True, gc=False):
    """Score of one response, with the key of its prompt but without the text of the response."""

    data_source: str
    prompt: str
    """Key of the prompt within the data source. Prompts with the same text have the same key."""
    status: str
    """Status as in `Score`, or `unscored` if the row has no score."""
    score: float | None
    correct: bool | None
    extracted: str | None
    parts: dict[str, float]
    length: int
    """Length in tokens if the row contains the number of tokens, otherwise in characters."""
    truncated: bool | None
    """True if the response was truncated at the length limit, or None if the row has no finish reason."""
    ground_truth: str = ""
    """Ground truth, or a digest of a long ground truth. It distinguishes problems with the same prompt. The
    text is empty if the row has no ground truth."""
    flags: tuple[str, ...] = ()
    """Flags that an audit gave to the row of the prompt."""
    model: str = ""
    """Model that wrote the response. The text is empty if the row has no column `model`."""
    row: int = 0
    """Number of the response among all responses that were read, from 0."""

    @property
    def ok(self) -> bool:
        """True if the response was scored."""
        return self.status == "ok"


OF_EPISODES = (
    "turns",
    "ended",
    "episode_status",
    "episode_detail",
    "turn_rewards",
    "tool_rewards",
    "interaction_score",
)
"""Columns that generation writes for an episode of several turns."""

Groups = dict[str, dict[str, list[ScoredResponse]]]
"""Responses by data source and prompt, in the order of the files."""


def read_groups(
    paths: Paths,
    options: ReadOptions = PLAIN,
    prefix: str = "",
    scorer: Scorer | None = None,
    on_note: Callable[[str], None] = lambda line: None,
    on_row: Callable[[ScoredRow], None] = lambda row: None,
) -> Groups:
    """Return all responses in files by data source and prompt.

    The other arguments are the same as for `read_rows`.

    Args:
        on_row: Function called with each row, such as to keep its text.

    Raises:
        InputError: A file does not exist, cannot be read or has no responses.
        UnscoredError: No row has a score, or a file has no scores with this prefix.
        UnknownDataSourceError: A file that is to be scored has an unknown data source.
    """
    paths = list(paths)

    def responses() -> Iterator[ScoredResponse]:
        for row in read_rows(paths, options, prefix, scorer, on_note):
            on_row(row)
            yield scored_response(row)

    groups = grouped(responses())
    statuses = {one.status for prompts in groups.values() for group in prompts.values() for one in group}
    if "unscored" in statuses and "ok" not in statuses:
        names = " ".join(map(str, paths))
        raise UnscoredError(f"no row in {names} has a score; score the rows first: rewardkit score {names}")
    return groups


def scored_again(paths: Paths, options: ReadOptions, scorer: Scorer) -> Groups:
    """Return all responses in files as `read_groups` does, but with scores from `scorer` instead of the
    files.

    Raises:
        InputError: A file does not exist, cannot be read or has no responses.
        UnknownDataSourceError: A file has an unknown data source.
    """
    responses: list[ScoredResponse] = []
    place = 0
    for source in find_inputs(paths):
        with opened(source, options) as (file, layout):
            for row in _scored_rows(file, layout, scorer):
                responses.append(scored_response(_with_plain_scores(row, source.path) | {"place": place}))
                place += 1
    return grouped(responses)


def is_scored(paths: Paths, prefix: str = "") -> bool:
    """Return True if all files have scores that rewardkit has added.

    Raises:
        InputError: A file does not exist, or cannot be read.
    """
    return all(_is_scored(source, prefix) for source in find_inputs(paths))


def _is_scored(source: Input, prefix: str) -> bool:
    """Return True if rewardkit has scored a file. Only its column names and first rows are read."""
    file = open_rows(source)
    try:
        return _has_scores(file, prefix)
    finally:
        file.close()


def _prefixes_of(file: RowFile) -> list[str]:
    return score_prefixes(columns_of(file), file.first_rows(_LOOKED_AT))


def _has_scores(file: RowFile, prefix: str) -> bool:
    """Return True if rewardkit has added scores with the prefix, or with any prefix if `prefix` is empty."""
    prefixes = _prefixes_of(file)
    return prefix in prefixes if prefix else bool(prefixes)


_LOOKED_AT = 200
"""Number of rows at the start of a file that are searched for scores."""


def grouped(responses: Iterable[ScoredResponse]) -> Groups:
    """Return responses by data source and prompt. A prompt with several ground truths is divided by ground
    truth.

    The key of a prompt contains the ground truth only in this case. Files with corrected or missing ground
    truths can therefore still be compared prompt by prompt.

    If the reward decided only some responses of a data source as right or wrong, these verdicts are dropped,
    because their mean would be no accuracy.
    """
    groups: Groups = {}
    for one in responses:
        groups.setdefault(one.data_source, {}).setdefault(one.prompt, []).append(one)
    return {source: _problems(_wholly_decided(prompts)) for source, prompts in groups.items()}


def _wholly_decided(prompts: dict[str, list[ScoredResponse]]) -> dict[str, list[ScoredResponse]]:
    verdicts = {one.correct for group in prompts.values() for one in group if one.ok}
    if None not in verdicts or len(verdicts) == 1:
        return prompts
    return {
        prompt: [msgspec.structs.replace(one, correct=None) for one in group]
        for prompt, group in prompts.items()
    }


def _problems(prompts: dict[str, list[ScoredResponse]]) -> dict[str, list[ScoredResponse]]:
    found: dict[str, list[ScoredResponse]] = {}
    for prompt, group in prompts.items():
        several = len({one.ground_truth for one in group} - {""}) > 1
        for one in group:
            key = f"{prompt} (ground truth: {one.ground_truth or 'none'})" if several else prompt
            found.setdefault(key, []).append(one)
    return found


def scored_response(row: ScoredRow) -> ScoredResponse:
    """Convert a row of `read_rows` to a `ScoredResponse`."""
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
        flags=flags_of(row.get("extra_info")),
        model=model if isinstance(model := row.get("model"), str) else "",
        row=row.get("row") or 0,
    )


def _short(ground_truth: str) -> str:
    if len(ground_truth) <= _SHORT:
        return ground_truth
    return hashlib.blake2b(ground_truth.encode(errors="replace"), digest_size=8).hexdigest()


def status_of(row: ScoredRow) -> str:
    """Return the status in a row. If the row has none, return `ok` if it has a score, and else `unscored`."""
    status = row.get("status")
    if status in STATUSES and not (status == "ok" and row.get("score") is None):
        return str(status)
    return "unscored" if row.get("score") is None else "ok"


def prompt_key(row: ScoredRow) -> str:
    """Return a key for the prompt of a row.

    The key is the group of the row if it has one. Otherwise it is the text of the prompt with a digest of its
    pictures, an id, or the number of the row, in this order of preference.
    """
    named = named_prompt(row)
    return f"row {row['place']}" if named is None else named


def named_prompt(row: ScoredRow) -> str | None:
    """Return the key of the prompt that a row names by a group, a text or an id, or None."""
    if row.get(GROUP) is not None:
        return str(row[GROUP])
    prompt = row.get("prompt")
    if prompt:
        text = prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, default=str)
        return text if (media := media_digest(row)) is None else f"{text} {media}"
    extra = row.get("extra_info")
    if isinstance(extra, Mapping) and extra.get("index") is not None:
        return f"{extra.get('split')}:{extra['index']}"
    for name in PROMPT_IDS:
        if row.get(name) is not None:
            return str(row[name])
    return None


# --- rows with rewardkit's column names ------------------------------------------------------------------


def read_rows(
    paths: Paths,
    options: ReadOptions = PLAIN,
    prefix: str = "",
    scorer: Scorer | None = None,
    on_note: Callable[[str], None] = lambda line: None,
) -> Iterator[ScoredRow]:
    """Yield the responses in files, in order, as rows with rewardkit's column names.

    Scores come from the column `options.score` if it is given, otherwise from the columns that rewardkit
    added. If a file has no such columns, `scorer` scores its rows, or a known log's own scores are used.
    `row` is the number of the response among all responses, `file_row` the number of its row in the file, and
    `place` the number of its row among all rows, each from 0. A row that cannot be read has the status
    `invalid`, with the reason in `detail`.

    Args:
        paths: Files, folders, globs or URLs.
        options: Options for reading the rows.
        prefix: Prefix of the score columns.
        scorer: Scorer for files without scores from rewardkit, or None to leave such files unscored.
        on_note: Function called with a line of text for each log whose own scores are used.

    Raises:
        InputError: A file does not exist, cannot be read or has no responses.
        UnscoredError: A file has no scores with this prefix.
        UnknownDataSourceError: A file that is to be scored has an unknown data source.
    """

    def needs_scores(file: RowFile) -> bool:
        return scorer is not None and options.score is None and not _has_scores(file, prefix)

    number = place = 0
    for source in find_inputs(paths):
        with opened(source, options, to_score=needs_scores) as (file, layout):
            columns = columns_of(file)
            if options.score is not None:
                _require_column(file, options.score)
                rows = _rows_of_file(file, layout, None, options.score)
            elif scorer is not None and layout.to_score:
                if layout.note:
                    on_note(f"{source.path}: {layout.describe(file.total)}")
                rows = _scored_rows(file, layout, scorer)
            elif _has_scores(file, prefix):
                own = replace(layout, data_source=None) if layout.names.data_source else layout
                rows = _rows_of_file(file, own, prefix or _prefixes_of(file)[-1])
                rows = _of_source(rows, options.data_source, source.path)
            elif prefix:
                raise UnscoredError(
                    f"{source.path} has no column '{prefix}score'; pass the --prefix that you used with "
                    f"`rewardkit score`; columns: {', '.join(columns)}"
                )
            else:
                rows = _rows_of_file(file, layout, None)
                if layout.kind is not None and "score" in facts_of(file.first_row(), layout.kind):
                    on_note(f"{source.path}: {layout.kind}; the log's own scores are used")
            last = -1
            for row in rows:
                place += row["file_row"] != last
                last = row["file_row"]
                yield _with_plain_scores(row, source.path) | {"row": number, "place": place - 1}
                number += 1


def _of_source(rows: Iterator[ScoredRow], data_source: str | None, path: str) -> Iterator[ScoredRow]:
    """Yield scored rows, and check that they have the data source that the user specified, if any.

    Raises:
        InputError: A row was scored with another data source.
    """
    for row in rows:
        if data_source is not None and row["data_source"] not in (None, data_source):
            raise InputError(
                f"{path}, row {row['file_row']} was scored as '{row['data_source']}', not '{data_source}'; "
                "leave out --data-source, or score the file again with `rewardkit score`"
            )
        yield row | {"data_source": row["data_source"] or data_source}


def _require_column(file: RowFile, name: str) -> None:
    if not any(has_value(row, name) for row in file.first_rows(200)):
        raise InputError(
            f"{file.source.path} has no column '{name}'; name the column of the scores with --score-key"
        )


def _rows_of_file(
    file: RowFile, layout: RowLayout, prefix: str | None, score: str | None = None
) -> Iterator[ScoredRow]:
    """Yield the rows of a file without scoring them.

    Args:
        file: File to read.
        layout: Layout of the rows.
        prefix: Prefix of the scores that rewardkit has added, or None to ignore such scores.
        score: Column with the scores, or None to use the scores from rewardkit or from the log.
    """
    for records in file.chunks():
        for _, row in _rows_of(to_batch(records, layout), layout, prefix, score):
            yield row


def _scored_rows(file: RowFile, layout: RowLayout, scorer: Scorer) -> Iterator[ScoredRow]:
    """Score the rows of a file in batches, and yield them with their scores."""
    scorer.check(data_sources_of(file, layout))
    for records in file.chunks():
        batch = to_batch(records, layout)
        scores = scorer.score_batch(batch.samples)
        for place, row in _rows_of(batch, layout, None):
            score = scores[place]
            said = {name: value for name, value in score.as_dict().items() if name in SCORE_FIELDS}
            yield row | said | ({} if score.ok else {"score": None})


def _rows_of(
    batch: SampleBatch, layout: RowLayout, prefix: str | None, score: str | None = None
) -> Iterator[tuple[int, ScoredRow]]:
    """Yield the index and the row of each sample in a batch."""
    records = batch.records
    rows: Iterable[Any] = parsed(records) if records.damaged is None else [{}] * records.count
    lengths = batch.lengths if batch.lengths is not None else [1] * records.count
    at = 0
    for i, (raw, length) in enumerate(zip(rows, lengths, strict=True)):
        if layout.lists_as_text:
            raw = with_lists(raw, layout.names.response, _prefixed(prefix or ""))
        own = _named(raw, layout, prefix) if isinstance(raw, Mapping) else {}
        if score is not None:
            own = own | {"score": value_at(raw, score)}
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
            if sample.group is not None:
                row[GROUP] = sample.group
            if at in batch.bad and row.get("status") is None:
                row |= {"status": "invalid", "detail": batch.bad[at]}
            elif sample.known is not None and prefix is None:
                known = sample.known
                row |= {
                    "status": known.status,
                    "detail": known.detail,
                    "score": known.score if known.ok else None,
                }
            yield at, row
            at += 1


def _named(raw: Mapping[str, Any], layout: RowLayout, prefix: str | None) -> ScoredRow:
    """Return the columns of a row that are not part of its Sample. Scores that are to be ignored are
    renamed."""
    if layout.kind is not None:
        kept = {name: value for name, value in raw.items() if not isinstance(value, Mapping | list)}
        return {**renamed(kept, SCORE_FIELDS), **facts_of(raw, layout.kind)}
    heads = (layout.names.response, layout.names.ground_truth, layout.names.prompt)
    taken = {name.partition(".")[0] for name in heads if name} - set(SCORE_FIELDS)
    row = {name: value for name, value in raw.items() if name not in taken}
    if prefix is None:
        return renamed(row, SCORE_FIELDS)
    if not prefix:
        return row
    row = renamed(row, [name for name in SCORE_FIELDS if prefix + name in row])
    return {name.removeprefix(prefix) if name in _prefixed(prefix) else name: v for name, v in row.items()}


@lru_cache(maxsize=16)
def _prefixed(prefix: str) -> frozenset[str]:
    return frozenset(prefix + name for name in SCORE_FIELDS)


def _one_of(own: ScoredRow, place: int) -> ScoredRow:
    """Return a copy of the row that keeps the score and the generation fields of one response only."""
    row = own.copy()
    for name in (*SCORE_FIELDS, *LENGTHS, *OF_EPISODES, "finish_reason"):
        values = row.get(name)
        if isinstance(values, list):
            row[name] = values[place] if place < len(values) else None
    return row


def _with_plain_scores(row: ScoredRow, path: str) -> ScoredRow:
    """Convert the scores in a row to numbers and truth values, because some files contain them as text."""
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
        if name in row and not isinstance(row[name], str | None):
            row[name] = str(row[name])
        elif row.get(name) == "":  # CSV has no null.
            row[name] = None
    return row


def _number(value: Any) -> float | None:
    """Return the value, which may be text, as a finite number, or None if it is not a finite number."""
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
    """Return the path of one step's dump in a folder of dumps (`1.jsonl`, ...), or any other path unchanged.

    Args:
        path: Path of a file or a folder.
        step: Number of the step. None selects the last step.

    Raises:
        InputError: There is no dump for this step.
    """
    dumps = find_dumps(path)
    if step is not None and step not in dumps:
        has = "expected a folder with files such as 1.jsonl"
        has = f"the dumps go from step {min(dumps)} to {max(dumps)}" if dumps else has
        raise InputError(f"{path} has no dump for step {step}; {has}")
    return str(dumps[max(dumps) if step is None else step]) if dumps else path


def find_dumps(path: str) -> dict[int, Path]:
    """Return the dumps (`1.jsonl`, ...) in a folder by step, in order. Any other path has no dumps."""
    folder = Path(path)
    files = list(folder.iterdir()) if folder.is_dir() else []
    dumps = {int(p.stem): p for p in files if p.stem.isdecimal() and p.suffix in (".jsonl", ".parquet")}
    return dict(sorted(dumps.items()))
