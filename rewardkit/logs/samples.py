"""Conversion of records to Samples, with the reasons why some rows cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa

from rewardkit.errors import NoResponseError
from rewardkit.files.arrow_values import in_python
from rewardkit.files.records import BadRowError, RawRow, Records, not_utf_8, parse_all
from rewardkit.logs.kind import SkippedRowError
from rewardkit.logs.kinds import facts_of
from rewardkit.logs.layout import RowLayout, completed, reader_of
from rewardkit.logs.lists import with_lists
from rewardkit.pictures import is_there, marked
from rewardkit.registry import REGISTRY
from rewardkit.row_reports import episode_facts, known_score, report_columns
from rewardkit.rows import (
    Fields,
    ground_truth_text,
    plain_mapping,
    prompt_of,
    response_text,
    responses_of,
    value_at,
    values_at,
)
from rewardkit.tables import column_of, is_list
from rewardkit.types import Sample, failure, to_score

ALL = frozenset({"prompt", "extra_info"})
"""Optional fields of a Sample, which not every reward reads."""


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """Samples of consecutive rows."""

    records: Records
    """Rows of the samples, as they were read."""
    samples: list[Sample]
    """One sample for each response, in order. For an unusable row, `Sample.known` contains the failure."""
    bad: dict[int, str]
    """Reasons why rows cannot be used, by the index of the sample."""
    lengths: list[int] | None = None
    """Number of samples for each row, or None if each row has exactly one sample."""
    skipped: frozenset[int] = frozenset()
    """Indices of empty rows and of rows that repeat responses. These rows have no samples and are not
    written."""
    parsed: Sequence[RawRow | BadRowError | None] = ()
    """Each line as a mapping, or its error if it is not a mapping, or None if it is empty."""
    finish_reasons: list[str | None] | None = None
    """Finish reason of each response if the log is of a known kind, otherwise None."""

    @property
    def usable(self) -> Sequence[Sample]:
        """Samples that still need a score."""
        return to_score(self.samples)

    def refuse(self, index: int, why: str) -> None:
        """Mark the row of a sample as unusable."""
        self.bad[index] = why
        self.samples[index] = msgspec.structs.replace(self.samples[index], known=failure("invalid", why))

    @property
    def rows(self) -> list[int]:
        """Row number of each sample."""
        first = self.records.first_row
        if self.lengths is None:
            return list(range(first, first + len(self.samples)))
        return [first + i for i, length in enumerate(self.lengths) for _ in range(length)]


# --- single rows --------------------------------------------------------------------------------------


def to_batch(records: Records, layout: RowLayout, reads: Collection[str] = ALL) -> SampleBatch:
    """Return the samples for the records.

    Args:
        records: Records to convert.
        layout: Layout of the rows.
        reads: Optional fields to fill, a subset of `ALL`. All other optional fields remain empty.
    """
    if records.damaged is not None:
        bad = dict.fromkeys(range(records.count), records.damaged)
        lost = _unusable(layout.data_source or "", records.damaged)
        return SampleBatch(records, [lost] * records.count, bad)
    if records.table is not None and not layout.by_row:
        return _from_columns(records, _table_columns(records.table, layout, reads), layout)
    rows = parsed(records)
    if not layout.by_row:
        found = replace(layout, reports=_reports_of(rows))
        return _from_columns(records, _row_columns(rows, found, reads), found, rows)
    return _from_rows(records, rows, layout, reads)


def _unusable(data_source: str, why: str) -> Sample:
    """Return a failed sample for a row without usable fields."""
    return Sample(data_source, "", "", known=failure("invalid", why))


def _reports_of(rows: Sequence[RawRow | BadRowError | None]) -> tuple[str, ...]:
    """Return the columns in which these rows report failures or episodes."""
    names = {tuple(row) for row in rows if type(row) is dict}
    return tuple(dict.fromkeys(chain.from_iterable(map(report_columns, names))))


def parsed(records: Records) -> Sequence[RawRow | BadRowError | None]:
    """Return each row as a mapping, or its error if it is not a mapping, or None if it is an empty line."""
    return list(_parsed_table(records.table)) if records.table is not None else parse_all(records.lines)


def _parsed_table(table: pa.Table) -> Iterator[RawRow | BadRowError]:
    try:
        yield from in_python(table)
    except UnicodeDecodeError:
        columns = {name: cells(table, name) for name in table.column_names}
        for i in range(len(table)):
            why = next((bad[i] for _, bad in columns.values() if i in bad), None)
            yield BadRowError(why) if why else {name: values[i] for name, (values, _) in columns.items()}


def _from_rows(
    records: Records,
    rows: Sequence[RawRow | BadRowError | None],
    layout: RowLayout,
    reads: Collection[str],
) -> SampleBatch:
    read = reader_of(layout)
    samples: list[Sample] = []
    bad: dict[int, str] = {}
    lengths: list[int] = []
    skipped: set[int] = set()
    finish_reasons: list[str | None] = []
    for row in rows:
        try:
            if row is None:
                raise SkippedRowError
            if isinstance(row, BadRowError):
                raise row
            found = _row_samples(row, read, layout, reads)
        except SkippedRowError:
            skipped.add(len(lengths))
            lengths.append(0)
            continue
        except BadRowError as error:
            found = [(_unusable(_source_of(row, layout), str(error)), str(error))]
        for sample, why in found:
            if why is not None:
                bad[len(samples)] = why
            samples.append(sample)
        lengths.append(len(found))
        if layout.kind is not None:
            finish_reasons += _finish_reasons(row, layout.kind, len(found))
    alone = not layout.many and not skipped
    return SampleBatch(
        records,
        samples,
        bad,
        None if alone else lengths,
        frozenset(skipped),
        rows if records.table is None else (),
        finish_reasons if layout.kind else None,
    )


def _finish_reasons(row: RawRow | BadRowError | None, kind: str, count: int) -> list[str | None]:
    """Return the finish reason of each response in a row of a log."""
    said = facts_of(row, kind).get("finish_reason") if isinstance(row, Mapping) else None
    said = said if isinstance(said, list) else [said] * count
    return [None if one is None else str(one) for one in (*said, *[None] * count)[:count]]


def _source_of(row: RawRow | BadRowError | None, layout: RowLayout) -> str:
    """Return the data source of an unusable row, or "" if it is unknown."""
    said = value_at(row, layout.names.data_source) if isinstance(row, Mapping) else None
    return layout.data_source or (said if isinstance(said, str) else "")


def _row_samples(
    row: RawRow, read: Callable[[RawRow], Fields], layout: RowLayout, reads: Collection[str]
) -> list[tuple[Sample, str | None]]:
    """Return the samples of a row, each with the reason why it cannot be used, or None."""
    if layout.lists_as_text:
        row = with_lists(row, layout.names.response)
    if layout.filters is not None and row.get("filter") not in layout.filters:
        raise SkippedRowError
    fields = completed(_fields(row, read, layout), row, layout)
    prompt = None
    if "prompt" in reads:
        prompt = marked(fields.prompt, any(is_there(row.get(name)) for name in layout.media))
    extra = plain_mapping(fields.extra_info) if "extra_info" in reads else {}
    return _samples_of(fields._replace(prompt=prompt, extra_info=extra), layout, row)


def _samples_of(fields: Fields, layout: RowLayout, reports: RawRow) -> list[tuple[Sample, str | None]]:
    """Return the samples of a row, each with the reason why it cannot be used, or None.

    Args:
        fields: Fields of the row, with the prompt and `extra_info` already in the form for a Sample.
        layout: Layout of the rows.
        reports: Row, or only the columns of the row that may report failures or episodes.
    """
    source = fields.data_source
    ground_truth = ground_truth_text(fields.ground_truth)
    why = _lacking(layout, source, ground_truth)
    several = _several(fields.response)
    if several and not layout.many:
        several = None
        why = "the row has a list of responses, but the first row of the file has a single response"
    named = "" if source is None else str(source)
    group = None if fields.group is None else str(fields.group)
    samples: list[tuple[Sample, str | None]] = []
    for i, response in enumerate(several or [fields.response]):
        text, lacking = _text_of(response, layout.names.response)
        place = i if layout.many else None
        known = known_score(reports, place)
        unusable = None if known else why or lacking
        sample = Sample(
            named,
            text or "",
            ground_truth or "",
            fields.prompt,
            {**fields.extra_info, **episode_facts(reports, place)},
            group,
            failure("invalid", unusable) if unusable else known,
        )
        samples.append((sample, unusable))
    return samples


def _fields(row: RawRow, read: Callable[[RawRow], Fields], layout: RowLayout) -> Fields:
    try:
        return read(row)
    except NoResponseError as error:
        raise BadRowError(str(error)) from None
    except KeyError as error:
        raise BadRowError(f"the row has no {error}") from None
    except (TypeError, AttributeError, IndexError) as error:
        raise BadRowError(f"the row does not match the format '{layout.kind}': {error}") from None


def _several(response: Any) -> list[Any] | None:
    """Return the responses if a row has a list of them, or None for a single or an invalid response."""
    try:
        return responses_of(response)
    except NoResponseError:
        return None


def _text_of(response: Any, name: str | None) -> tuple[str | None, str | None]:
    """Return the text written by the model and None, or None and the reason why the text is missing."""
    try:
        text = response_text(response)
    except NoResponseError as error:
        return None, str(error)
    return text, f"'{name or 'response'}' is null" if text is None else None


def _lacking(layout: RowLayout, source: Any, ground_truth: str | None) -> str | None:
    if not layout.to_score:
        return None
    if source is None:
        return f"'{layout.names.data_source or 'data_source'}' is null"
    if ground_truth is None and REGISTRY.needs_ground_truth(str(source)):
        return f"'{layout.names.ground_truth or 'ground_truth'}' is null or NaN"
    return None


# --- columns ------------------------------------------------------------------------------------------


def cells(table: pa.Table, name: str) -> tuple[list[Any], dict[int, str]]:
    """Return the values in a column, and the errors by row. A value that is not valid UTF-8 becomes None."""
    column = column_of(table, name)
    try:
        return in_python(column), {}
    except UnicodeDecodeError:
        values: list[Any] = []
        bad: dict[int, str] = {}
        for i, cell in enumerate(column):
            try:
                values.append(cell.as_py())
            except UnicodeDecodeError as error:
                values.append(None)
                bad[i] = f"'{name}' is {not_utf_8(error)}"
        return values, bad


def columns_needed(table: pa.Table, layout: RowLayout, reads: Collection[str]) -> pa.Table:
    """Return the table with only the columns that `to_batch` reads."""
    if layout.by_row:
        return table
    wanted = _wanted(layout, reads)
    heads = dict.fromkeys(
        name if name in table.column_names else name.partition(".")[0] for name in wanted if name
    )
    needed = table.select(list(heads))
    for name in _media_in(table.column_names, layout, reads):  # without the bytes of the pictures
        needed = needed.append_column(name, pa.array(_are_there(table[name])))
    return needed


def _media_in(names: Sequence[str], layout: RowLayout, reads: Collection[str]) -> list[str]:
    """Return the columns of media that exist, if the prompts are read."""
    return [name for name in layout.media if name in names] if "prompt" in reads else []


def _are_there(column: pa.ChunkedArray) -> list[bool]:
    """Return what `is_there` returns for each value in a column, without converting the values."""
    import pyarrow.compute as pc  # a top-level import would take a tenth of a worker's start time

    if pa.types.is_struct(column.type):
        fields = [field.is_valid().to_pylist() for field in column.flatten()]
        return [any(of_row) for of_row in zip(*fields, strict=True)]
    if is_list(column.type):
        column = pc.list_value_length(column)
    elif not pa.types.is_boolean(column.type):  # which `columns_needed` has made
        try:
            column = pc.binary_length(column.cast(pa.large_binary()))
        except pa.ArrowException:  # neither text nor bytes
            column = column.is_valid()
    return list(map(bool, column.to_pylist()))


def _wanted(layout: RowLayout, reads: Collection[str]) -> list[str | None]:
    """Return the names of the columns to read, in the order of `_Columns`, with None for missing columns."""
    names = layout.names
    return [
        names.response,
        names.ground_truth,
        names.prompt if "prompt" in reads else None,
        names.data_source if layout.data_source is None else None,
        names.extra_info if "extra_info" in reads else None,
        names.group,
        *layout.reports,
    ]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Values of the rows in a chunk, with one list for each column."""

    values: Sequence[Sequence[Any]]
    """Values of the columns in the order of `Fields`, followed by the columns of `RowLayout.reports`."""
    bad: Mapping[int, str]
    """Reasons why rows cannot be read, by index of the row."""
    media: Sequence[bool] = ()
    """True for each row with media, or empty if no row has any."""


def _table_columns(table: pa.Table, layout: RowLayout, reads: Collection[str]) -> _Columns:
    bad: dict[int, str] = {}
    columns: list[list[Any]] = []
    for name in _wanted(layout, reads):
        values, more = cells(table, name) if name else ([None] * len(table), {})
        columns.append(values)
        bad |= more
    found = [_are_there(table[name]) for name in _media_in(table.column_names, layout, reads)]
    return _Columns(columns, bad, [any(of_row) for of_row in zip(*found, strict=True)])


def _row_columns(
    rows: Sequence[RawRow | BadRowError | None], layout: RowLayout, reads: Collection[str]
) -> _Columns:
    wanted = _wanted(layout, reads)
    columns = [values_at(rows, name) if name else [None] * len(rows) for name in wanted]
    bad = {i: str(row) for i, row in enumerate(rows) if isinstance(row, BadRowError)}
    names = layout.media if "prompt" in reads else ()
    media = [type(row) is dict and any(is_there(row.get(name)) for name in names) for row in rows if names]
    return _Columns(columns, bad, media)


def _from_columns(
    records: Records,
    columns: _Columns,
    layout: RowLayout,
    rows: Sequence[RawRow | BadRowError | None] = (),
) -> SampleBatch:
    responses, ground_truths, prompts, sources, extras, groups, *reported = columns.values
    ground_truths = [value if type(value) is str else ground_truth_text(value) for value in ground_truths]
    prompts = [value if value is None else prompt_of(value) for value in prompts]
    if any(columns.media):
        prompts = list(map(marked, prompts, columns.media))
    sources = sources if layout.data_source is None else [layout.data_source] * records.count
    nothing: dict[str, Any] = {}
    extras = [nothing if value is None else plain_mapping(value) for value in extras]
    skipped = frozenset([i for i, row in enumerate(rows) if row is None] if None in rows else [])
    is_plain = all(set(map(type, column)) <= {str} for column in (responses, ground_truths, sources))
    if is_plain and not reported and not any(groups):  # fast path for the most common case
        samples = list(map(Sample, sources, responses, ground_truths, prompts, extras))
        return SampleBatch(records, samples, {}, [1] * len(samples) if layout.many else None, skipped, rows)
    samples = []
    bad: dict[int, str] = {}
    lengths: list[int] = []
    each = zip(responses, ground_truths, prompts, sources, extras, groups, strict=True)
    for i, (response, ground_truth, prompt, source, extra, group) in enumerate(each):
        fields = Fields(response, ground_truth, prompt, source, extra, group)
        reports = {name: values[i] for name, values in zip(layout.reports, reported, strict=True)}
        found = [] if i in skipped else _samples_of(fields, layout, reports)
        for sample, lacking in found:
            why = columns.bad.get(i, lacking)
            if why is not None:
                bad[len(samples)] = why
                sample = msgspec.structs.replace(sample, known=failure("invalid", why))
            samples.append(sample)
        lengths.append(len(found))
    return SampleBatch(records, samples, bad, lengths if layout.many or skipped else None, skipped, rows)
