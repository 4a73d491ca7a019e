"""Files whose rows are read as Python objects: csv, JSON and the logs of inspect.

What they mean is decided in `kinds` and `samples`.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

from rewardkit.errors import InputError, MissingDependencyError, reason_of
from rewardkit.files.inputs import Input, open_binary, suffix_of
from rewardkit.files.records import BOM


def csv_rows(source: Input) -> Iterator[dict[str, Any]]:
    """The rows of a csv or tsv file. Cells that a row lacks are null; those it has too many are left out."""
    csv.field_size_limit(sys.maxsize)
    with open_binary(source) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="")
        header = text.readline()
        lines = itertools.chain([header], text)
        reader = csv.DictReader(lines, restkey="", strict=False, delimiter=_delimiter(source, header))
        names = reader.fieldnames or []
        repeated = [name for name in names if list(names).count(name) > 1]
        if repeated:
            raise InputError(f"{source.path} has two columns named '{repeated[0]}'; rename one of them")
        try:
            for row in reader:
                row.pop("", None)
                yield row
        except csv.Error as error:
            raise InputError(f"{source.path}, line {reader.line_num}: {error}") from None


def _delimiter(source: Input, header: str) -> str:
    """What stands between cells: of a .csv what its header has, where no comma is in it."""
    if suffix_of(source.path) == ".tsv":
        return "\t"
    return next((sign for sign in ",;\t" if sign in header), ",")


def json_rows(source: Input) -> Iterator[Any]:
    """The rows of a JSON file: an array of objects, an object that holds one or is a table, or one object."""
    with open_binary(source) as file:
        content = file.read().removeprefix(BOM)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{source.path} is not JSON ({error}); a file of one object a line is named .jsonl"
        ) from None
    if isinstance(found, dict):
        if {"version", "status", "eval", "plan"} <= found.keys():
            yield from inspect_rows(source)
            return
        lists = [value for value in found.values() if _is_rows(value)]
        found = lists[0] if len(lists) == 1 else _table_rows(found) or [found]
    if not _is_rows(found):
        raise InputError(f"{source.path} holds no array of objects")
    yield from found


def _table_rows(found: dict[str, Any]) -> list[Any] | None:
    """The rows of a table in one of the forms of W&B and pandas; None: it is none."""
    names = found.get("columns", [])
    data = found.get("data", [])
    if _is_list_of(names, str) and _is_list_of(data, list) and {len(row) for row in data} == {len(names)}:
        return [dict(zip(names, row, strict=True)) for row in data]
    values = list(found.values())
    if all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1:
        return [dict(zip(found, cells, strict=True)) for cells in zip(*values, strict=True)]
    if not all(isinstance(value, dict) and value for value in values):
        return None
    if all(key.isdecimal() for key in found):
        return values
    numbers = list(values[0]) if values else []
    if all(number.isdecimal() for number in numbers) and all(list(value) == numbers for value in values):
        return [{name: column[number] for name, column in found.items()} for number in numbers]
    return None


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, kind) for one in value)


def _is_rows(value: Any) -> bool:
    return _is_list_of(value, dict)


def inspect_rows(source: Input) -> Iterator[dict[str, Any]]:
    """The samples of a log of inspect, read with its own library."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError:
        raise MissingDependencyError(
            f"{source.path} is a log of inspect; install its library with: pip install inspect-ai"
        ) from None
    try:
        header = read_eval_log(source.path, header_only=True)
        for sample in read_eval_log_samples(source.path, all_samples_required=False):
            row = sample.model_dump(mode="json", include=_INSPECT_FIELDS)
            yield {"eval": header.eval.dataset.name or header.eval.task, **row}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{source.path} is not a log of inspect that can be read: {reason_of(error)}"
        ) from None


_INSPECT_FIELDS = {"id", "epoch", "input", "target", "output", "scores", "metadata", "error"}
