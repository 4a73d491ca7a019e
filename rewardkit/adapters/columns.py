"""Conversion of dataset columns, which trainers pass to reward functions, into Samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.errors import InputError
from rewardkit.pictures import is_there, marked, media_columns
from rewardkit.rows import find_names, has_value, sample_of, value_at
from rewardkit.types import Sample


def samples_from(
    completions: Sequence[Any],
    columns: Mapping[str, Any],
    *,
    prompts: Sequence[Any] | None = None,
    data_source: str | None = None,
) -> list[Sample]:
    """Create a Sample from each completion and its row.

    Args:
        completions: Completions, each a text or chat messages.
        columns: Lists with one value per completion, under the names that `rewardkit.rows` recognises: the
            data source, unless it is given; the ground truth, unless the reward needs none; and `extra_info`.
        prompts: Prompts for the completions, or None if they are not known.
        data_source: Data source of all completions, or None to use the column.

    Raises:
        InputError: The data source is not given, or a column has the wrong length.
    """
    n = len(completions)
    names = find_names(lambda name: _has(columns, name))
    if names.data_source is None and data_source is None:
        raise InputError(
            "the dataset has no column 'data_source'; add the column, "
            "or create the reward with make_reward(data_source=...)"
        )
    sources = _column(columns, names.data_source, n)
    ground_truths = _column(columns, names.ground_truth, n)
    extras = _column(columns, names.extra_info, n)
    media = [_column(columns, name, n) for name in media_columns([*columns])]
    return [
        sample_of(
            data_source or sources[i],
            completions[i],
            ground_truths[i],
            marked(prompts[i], any(is_there(of_row[i]) for of_row in media)) if prompts is not None else None,
            extras[i],
        )
        for i in range(n)
    ]


def _has(columns: Mapping[str, Any], name: str) -> bool:
    if name in columns:
        return columns[name] is not None
    head, dot, _ = name.partition(".")
    return bool(dot) and any(has_value({head: value}, name) for value in columns.get(head) or ())


def _column(columns: Mapping[str, Any], name: str | None, n: int) -> Sequence[Any]:
    """Return the values of a column with a possibly dotted name, or `n` None values if `name` is None."""
    if name is None:
        return [None] * n
    head = name if name in columns else name.partition(".")[0]
    column = columns[head]
    if isinstance(column, str) or len(column) != n:
        raise InputError(f"the column '{head}' must be a list with one value for each of the {n} completions")
    if head == name:
        values: Sequence[Any] = column
        return values
    return [value_at({head: value}, name) for value in column]
