"""Records -> Samples, and which rows cannot be used and why. No reading of files here, and no scoring."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import pyarrow as pa

from rewardkit.errors import NoResponseError
from rewardkit.files.records import BadRowError, RawRow, Records, parse
from rewardkit.logs.kind import SkippedRowError
from rewardkit.logs.layout import RowLayout, batch_rows, reader_of
from rewardkit.rows import (
    Fields,
    ground_truth_text,
    plain_mapping,
    prompt_of,
    response_text,
    responses_of,
    value_at,
)
from rewardkit.tables import column_of, is_list, is_text, type_of
from rewardkit.types import Sample

ALL = frozenset({"prompt", "extra_info"})
"""What a Sample can hold besides what every reward reads."""


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """The samples of some consecutive rows."""

    records: Records
    """The rows they come from, as they were read."""
    samples: list[Sample]
    """One for each response, in order; an empty one where the row cannot be used."""
    bad: dict[int, str]
    """Why samples cannot be scored, by their index."""
    lengths: list[int] | None = None
    """How many samples each row has. None: one each."""
    skipped: frozenset[int] = frozenset()
    """Rows, by index, that are none or repeat another's responses: they have no samples and do not go out."""
    groups: list[str | None] | None = None
    """What the samples of one prompt have in common, where the log says; None: see `Sample.prompt`."""

    @property
    def usable(self) -> list[Sample]:
        """The samples that can be scored."""
        return [s for i, s in enumerate(self.samples) if i not in self.bad] if self.bad else self.samples

    @property
    def rows(self) -> list[int]:
        """The number of the row of each sample."""
        first = self.records.first_row
        if self.lengths is None:
            return list(range(first, first + len(self.samples)))
        return [first + i for i, length in enumerate(self.lengths) for _ in range(length)]


# --- rows one by one ----------------------------------------------------------------------------------


def to_batch(records: Records, layout: RowLayout, reads: Collection[str] = ALL) -> SampleBatch:
    """Return the samples of some records.

    Args:
        reads: which of `prompt` and `extra_info` are wanted; the rest stays empty.
    """
    if records.damaged is not None:
        bad = dict.fromkeys(range(records.count), records.damaged)
        return SampleBatch(records, [Sample(layout.data_source or "", "", "")] * records.count, bad)
    by_row = layout.kind or layout.join or layout.batches or layout.names.choices
    if records.table is not None and not by_row:
        return _from_columns(records, records.table, layout, reads)
    return _from_rows(records, layout, reads)


def parsed(records: Records) -> Iterator[RawRow | BadRowError | None]:
    """Yield each row of some records as a mapping, or why it is none; None for an empty line."""
    if records.table is not None:
        yield from _parsed_table(records.table)
        return
    for line in records.lines:
        try:
            yield parse(line) if line else None
        except BadRowError as error:
            yield error


def _parsed_table(table: pa.Table) -> Iterator[RawRow | BadRowError]:
    try:
        yield from table.to_pylist()
    except UnicodeDecodeError:
        columns = {name: cells(table, name) for name in table.column_names}
        for i in range(len(table)):
            why = next((bad[i] for _, bad in columns.values() if i in bad), None)
            yield BadRowError(why) if why else {name: values[i] for name, (values, _) in columns.items()}


def _from_rows(records: Records, layout: RowLayout, reads: Collection[str]) -> SampleBatch:
    read = reader_of(layout)
    samples: list[Sample] = []
    bad: dict[int, str] = {}
    lengths: list[int] = []
    skipped: set[int] = set()
    groups: list[str | None] = []
    for row in parsed(records):
        try:
            if row is None:
                raise SkippedRowError
            if isinstance(row, BadRowError):
                raise row
            found, group = _row_samples(row, read, layout, reads)
        except SkippedRowError:
            skipped.add(len(lengths))
            lengths.append(0)
            continue
        except BadRowError as error:
            found = [(Sample(_source_of(row, layout), "", ""), str(error))]
            group = None
        for sample, why in found:
            if why is not None:
                bad[len(samples)] = why
            samples.append(sample)
        lengths.append(len(found))
        groups += [group] * len(found)
    alone = not layout.many and not skipped
    return SampleBatch(
        records,
        samples,
        bad,
        None if alone else lengths,
        frozenset(skipped),
        groups if layout.kind else None,
    )


def _source_of(row: RawRow | BadRowError | None, layout: RowLayout) -> str:
    """The data source of a row that cannot be used, as far as it says it."""
    said = value_at(row, layout.names.data_source) if isinstance(row, Mapping) else None
    return layout.data_source or (said if isinstance(said, str) else "")


def _row_samples(
    row: RawRow, read: Callable[[RawRow], Fields], layout: RowLayout, reads: Collection[str]
) -> tuple[list[tuple[Sample, str | None]], str | None]:
    """The samples of a row, each with why it cannot be used, and the row's group."""
    if layout.batches:
        alone = replace(layout, batches=False)
        return [_row_samples(one, read, alone, reads)[0][0] for one in batch_rows(row, layout.names)], None
    if layout.filter is not None and row.get("filter") != layout.filter:
        raise SkippedRowError
    fields = _completed(_fields(row, read, layout), row, layout)
    several = _several(fields.response)
    if several and not layout.many:
        raise BadRowError("a list of responses, where the first row has a single one")
    source = fields.data_source
    ground_truth = ground_truth_text(fields.ground_truth)
    why = _lacking(layout, source, ground_truth)
    prompt = prompt_of(fields.prompt) if "prompt" in reads else None
    extra = plain_mapping(fields.extra_info) if "extra_info" in reads else {}
    group = None if fields.group is None else str(fields.group)
    samples: list[tuple[Sample, str | None]] = []
    for response in several or [fields.response]:
        text, lacking = _text_of(response, layout.names.response)
        sample = Sample("" if source is None else str(source), text or "", ground_truth or "", prompt, extra)
        samples.append((sample, why or lacking))
    return samples, group


def _fields(row: RawRow, read: Callable[[RawRow], Fields], layout: RowLayout) -> Fields:
    try:
        return read(row)
    except NoResponseError as error:
        raise BadRowError(str(error)) from None
    except KeyError as error:
        raise BadRowError(f"it has no {error}") from None
    except (TypeError, AttributeError, IndexError) as error:
        raise BadRowError(f"not a row of the kind {layout.kind}: {error}") from None


def _several(response: Any) -> list[Any] | None:
    """The several responses of a row; None for a single one, also for one that `_text_of` says is none."""
    try:
        return responses_of(response)
    except NoResponseError:
        return None


def _text_of(response: Any, name: str | None) -> tuple[str | None, str | None]:
    """What the model wrote, or why nothing of it is there."""
    try:
        text = response_text(response)
    except NoResponseError as error:
        return None, str(error)
    return text, f"'{name or 'response'}' is null" if text is None else None


def _completed(fields: Fields, row: RawRow, layout: RowLayout) -> Fields:
    """The fields with what the user says of all rows, and what stands in the joined file."""
    if layout.kind is not None and fields.ground_truth is None:
        fields = fields._replace(ground_truth=value_at(row, layout.names.ground_truth))
    if layout.kind is not None and fields.data_source is None:
        fields = fields._replace(data_source=value_at(row, layout.names.data_source))
    if layout.join is not None:
        key = value_at(row, layout.join.key)
        known = layout.join.rows.get(str(key))
        if known is None:
            raise BadRowError(f"no row of the joined file has {layout.join.key} {key!r:.60}")
        fields = fields._replace(
            ground_truth=known.ground_truth,
            data_source=known.data_source or fields.data_source,
            prompt=known.prompt if fields.prompt is None else fields.prompt,
            extra_info=known.extra_info if fields.extra_info is None else fields.extra_info,
        )
    return fields if layout.data_source is None else fields._replace(data_source=layout.data_source)


def _lacking(layout: RowLayout, source: Any, ground_truth: str | None) -> str | None:
    if not layout.to_score:
        return None
    if source is None:
        return f"'{layout.names.data_source or 'data_source'}' is null"
    return f"'{layout.names.ground_truth or 'ground_truth'}' is null or NaN" if ground_truth is None else None


# --- columns ------------------------------------------------------------------------------------------


def cells(table: pa.Table, name: str) -> tuple[list[Any], dict[int, str]]:
    """Return a column's values, None where one is not UTF-8, and why, by row of the table."""
    column = column_of(table, name)
    try:
        return column.to_pylist(), {}
    except UnicodeDecodeError:
        values: list[Any] = []
        bad: dict[int, str] = {}
        for i, cell in enumerate(column):
            try:
                values.append(cell.as_py())
            except UnicodeDecodeError as error:
                values.append(None)
                bad[i] = f"'{name}' is not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}"
        return values, bad


def columns_needed(table: pa.Table, layout: RowLayout, reads: Collection[str]) -> pa.Table:
    """Return the columns that `to_batch` looks at, when rows are read by columns."""
    names = layout.names
    wanted = [names.response, names.ground_truth, None if layout.data_source else names.data_source]
    wanted += [
        names.prompt if "prompt" in reads else None,
        names.extra_info if "extra_info" in reads else None,
    ]
    heads = dict.fromkeys(
        name if name in table.column_names else name.partition(".")[0] for name in wanted if name
    )
    return table.select(list(heads))


def _from_columns(
    records: Records, table: pa.Table, layout: RowLayout, reads: Collection[str]
) -> SampleBatch:
    names = layout.names
    responses, unusable = cells(table, names.response or "")
    if layout.many:
        unusable |= {i: _text_of(one, None)[1] or "" for i, one in enumerate(responses) if one == []}
        responses = [one or [None] for one in responses]
    lengths = [len(one) for one in responses] if layout.many else None
    ground_truths, more = _ground_truths(table, names.ground_truth)
    unusable = more | unusable
    sources: list[Any] = [layout.data_source] * len(table)
    if layout.data_source is None and names.data_source is not None:
        sources, more = cells(table, names.data_source)
        unusable = more | unusable
    prompts = _optional(table, names.prompt, "prompt" in reads)
    extras: list[dict[str, Any]] = [{}] * len(table)
    if "extra_info" in reads and names.extra_info:
        extras = [plain_mapping(value) for value in cells(table, names.extra_info)[0]]
    spread = _spreader(lengths)
    lacking = spread([unusable.get(i) for i in range(len(table))]) if unusable else None
    if layout.many:
        responses = [one for row in responses for one in row]
    if not is_text(_innermost(table.schema, names.response or "")):
        texts = [_text_of(response, names.response) for response in responses]
        responses = [text for text, _ in texts]
        lacking = [one or why for one, (_, why) in zip(lacking or repeat(None), texts, strict=False)]
    columns = [spread(sources), responses, spread(ground_truths), spread(prompts), spread(extras)]
    bad = _bad_samples(columns, layout, lacking)
    samples = [
        Sample(source or "", response or "", ground_truth or "", prompt, extra)
        for source, response, ground_truth, prompt, extra in zip(*columns, strict=True)
    ]
    return SampleBatch(records, samples, bad, lengths)


def _ground_truths(table: pa.Table, name: str | None) -> tuple[list[Any], dict[int, str]]:
    if name is None:
        return [None] * len(table), {}
    values, bad = cells(table, name)
    if not is_text(type_of(table.schema, name)):
        values = [ground_truth_text(value) for value in values]
    return values, bad


def _optional(table: pa.Table, name: str | None, wanted: bool) -> list[Any]:
    if not wanted or name is None:
        return [None] * len(table)
    return [prompt_of(value) for value in cells(table, name)[0]]


def _innermost(schema: pa.Schema, name: str) -> pa.DataType:
    found = type_of(schema, name)
    assert found is not None
    return found.value_type if is_list(found) else found


def _spreader(lengths: list[int] | None) -> Callable[[list[Any]], list[Any]]:
    """A function that repeats a value of each row for all its responses."""
    if lengths is None:
        return lambda values: values
    return lambda values: [value for value, n in zip(values, lengths, strict=True) for _ in range(n)]


def _bad_samples(
    columns: list[list[Any]], layout: RowLayout, unusable: list[str | None] | None
) -> dict[int, str]:
    sources, responses, ground_truths, _, _ = columns
    if unusable is None and None not in sources and None not in responses and None not in ground_truths:
        return {}
    names = layout.names
    found: dict[int, str] = {}
    for i, (source, response, ground_truth) in enumerate(zip(sources, responses, ground_truths, strict=True)):
        why = unusable[i] if unusable else None
        why = why or _lacking(layout, source, ground_truth)
        if why is None and response is None:
            why = f"'{names.response}' is null"
        if why is not None:
            found[i] = why
    return found
