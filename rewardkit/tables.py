"""Access to columns of Arrow tables by name. A dot in a name separates a struct or list from its item."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rewardkit.files.arrow_values import in_python
from rewardkit.rows import RowNames, find_names


def names_in(schema: pa.Schema) -> RowNames:
    """Return the names of the Sample fields in a table with this schema."""
    return find_names(lambda name: type_of(schema, name) is not None)


def type_of(schema: pa.Schema, name: str) -> pa.DataType | None:
    """Return the type of a column, or of an item within a column for a dotted name. Return None if none
    exists."""
    if name in schema.names:
        return schema.field(name).type
    head, _, rest = name.partition(".")
    found: pa.DataType | None = schema.field(head).type if rest and head in schema.names else None
    for key in rest.split("."):
        if found is not None and is_list(found) and key.isascii() and key.isdecimal():
            found = found.value_type
        elif found is not None and pa.types.is_struct(found) and found.get_field_index(key) >= 0:
            found = found.field(key).type
        else:
            return None
    return found


def column_of(table: pa.Table | pa.RecordBatch, name: str) -> pa.Array | pa.ChunkedArray:
    """Return the column with this name, or for a dotted name the struct field or list item in a column."""
    if name in table.schema.names:
        return table.column(name)
    head, *rest = name.split(".")
    found = table.column(head)
    for key in rest:
        found = _item(found, int(key)) if is_list(found.type) else _field(found, key)
    return found


def _field(structs: pa.Array | pa.ChunkedArray, key: str) -> pa.Array | pa.ChunkedArray:
    """Return one field of each struct, or null for a null struct."""
    return structs.flatten()[structs.type.get_field_index(key)]


def _item(lists: pa.Array | pa.ChunkedArray, place: int) -> pa.Array | pa.ChunkedArray:
    """Return one item of each list, or null for a list that is too short."""
    import pyarrow.compute as pc  # this import takes a tenth of a worker's start time

    padded = pc.list_slice(lists, place, place + 1, return_fixed_size_list=True)
    return pc.list_element(padded, 0)


def values_of(table: pa.Table | pa.RecordBatch, name: str) -> list[Any]:
    """Return a column's values as plain Python data."""
    return in_python(column_of(table, name))


def top_level(name: str, schema: pa.Schema) -> str:
    """Return the name of the top-level column that contains a possibly dotted name."""
    return name if name in schema.names else name.partition(".")[0]


def is_text(found: pa.DataType) -> bool:
    """Return True if a type is a string type, dictionary-encoded or not."""
    if pa.types.is_dictionary(found):
        return is_text(found.value_type)
    return bool(
        pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    )


def is_list(found: pa.DataType | None) -> bool:
    """Return True if a type is a list type of any kind."""
    return bool(
        found is not None
        and (pa.types.is_list(found) or pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found))
    )
