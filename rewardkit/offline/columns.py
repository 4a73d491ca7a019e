"""Conversion of scores and sample fields to table columns or to fields of JSON objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, islice, pairwise
from typing import Any

import msgspec
import pyarrow as pa

from rewardkit.errors import InputError
from rewardkit.offline import arrays
from rewardkit.text import writable
from rewardkit.types import SCORE_FIELDS, Sample, Score

_NOT_TEXT = {"score": pa.float64(), "correct": pa.bool_()}
TYPES = {name: _NOT_TEXT.get(name, pa.string()) for name in SCORE_FIELDS if name not in ("parts", "seconds")}
"""Arrow types of the columns that scoring adds, except `parts`."""

_encoder = msgspec.json.Encoder()


def carried_values(
    names: Sequence[str],
    samples: Sequence[Sample],
    finish_reasons: Sequence[str | None] | None,
    lengths: Sequence[int] | None,
) -> dict[str, list[Any]]:
    """Return the values of sample fields by name, with one value for each row.

    Args:
        names: Names of the fields, out of those from `rewardkit.logs.scored_rows.carried_fields`.
        samples: Samples of the rows.
        finish_reasons: Finish reason of each sample, or None if the log contains no finish reasons.
        lengths: Number of samples in each row if rows have lists of responses, or None for one sample per
            row.
    """
    found: dict[str, list[Any]] = {}
    starts = None if lengths is None else list(accumulate(lengths, initial=0))
    for name in names:
        ends = finish_reasons if name == "finish_reason" else None
        values = [_FIELDS[name](one) for one in samples] if ends is None else list(ends)
        if starts is None:
            found[name] = values
        elif name in OF_RESPONSES:
            found[name] = [values[start:end] for start, end in pairwise(starts)]
        else:
            found[name] = [values[start] for start in starts[:-1]]
    return found


OF_RESPONSES = ("responses", "finish_reason")
"""Fields with one value for each response in a row."""


def _unless_lost(text: str, sample: Sample) -> str | None:
    """Return a text field of a sample, or None if the row did not contain the text."""
    return text if text or sample.known is None else None


_FIELDS: dict[str, Callable[[Sample], Any]] = {
    "data_source": lambda one: one.data_source or None,
    "prompt_id": lambda one: one.group,
    "prompt": lambda one: one.prompt,
    "response": lambda one: _unless_lost(one.response, one),
    "responses": lambda one: _unless_lost(one.response, one),
    "ground_truth": lambda one: _unless_lost(one.ground_truth, one),
    "extra_info": lambda one: one.extra_info or None,
    "finish_reason": lambda one: None,
}


def carried_fields_of(names: Sequence[str], *, many: bool) -> list[pa.Field]:
    """Return the columns for the fields, with text, or with lists of text as in `carried_values`."""
    kinds = (pa.list_(pa.string()) if many and name in OF_RESPONSES else pa.string() for name in names)
    return [pa.field(name, kind) for name, kind in zip(names, kinds, strict=True)]


def carried_columns(values: Mapping[str, Sequence[Any]], *, many: bool) -> pa.RecordBatch:
    """Return the values from `carried_values` as text columns, with messages and objects as JSON."""
    fields = carried_fields_of(list(values), many=many)
    columns = (_text_column(values[field.name], lists=pa.types.is_list(field.type)) for field in fields)
    return pa.RecordBatch.from_arrays(list(columns), schema=pa.schema(fields))


def _text_column(column: Sequence[Any], *, lists: bool) -> pa.Array:
    if lists:
        items = arrays.texts([_as_text(one) for row in column for one in row])
        return arrays.lists(items, [len(row) for row in column])
    return arrays.texts([_as_text(one) for one in column])


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _encoder.encode(writable(value)).decode()


def carried_objects(values: Mapping[str, Sequence[Any]]) -> list[bytes]:
    """Return the values from `carried_values` as one JSON object for each row."""
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    try:
        return [_encoder.encode(row) for row in rows]
    except UnicodeEncodeError:
        return [_encoder.encode(writable(row)) for row in rows]


def score_names(prefix: str = "") -> list[str]:
    """Return the names of the score columns, including `parts`."""
    return [prefix + name for name in TYPES] + [f"{prefix}parts"]


def score_fields(prefix: str, parts: Iterable[str], *, many: bool) -> list[pa.Field]:
    """Return the columns that scoring adds. If `many` is True, a column has a list of values in each row."""
    types = dict(TYPES)
    names = sorted(set(parts))
    if names:
        types["parts"] = pa.struct([(name, pa.float64()) for name in names])
    return [pa.field(prefix + name, pa.list_(t) if many else t) for name, t in types.items()]


def parts_of(scores: Iterable[Score]) -> set[str]:
    """Return the names of all parts in the scores."""
    return set(chain.from_iterable([score.parts for score in scores]))


def score_columns(scores: Sequence[Score], lengths: Sequence[int] | None) -> pa.RecordBatch:
    """Return scores as columns without a prefix. The struct `parts` contains the parts in these scores.

    Args:
        scores: Scores of the rows.
        lengths: Number of scores in each row if rows have lists, or None for one score per row.
    """
    columns = {
        "score": arrays.floats([score.score if score.status == "ok" else None for score in scores]),
        "status": arrays.texts([score.status for score in scores]),
        "correct": arrays.booleans([score.correct for score in scores]),
        "extracted": arrays.texts([score.extracted for score in scores]),
        "detail": arrays.texts([score.detail for score in scores]),
        "scorer": arrays.texts([score.scorer or None for score in scores]),
    }
    if names := sorted(parts_of(scores)):
        values = [arrays.floats([score.parts.get(name) for score in scores]) for name in names]
        columns["parts"] = pa.StructArray.from_arrays(values, names)
    return _listed(pa.RecordBatch.from_pydict(columns), lengths)


def repeated_columns(
    once: Sequence[Score], places: Sequence[int], lengths: Sequence[int] | None
) -> pa.RecordBatch:
    """Return scores as columns, like `score_columns`, given the distinct scores and their indices.

    Args:
        once: Distinct scores.
        places: Index of each score in `once`, as returned by `each_once`.
        lengths: Number of scores in each row if rows have lists, or None for one score per row.
    """
    columns = score_columns(once, None)
    return _listed(columns if len(once) == len(places) else columns.take(arrays.places(places)), lengths)


def each_once(scores: Sequence[Score]) -> tuple[list[Score], list[int]]:
    """Return the distinct score objects, and the index of each score among them."""
    ids = list(map(id, scores))
    once = dict(zip(ids, scores, strict=True))
    place = dict(zip(once, range(len(once)), strict=True))
    return list(once.values()), list(map(place.__getitem__, ids))


def _listed(columns: pa.RecordBatch, lengths: Sequence[int] | None) -> pa.RecordBatch:
    if lengths is None:
        return columns
    lists = {name: arrays.lists(columns.column(name), lengths) for name in columns.schema.names}
    return pa.RecordBatch.from_pydict(lists)


def conform(columns: pa.RecordBatch, fields: Sequence[pa.Field], prefix: str) -> list[pa.Array]:
    """Return the score columns in the order and with the types of the fields.

    Raises:
        InputError: A score has a part that is not among the fields.
    """
    found = []
    for field in fields:
        name = field.name.removeprefix(prefix)
        if name not in columns.schema.names:
            found.append(pa.nulls(len(columns), field.type))
        elif name == "parts":
            found.append(_with_all_parts(columns.column(name), field.type, columns))
        else:
            found.append(columns.column(name))
    if "parts" in columns.schema.names and not any(field.name == f"{prefix}parts" for field in fields):
        raise _unknown_parts(columns, set())
    return found


def score_objects(scores: Sequence[Score], lengths: Sequence[int], prefix: str, *, many: bool) -> list[bytes]:
    """Return the scores of each row as a JSON object.

    Args:
        scores: Scores of the rows.
        lengths: Number of scores in each row, used only if `many` is True.
        prefix: Prefix for the names of the fields.
        many: True if rows have lists of responses. The fields are then lists, too.
    """
    kind = _object_of(prefix)
    if many:
        each = iter(map(_values, scores))
        rows = [list(islice(each, length)) for length in lengths]
        found: list[Any] = [kind(*map(list, zip(*row, strict=True))) if row else {} for row in rows]
    else:
        found = [kind(*_values(score)) for score in scores]
    try:
        return _encoder.encode_lines(found).splitlines()
    except UnicodeEncodeError:
        return _encoder.encode_lines(writable(msgspec.to_builtins(found))).splitlines()


def _values(score: Score) -> tuple[object, ...]:
    scorer = score.scorer or None
    return (
        score.score if score.status == "ok" else None,
        score.status,
        score.correct,
        score.extracted,
        score.detail,
        scorer,
        score.parts,
    )


@lru_cache(maxsize=64)
def _object_of(prefix: str) -> type[msgspec.Struct]:
    """Return the type of the JSON objects with scores, which encodes the field names only once."""
    fields = [(name, Any) for name in score_names()]
    return msgspec.defstruct("Scored", fields, rename=lambda name: prefix + name, gc=False)


def _with_all_parts(column: pa.Array, wanted: pa.DataType, columns: pa.RecordBatch) -> pa.Array:
    if column.type == wanted:
        return column
    if isinstance(column, pa.ListArray):
        inner = _with_all_parts(column.values, wanted.value_type, columns)
        return pa.ListArray.from_arrays(column.offsets, inner)
    known = {field.name for field in wanted}
    have = {field.name for field in column.type}
    if have - known:
        raise _unknown_parts(columns, known)
    values = [
        column.field(field.name) if field.name in have else pa.nulls(len(column), pa.float64())
        for field in wanted
    ]
    return pa.StructArray.from_arrays(values, fields=list(wanted))


def _unknown_parts(columns: pa.RecordBatch, known: set[str]) -> InputError:
    struct = columns.schema.field("parts").type
    struct = struct.value_type if pa.types.is_list(struct) else struct
    name = next(field.name for field in struct if field.name not in known)
    scorer = next((s for s in columns.column("scorer").to_pylist() if s), None)
    return InputError(
        f"the reward '{scorer}' returned the part '{name}' only after the first rows; declare the part with "
        f"parts=('{name}', ...) where the reward is registered"
    )
