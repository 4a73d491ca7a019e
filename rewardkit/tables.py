"""Columns of Arrow tables by name, where a dot reaches into a struct. No files here, and no scoring."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rewardkit.rows import RowNames, find_names


def names_in(schema: pa.Schema) -> RowNames:
    """Return under which names a table has the fields of a Sample."""
    return find_names(lambda name: type_of(schema, name) is not None)


def type_of(schema: pa.Schema, name: str) -> pa.DataType | None:
    """Return the type of a column, or of a struct's field for a dotted name; None if there is none."""
    if name in schema.names:
        return schema.field(name).type
    head, _, rest = name.partition(".")
    if not rest or head not in schema.names or not pa.types.is_struct(schema.field(head).type):
        return None
    return type_of(pa.schema(list(schema.field(head).type)), rest)


def column_of(table: pa.Table | pa.RecordBatch, name: str) -> pa.Array | pa.ChunkedArray:
    """Return a column, or a struct's field for a dotted name."""
    if name in table.schema.names:
        return table.column(name)
    head, *rest = name.split(".")
    return pc.struct_field(table.column(head), rest)


def values_of(table: pa.Table | pa.RecordBatch, name: str) -> list[Any]:
    """Return a column's values as plain Python data."""
    found: list[Any] = column_of(table, name).to_pylist()
    return found


def top_level(name: str, schema: pa.Schema) -> str:
    """Return the top-level column that holds a possibly dotted name."""
    return name if name in schema.names else name.partition(".")[0]


def is_text(found: pa.DataType) -> bool:
    """True for columns of text, dictionary-encoded or not."""
    if pa.types.is_dictionary(found):
        return is_text(found.value_type)
    return bool(
        pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    )


def is_list(found: pa.DataType | None) -> bool:
    """True for columns of lists of any kind."""
    return bool(
        found is not None
        and (pa.types.is_list(found) or pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found))
    )
