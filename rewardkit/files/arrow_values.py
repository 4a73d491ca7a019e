"""Conversion of Arrow values to Python, including dates outside Python's range and times in nanoseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def in_python(data: pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a table's rows, or a column's values, as Python data.

    If Python cannot represent one of the dates or time zones, all dates and times become text.

    Raises:
        UnicodeDecodeError: A text is not UTF-8.
    """
    try:
        found: list[Any] = data.to_pylist()
    except UnicodeDecodeError:
        raise
    # The table contains a date beyond the year 9999, or an unknown time zone.
    except (OverflowError, ValueError, LookupError):
        found = _dates_as_text(data).to_pylist()
    return found


def moment_text(value: Any) -> str:
    """Return a time in nanoseconds as text.

    Arrow represents such times with a pandas type. msgspec calls this function as an `enc_hook`.
    """
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


def _dates_as_text(
    data: pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray,
) -> pa.Table | pa.Array | pa.ChunkedArray:
    """Convert each date, time and duration in the data to text. Times with a time zone are given in UTC."""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        columns = [_dates_as_text(column) for column in data.columns]
        return pa.table(columns, names=data.column_names)
    return data.cast(_mapped(data.type, _in_utc)).cast(_mapped(data.type, _as_text))


def _in_utc(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp(kind.unit, "UTC") if pa.types.is_timestamp(kind) and kind.tz else kind


def _as_text(kind: pa.DataType) -> pa.DataType:
    is_date = pa.types.is_temporal(kind) and not pa.types.is_interval(kind)
    return pa.string() if is_date else kind


def _mapped(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a type in which `change` has been applied to all innermost types."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_mapped(field.type, change)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_mapped(kind.key_type, change), _mapped(kind.item_type, change))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_mapped(kind.value_type, change), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_mapped(kind.value_type, change))
    return _mapped(kind.value_type, change) if pa.types.is_dictionary(kind) else change(kind)
