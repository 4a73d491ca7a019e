"""Layout of the rows in one file: the kind of log, the names of its fields, and the user's settings."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rewardkit.errors import (
    InputError,
    NoDataSourceError,
    NoResponseError,
    UnknownDataSourceError,
    did_you_mean,
    with_columns,
)
from rewardkit.files.arrow_values import in_python
from rewardkit.files.records import BadRowError, RawRow, parse_all
from rewardkit.logs.candidates import said_in
from rewardkit.logs.kind import LogKind
from rewardkit.logs.kinds import by_name, recognise
from rewardkit.logs.lists import are_lists_as_text, is_batch
from rewardkit.logs.naming import is_multiple_choice, name_columns
from rewardkit.logs.scored_rows import VERLS, carried_fields, names_of_ours, score_prefixes
from rewardkit.logs.tasks import is_data_source, source_of_task
from rewardkit.logs.trial import (
    UNREADABLE,
    Reading,
    Trial,
    TrialResult,
    first_rows,
    key_of,
    try_readings,
)
from rewardkit.pictures import media_columns
from rewardkit.registry import REGISTRY
from rewardkit.row_reports import own_failure, report_columns
from rewardkit.rows import (
    DATA_SOURCE,
    PROMPT,
    Fields,
    RowNames,
    find_names,
    has_value,
    response_text,
    responses_of,
    value_at,
)
from rewardkit.tables import is_list, is_text, type_of

if TYPE_CHECKING:
    from rewardkit.files.formats import RowFile  # imported only for types, because workers read no files


@dataclass(frozen=True, slots=True)
class Joined:
    """Ground truths from another file. The key of each ground truth is the value of a column as text."""

    key: str
    """Name of the key column in the file of responses."""
    rows: Mapping[str, Fields] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options that a user may set for reading files with responses."""

    names: RowNames = field(default_factory=RowNames)
    """Names of columns. For None, the first column with one of the names in `rewardkit.rows` is used."""
    data_source: str | None = None
    """Data source of every row, which overrides any data source in the file."""
    join: Joined | None = None
    reward_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options for rewards by data source, in the form that a Scorer accepts. They are used in trials of
    columns."""
    to_score: bool = True
    """True if the rows are to be scored and therefore need ground truths and data sources."""
    score: str | None = None
    """Column with another tool's scores, which are used unchanged. If it is None, the scores come from
    rewardkit's columns or from a log of a known kind."""


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Layout of the rows in one file."""

    kind: str | None
    """Name of the kind of log, or None if the fields are in the columns `names`."""
    names: RowNames
    data_source: str | None
    """Data source of every row, or None if each row contains its own data source."""
    many: bool
    """True if a row contains a list of responses."""
    filters: tuple[Any, ...] | None = None
    """Filters of an lm-eval log whose rows are read. Rows with other filters repeat the same responses."""
    join: Joined | None = None
    note: str = ""
    to_score: bool = True
    """True if rows must have a ground truth and a data source."""
    lists_as_text: bool = False
    """True if lists with one item per response are stored as JSON text, as in CSV."""
    as_text: bool = True
    """True if responses are texts rather than messages or API answers."""
    reports: tuple[str, ...] = ()
    """Columns in which rows report failures or episodes. If rows are lines, they are found for each chunk."""
    media: tuple[str, ...] = ()
    """Columns with pictures and other media that belong to the prompts."""

    @property
    def by_row(self) -> bool:
        """True if a row must be read as a whole, because its fields are not in separate columns."""
        return bool(self.kind or self.join or self.names.choices or self.lists_as_text)

    @property
    def response_name(self) -> str:
        """Name of the response column in scored rows."""
        return "responses" if self.many else "response"

    @property
    def to_add(self) -> frozenset[str]:
        """Names of fields that scoring adds as columns, because the rows do not contain them in the same
        form."""
        names = self.names
        if self.kind is not None:
            return frozenset(carried_fields(self.response_name))
        joined = self.join is not None
        given = {
            "data_source": joined or self.data_source is not None or names.data_source != "data_source",
            "prompt": joined or names.prompt not in (None, "prompt"),
            self.response_name: (
                self.lists_as_text or not self.as_text or names.response != self.response_name
            ),
            "ground_truth": joined or names.ground_truth not in (None, "ground_truth", VERLS),
            "extra_info": joined or names.choices is not None,
        }
        return frozenset(name for name, is_to_add in given.items() if is_to_add)

    def describe(self, rows: int | None) -> str:
        """Return a one-line description of the recognised layout."""
        count = "" if rows is None else f": {rows:,} rows"
        return f"{self.kind or 'rows'}{count}{', ' + self.note if self.note else ''}"


def layout_of(file: RowFile, options: ReadOptions, *, guess: bool = True) -> RowLayout:
    """Return the layout of the rows in a file. Rows that rewardkit has scored are read as scored rows.

    Args:
        file: File with the rows.
        options: Options for reading the file.
        guess: True to accept columns that were found by trial. If it is False, an error suggests these
            columns instead, for callers that cannot report how the rows were read.

    Raises:
        InputError: The file has no responses, no ground truths or no data source, or a column has an
            unsupported type. The message names the option that solves the problem.
    """
    chosen = options.names
    rows = file.first_rows(_LOOKED_AT)
    first = next((row for row in rows if _holds_response(row, chosen.response)), rows[0])
    columns = list(file.schema.names if file.schema is not None else first)
    for name in _FIELDS:
        if getattr(chosen, name) and not _has(file, first, getattr(chosen, name)):
            raise _no_column(file, getattr(chosen, name), _KEYS[name], columns)
    ours = names_of_ours(columns, rows, chosen)
    kind = None if chosen.response or score_prefixes(columns, rows) else _recognised(file, first)
    finder = _finder(file, first, columns)
    names, said = (ours, []) if ours else name_columns(rows, chosen, finder, joined=options.join is not None)
    layout = RowLayout(
        kind=kind.name if kind else None,
        names=names,
        data_source=options.data_source or file.source.keys.get("data_source"),
        many=False,
        filters=_filters_of(file) if kind and kind.name == "lm-eval samples" else None,
        join=options.join,
        note=kind.note(first)
        if kind
        else "; ".join(filter(None, [", ".join(_unusual(names, chosen)), *said])),
        to_score=options.to_score,
    )
    fields = _first_fields(layout, [first, *rows])
    told = layout.data_source or _source_told(layout, kind, file, fields, rows)
    layout = replace(layout, data_source=told)
    found = TrialResult()
    if options.to_score and kind is None and told is None and fields is not None:
        _refuse_misspelled(fields.data_source, file)
    if options.to_score and not _is_plain(layout, options):
        found = _tried(layout, kind, options, rows)
        if found.taken is None and kind is not None and (fields is None or fields.response is None):
            plain = replace(layout, kind=None, note="")  # The file only looks like a log of this kind.
            if (other := _tried(plain, None, options, rows)).taken is not None:
                layout, found = plain, other
        if found.taken is not None and not guess and _is_guessed(found.taken, layout):
            found = TrialResult(offered=(found.taken,), tried=True)
        if found.taken is not None:
            layout = _as_taken(layout, found.taken, chosen, said)
            fields = _first_fields(layout, [first, *rows])
    _check(layout, file, fields, [first, *rows], found)
    names = layout.names
    try:
        lists_as_text = layout.kind is None and are_lists_as_text(first, names.response)
    except InputError as error:
        raise InputError(f"{file.source.path}: {error}") from None
    return replace(
        layout,
        many=lists_as_text or _has_many(layout, file, fields),
        lists_as_text=lists_as_text,
        as_text=all(_is_text(value_at(row, names.response)) for row in rows),
        reports=report_columns(tuple(columns)),
        media=tuple(media_columns(columns)),
    )


def _is_plain(layout: RowLayout, options: ReadOptions) -> bool:
    """Return True if the file uses rewardkit's own names for all fields, so that no trial is necessary."""
    names = layout.names
    has_truth = layout.join is not None or names.ground_truth in _OURS
    has_source = names.data_source in DATA_SOURCE and options.data_source is None
    return layout.kind is None and names.response in _OURS and has_truth and has_source


def _tried(
    layout: RowLayout, kind: LogKind | None, options: ReadOptions, rows: Sequence[RawRow]
) -> TrialResult:
    """Try possible readings of the log on its first rows, and return the result."""
    if layout.filters is not None:
        rows = [row for row in rows if row.get("filter") in layout.filters]
    rows = first_rows(rows)
    chosen = options.names
    given = options.data_source

    def read(names: RowNames) -> Callable[[RawRow], Fields]:
        tried = replace(layout, names=names)
        read_row = reader_of(tried)
        return lambda row: completed(read_row(row), row, tried)

    # A joined file may be large, so the key only contains the id of its object, which is unique during the
    # trial.
    apart = replace(layout, join=None)
    key = key_of(rows, apart, id(layout.join), chosen, given, options.reward_options)
    facts = kind.facts if kind is not None else lambda row: {}
    return try_readings(
        Trial(
            rows=rows,
            names=layout.names,
            chosen=chosen,
            is_kind=kind is not None,
            source=given,
            options=options.reward_options,
            joined=layout.join is not None,
            key=key,
            read=read,
            facts=facts,
        )
    )


def _is_guessed(reading: Reading, layout: RowLayout) -> bool:
    return reading.source not in (None, layout.data_source) or reading.names != layout.names


def _as_taken(layout: RowLayout, reading: Reading, chosen: RowNames, said: Sequence[str]) -> RowLayout:
    """Return the layout with the reading that the trial selected, and with a note about this reading."""
    names = reading.names
    source = layout.data_source if reading.source is None else reading.source
    named = [] if layout.kind else _unusual(names, chosen)
    if source is not None:
        named = [one for one in named if not one.startswith("data source")] + [source]
    taken = f"{', '.join(named)}: {reading.figure}" if named else reading.figure
    differs = [one for one in said if layout.names.ground_truth == names.ground_truth]
    note = "; ".join(filter(None, [layout.note if layout.kind else "", taken, *differs]))
    return replace(layout, names=names, data_source=source, note=note)


def names_of(file: RowFile) -> RowNames:
    """Return the column names of the fields in a file with questions and ground truths."""
    rows = file.first_rows(_LOOKED_AT)
    columns = list(file.schema.names if file.schema is not None else rows[0])
    return name_columns(rows, RowNames(), _finder(file, rows[0], columns), joined=False)[0]


def _recognised(file: RowFile, first: RawRow) -> LogKind | None:
    try:
        return recognise(first)
    except InputError as error:
        raise InputError(f"{file.source.path}: {error}") from None


def _finder(file: RowFile, first: RawRow, columns: Sequence[str]) -> Callable[[str], str | None]:
    """Return a function that returns the file's spelling of a column name, or None.

    The spelling may differ from the name in case, spaces or punctuation (`Ground Truth`), or be a plural
    form.
    """
    by_letters = {_letters(column): column for column in reversed(columns)}
    letters = by_letters.get

    def find(name: str) -> str | None:
        return name if _has(file, first, name) else letters(_letters(name)) or letters(f"{_letters(name)}s")

    return find


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold())) if "." not in name else name


def _unusual(names: RowNames, chosen: RowNames) -> list[str]:
    """Return a note for each field whose column does not have a name that rewardkit writes."""
    fields = {
        "response": names.response,
        "ground truth": names.ground_truth,
        "data source": names.data_source,
    }
    ours = {None, *_OURS, chosen.response, chosen.ground_truth, chosen.data_source}
    return [f"{field} '{name}'" for field, name in fields.items() if name not in ours]


def _source_told(
    layout: RowLayout, kind: LogKind | None, file: RowFile, said: Fields | None, rows: Sequence[RawRow]
) -> str | None:
    """Return the data source of a file whose rows name none, based on the file name or the values."""
    if said is None or said.data_source is not None or layout.names.data_source or layout.join is not None:
        return None
    if kind is not None and kind.task_in_name and (task := re.search(kind.task_in_name, file.source.name)):
        source = source_of_task(task[1])
        return source if source is not None and is_data_source(source) else None
    return "choice" if is_multiple_choice(rows, layout.names) else None


def _refuse_misspelled(source: Any, file: RowFile) -> None:
    """Refuse a data source without a reward if its name is similar to another one. A trial would ignore it.

    Raises:
        UnknownDataSourceError: The name is similar to that of a data source with a reward.
    """
    if isinstance(source, str) and REGISTRY.find(source) is None and REGISTRY.similar_to(source):
        raise UnknownDataSourceError(f"{file.source.path}: {REGISTRY.unknown(source)}")


def _holds_response(row: RawRow, name: str | None) -> bool:
    if own_failure(row) is not None:
        return False
    name = name or find_names(lambda one: has_value(row, one)).response
    if value_at(row, name) is not None:
        return True
    with contextlib.suppress(*UNREADABLE):
        kind = recognise(row)
        return kind is not None and kind.read(row).response is not None
    return False


def _is_text(response: Any) -> bool:
    if isinstance(response, list):
        return all(isinstance(one, str | None) for one in response)
    return isinstance(response, str | None)


PROMPT_IDS = ("prompt_id", "example_id", "doc_id", "custom_id", "_ng_task_index", "uid", "id")
"""Columns that identify the prompt of a row if the rows do not contain the prompts themselves."""
_OTHER_IDS = ("task_id", "question_id", "problem_id", "idx", "index")
_ROOM = 150
"""Maximum number of characters for the options that a message suggests."""
_LONG_NAME = 60
"""Maximum number of characters in a name that a message suggests."""
_LOOKED_AT = 200
"""Number of rows at the start of a file from which the layout is derived."""
_OURS = ("response", "responses", "ground_truth", "reward_model.ground_truth", "data_source")
_FIELDS = ("data_source", "response", "ground_truth", "prompt", "extra_info")
_KEYS = {name: f"--{name.replace('_', '-')}-key" for name in _FIELDS}


def _has(file: RowFile, first: RawRow, name: str) -> bool:
    return type_of(file.schema, name) is not None if file.schema is not None else has_value(first, name)


def _check(
    layout: RowLayout, file: RowFile, said: Fields | None, rows: Sequence[RawRow], found: TrialResult
) -> None:
    names = layout.names
    first = rows[0]
    path = file.source.path
    if layout.kind is None and (names.response is None or found.parallel):
        raise _no_response(file, names, first, found)
    if file.schema is not None and layout.kind is None:
        _check_types(file.schema, names, first, path)
    if not layout.to_score or said is None:  # if no row is readable, each row reports its own error
        return
    held = names.ground_truth if layout.kind is None or _holds_any(rows, names.ground_truth) else None
    source = layout.data_source or said.data_source
    needed = source is None or REGISTRY.needs_ground_truth(str(source))
    if needed and held is None and said.ground_truth is None and layout.join is None:
        raise _no_ground_truth(file, layout, first)
    if (against := found.refused) is not None:
        raise NoDataSourceError(
            f"{path}: '{source}' {against.figure}; pass another data source, or --data-source {source} to "
            "score the file all the same"
        )
    joined = next(iter(layout.join.rows.values()), Fields(None)) if layout.join else Fields(None)
    source = source or joined.data_source
    if found.tried and source is not None and not is_data_source(str(source)):
        raise UnknownDataSourceError(
            f"{path}: no reward is registered for data source '{source!s:.60}'; pass {_offers(found, names)}"
        )
    if source is None and names.data_source is None:
        raise NoDataSourceError(f"{path}: no data source given; pass {_offers(found, names)}")


def _offers(found: TrialResult, names: RowNames) -> str:
    """Return text that suggests options, the best first, with the result of each if it is known."""
    offers = [f"{_options_of(one, names)} ({one.figure})" for one in found.offered]
    offers = [offer for offer in offers if len(offer) <= _ROOM]
    if not offers:
        return (
            "--data-source, or the name of the column with --data-source-key; no reward of text "
            "scores a fifth of these rows as right"
            if found.tried
            else "--data-source, or the name of the column with --data-source-key"
        )
    while len(offers) > 1 and len(", or ".join(offers)) > _ROOM:
        offers.pop()
    return ", or ".join(offers)


def _options_of(reading: Reading, names: RowNames) -> str:
    words = []
    if reading.names.response != names.response:
        words.append(f"--response-key {reading.names.response}")
    if reading.names.ground_truth != names.ground_truth:
        words.append(f"--ground-truth-key {reading.names.ground_truth}")
    if reading.source is not None:
        words.append(f"--data-source {reading.source}")
    return " ".join(words)


def _holds_any(rows: Sequence[RawRow], name: str | None) -> bool:
    return any(value_at(row, name) not in (None, "") for row in rows)


def _no_response(file: RowFile, names: RowNames, first: RawRow, found: TrialResult) -> InputError:
    path = file.source.path
    if found.offered:
        return InputError(f"{path}: no response column found; pass {_offers(found, names)}")
    texts = [name for name in found.responses if len(name) <= _LONG_NAME and _has_blank(first, name)][:3]
    if texts and not did_you_mean("response", first):
        which = " or ".join(f"--response-key {name}" for name in texts)
        many = "several columns hold responses" if found.parallel else "no response column found"
        return InputError(with_columns(f"{path}: {many}; pass {which}", first))
    if names.prompt and isinstance(value_at(first, names.prompt), list):
        what = ", only prompts; write responses with `rewardkit generate` or `rewardkit eval --model`"
        return _no_column(file, "response", "--response-key", list(first), what)
    what = ", and no column contains text" if not any(map(_is_said, first.values())) else ""
    return _no_column(file, "response", "--response-key", list(first), what)


def _has_blank(row: RawRow, name: str) -> bool:
    return any(" " in text.strip() for text in said_in(value_at(row, name)))


def _is_said(value: Any) -> bool:
    return isinstance(value, str | list | Mapping)


def _no_ground_truth(file: RowFile, layout: RowLayout, first: RawRow) -> InputError:
    key = next((name for name in (*PROMPT_IDS, *_OTHER_IDS, *PROMPT) if name in first), "KEY")
    what = layout.kind or f"responses in '{layout.names.response}'"
    message = (
        f"{file.source.path} ({what}) has no ground truths; join another file with --join FILE --on {key}, "
        "or pass the column's name with --ground-truth-key"
    )
    return InputError(with_columns(message, first))


def _first_fields(layout: RowLayout, rows: Sequence[RawRow]) -> Fields | None:
    """Return the fields of the first row with a response, or None if no row is readable.

    The first row may have no response, because a file may begin with a failed request.
    """
    read = reader_of(layout)
    found: Fields | None = None
    for row in rows:
        try:
            found = read(row)
            answered = found.response is not None and responses_of(found.response) != []
            if answered and own_failure(row) is None:
                return found
        except UNREADABLE:
            continue
    return found and found._replace(response=None)


def _check_types(schema: pa.Schema, names: RowNames, first: RawRow, path: str) -> None:
    source = names.data_source and type_of(schema, names.data_source)
    if source is not None and source and not is_text(source):
        raise InputError(
            f"{path}: column '{names.data_source}' has the type {source!s:.40}; expected a string (or pass "
            "another column with --data-source-key)"
        )
    response = type_of(schema, names.response or "")
    if response is not None and not _is_response(response, value_at(first, names.response)):
        within = [field.name for field in response if is_text(field.type)] if _is_struct(response) else []
        field = min(within, key=lambda name: name not in _SAID, default=None)
        named = f"--response-key {names.response}.{field}" if field else "another column with --response-key"
        raise InputError(
            f"{path}: column '{names.response}' has the type {response!s:.40}; expected a string, chat "
            f"messages, or a list of either (or pass {named})"
        )


_SAID = ("content", "text", "response", "output", "completion")
"""Fields that usually contain the text if a response is an object."""


def _is_struct(found: pa.DataType) -> bool:
    return bool(pa.types.is_struct(found))


def _is_response(found: pa.DataType, first: Any) -> bool:
    if _is_struct(found):
        with contextlib.suppress(NoResponseError):
            return first is None or response_text(first) is not None
        return False
    if is_list(found):
        inner = found.value_type
        return (
            is_text(inner)
            or pa.types.is_struct(inner)
            or (is_list(inner) and pa.types.is_struct(inner.value_type))
        )
    return is_text(found)


def _has_many(layout: RowLayout, file: RowFile, said: Fields | None) -> bool:
    if file.schema is not None and layout.kind is None:
        found = type_of(file.schema, layout.names.response or "")
        return found is not None and is_list(found) and not pa.types.is_struct(found.value_type)
    return said is not None and responses_of(said.response) is not None


def _filters_of(file: RowFile) -> tuple[Any, ...]:
    """Return the filters in an lm-eval log that are needed to read every document once.

    Rows with other filters repeat the same responses.
    """
    documents: dict[Any, set[str]] = {}
    for records in file.chunks():
        table = records.table
        for row in parse_all(records.lines) if table is None else in_python(table):
            if isinstance(row, Mapping):
                document = repr([row.get(name) for name in ("doc_id", "target", "arguments")])
                documents.setdefault(row.get("filter"), set()).add(document)
    known: set[str] = set()
    kept = []
    for name, its in documents.items():
        if its - known:
            kept.append(name)
            known |= its
    return tuple(kept)


def batch_names(file: RowFile, options: ReadOptions) -> RowNames | None:
    """Return the field names for a file in which each row contains a batch, or None for other files."""
    rows = file.first_rows(_LOOKED_AT)
    columns = list(file.schema.names if file.schema is not None else rows[0])
    if not any(isinstance(value, list) for value in rows[0].values()) or score_prefixes(columns, rows):
        return None
    finder = _finder(file, rows[0], columns)
    names = name_columns(rows, options.names, finder, joined=options.join is not None)[0]
    return names if is_batch(rows[0], names) else None


def _no_column(file: RowFile, name: str, option: str, columns: Collection[str], what: str = "") -> InputError:
    hint = what or f"; pass the column's name with {option}"
    near = did_you_mean(name, columns)
    return InputError(with_columns(f"{file.source.path} has no column '{name}'{hint}", columns, near))


def reader_of(layout: RowLayout) -> Callable[[RawRow], Fields]:
    """Return the function that extracts the fields of a row with this layout."""
    return by_name(layout.kind).read if layout.kind else layout.names.read


def completed(fields: Fields, row: RawRow, layout: RowLayout) -> Fields:
    """Return the fields, completed with values from the joined file and the layout.

    Raises:
        BadRowError: The joined file has no row with the key of this row.
    """
    if layout.kind is not None and fields.ground_truth is None:
        fields = fields._replace(ground_truth=value_at(row, layout.names.ground_truth))
    if layout.kind is not None and fields.data_source is None:
        fields = fields._replace(data_source=value_at(row, layout.names.data_source))
    if layout.join is not None:
        key = value_at(row, layout.join.key)
        known = layout.join.rows.get(str(key))
        if known is None:
            raise BadRowError(f"the joined file has no row with {layout.join.key} {key!r:.60}")
        fields = fields._replace(
            ground_truth=known.ground_truth,
            data_source=known.data_source or fields.data_source,
            prompt=known.prompt if fields.prompt is None else fields.prompt,
            extra_info=known.extra_info if fields.extra_info is None else fields.extra_info,
        )
    return fields if layout.data_source is None else fields._replace(data_source=layout.data_source)
