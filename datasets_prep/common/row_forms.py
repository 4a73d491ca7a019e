"""Implements `--like`, which writes rows with the same columns as another project's preparation scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa

from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.sources import Record, Source
from rewardkit.errors import InputError, did_you_mean
from rewardkit.extensions import FUNCTION, Table

_ROWS = 1_024
"""Number of rows in a batch, and thus in a row group."""

FormedRow = dict[str, Any]
MakeRow = Callable[[Record, str, Mapping[str, object]], FormedRow]
"""Function that creates a row from a raw record, the name of its split and the dataset-specific settings."""


@dataclass(frozen=True, slots=True)
class RowForm:
    """Row format of another project's preparation script."""

    name: str
    """Value of `--like` with the release, such as `verl@0.7.1:tool`, which always refers to one script."""
    make: MakeRow


FindForm = Callable[[str, str], RowForm]
"""Function that returns the row format for the name of a dataset and the value of `--like`. It raises
InputError if the format is unknown."""

PROJECTS: Table[FindForm] = Table("row_forms", FUNCTION, {})
"""Functions that find a row format, by project. The project is the first word in the value of `--like`."""


def form_of(dataset: str, like: str) -> RowForm:
    """Return the row format that a value of `--like` specifies.

    Raises:
        InputError: The project is unknown, or has no such format for the dataset.
    """
    who = re.split("[@:]", like, maxsplit=1)[0]
    if who not in PROJECTS:
        near = did_you_mean(who, PROJECTS)
        raise InputError(f"--like {like}: unknown project '{who}'; expected {', '.join(PROJECTS)}{near}")
    return PROJECTS[who](dataset, like)


def batches_of(
    make: MakeRow, source: Source, own: Mapping[str, object], bad: BadRows
) -> dict[str, Iterator[pa.RecordBatch]]:
    """Return an iterator over the batches for each split. See `formed_batches`."""
    return {split: formed_batches(partial(_rows, make, source, split, own), bad) for split in source.splits}


def formed_batches(read: Callable[[BadRows], Iterator[FormedRow]], bad: BadRows) -> Iterator[pa.RecordBatch]:
    """Yield batches of the rows that `read` yields.

    The rows are read twice. The first pass finds the types of columns that are kept as published, because
    only the rows reveal these types.

    Raises:
        InputError: A row cannot be used, or a column has values of several types.
    """
    schema = pa.schema([])
    for rows in _parts(read(BadRows(skip=bad.skip))):
        found = pa.schema(list(_array(rows, None).type))
        schema = pa.unify_schemas([schema, found], promote_options="permissive")
    for rows in _parts(read(bad)):
        yield pa.RecordBatch.from_struct_array(_array(rows, pa.struct(list(schema))))


def _rows(
    make: MakeRow, source: Source, split: str, own: Mapping[str, object], bad: BadRows
) -> Iterator[FormedRow]:
    for record in source.splits[split](bad):
        try:
            row = make(record, split, own)
        except InputError as error:
            bad.add(error)
        else:
            yield row


def _parts(rows: Iterable[FormedRow]) -> Iterator[list[FormedRow]]:
    source = iter(rows)
    while some := list(islice(source, _ROWS)):
        yield some


def _array(rows: list[FormedRow], kind: pa.StructType | None) -> pa.StructArray:
    try:
        return pa.array(rows, type=kind)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(f"a column has values of different types in different rows: {error}") from None
