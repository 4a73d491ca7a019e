"""Rows with several responses, which are lists stored as JSON text (in CSV) or a batch in one row."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from rewardkit.errors import InputError
from rewardkit.files.records import RawRow
from rewardkit.rows import RowNames, value_at


def are_lists_as_text(row: RawRow, name: str | None) -> bool:
    """Return True if the response column has a plural name and contains a list as JSON text.

    Raises:
        InputError: The column contains a list as Python text.
    """
    if name is None or not name.endswith("s"):
        return False
    text = value_at(row, name)
    found = list_in_text(text)
    if found is None and isinstance(text, str) and _PYTHON_LIST.fullmatch(text):
        raise InputError(
            f"column '{name}' contains Python lists as text, as pandas writes them to csv; "
            "write them as JSON, or write parquet"
        )
    return bool(found) and all(isinstance(one, str | list | None) for one in found or ())


_PYTHON_LIST = re.compile(r"\[\s*(?:'.*|None\s*[,\]].*)\]", re.S)


def list_in_text(value: Any) -> list[Any] | None:
    """Return the list that a value contains as JSON text, or None for any other value."""
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(value, type=list[Any])
    return None


def with_lists(row: RawRow, name: str | None, scores: Collection[str] = ()) -> RawRow:
    """Return the row with JSON text decoded to lists in columns that contain one item for each response.

    Args:
        row: Row of a file.
        name: Column of the responses.
        scores: Columns of scores. They also contain lists in rows whose response is not a list.
    """
    responses = list_in_text(value_at(row, name))
    keys, count = (row, len(responses)) if responses is not None else (scores, 1)
    lists = {key: found for key in keys if (found := list_in_text(row.get(key))) is not None}
    return {**row, **{key: found for key, found in lists.items() if len(found) == count}}


def is_batch(row: RawRow, names: RowNames) -> bool:
    """Return True if the row contains a batch, with lists of prompts and responses, as in ms-swift and ROLL.

    A list of messages is one prompt, not a batch.
    """
    prompts = value_at(row, names.prompt)
    responses = value_at(row, names.response)
    if not isinstance(prompts, list) or not isinstance(responses, list) or len(prompts) != len(responses):
        return False
    return bool(prompts) and not any(isinstance(one, Mapping) for one in (*prompts, *responses))


def batch_rows(row: RawRow, names: RowNames) -> list[RawRow]:
    """Return the rows of the batch that a row contains, or the row itself if it contains no batch.

    Every list that is as long as the batch is divided, so that each returned row has one of its elements.
    """
    if not is_batch(row, names):
        return [row]
    count = len(value_at(row, names.response))
    return [_element(row, i, count) for i in range(count)]


def _element(row: RawRow, i: int, count: int) -> RawRow:
    return {
        name: value[i]
        if isinstance(value, list) and len(value) == count
        else _element(value, i, count)
        if isinstance(value, Mapping)
        else value
        for name, value in row.items()
    }
