"""Readers for formats whose rows are read as Python objects: CSV, JSON and inspect logs.

The package `rewardkit.logs` interprets the rows.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import struct
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

import pyarrow as pa

from rewardkit.errors import InputError, reason_of
from rewardkit.files import records
from rewardkit.files.inputs import Input, open_binary, suffix_of
from rewardkit.files.records import require_names_once, without_mark
from rewardkit.json_objects import object_of_pairs
from rewardkit.text import writable


def csv_rows(source: Input) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV or TSV file. Missing cells are null, and a column without a name is left out.

    Raises:
        InputError: A row has more cells than there are columns, a quote is not closed, or a line or cell is
            too long.
    """
    csv.field_size_limit(records.LINE_BYTES)
    with open_binary(source) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="")
        header = text.readline(records.LINE_BYTES)
        without_mark(header[:2].encode(errors="surrogateescape"), source.path)
        lines = _LinesOfRow(header, text)
        reader = csv.DictReader(lines, source.header or None, delimiter=_delimiter(source, header))
        try:
            names = reader.fieldnames or []
            if any(not name.isascii() and writable(name) != name for name in names):
                raise InputError(f"{source.path}: the column names are not UTF-8; convert the file to UTF-8")
            require_names_once(names, source.path)
            for row in reader:
                more = row.pop(None, ())
                if any(more):
                    raise InputError(
                        f"{source.path}, line {reader.line_num}: the row has {len(row) + len(more)} cells, "
                        f"but the header has {len(row)} columns; quote cells that contain the separator"
                    )
                row.pop("", None)
                if lines.held > 1 and lines.quotes % 2 and lines.at_end:
                    raise csv.Error("a quote is not closed")
                lines.held = lines.quotes = 0
                yield _with_nulls(row)
        except csv.Error as error:
            raise InputError(f"{source.path}, line {reader.line_num}: {error}") from None


def _with_nulls(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with null for each empty cell, because CSV files represent null by an empty cell.

    An empty response that has been scored remains an empty text.
    """
    found = {name: cell or None for name, cell in row.items()}
    if found.get("response", "") is None:
        statuses = (f"{name.removesuffix('scorer')}status" for name in row if name.endswith("scorer"))
        if any(found.get(name) == "ok" for name in statuses):
            found["response"] = ""
    return found


class _LinesOfRow:
    """Iterable over a CSV file's lines, which counts the lines and quotes read since the last row.

    The counts reveal a quote that is never closed. Python's strict mode is not used, because it would also
    reject a space after a closing quote.
    """

    def __init__(self, header: str, rest: TextIO) -> None:
        self._lines = itertools.chain([header], iter(lambda: rest.readline(records.LINE_BYTES), ""))
        self.held = 0
        self.quotes = 0
        self.at_end = False

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            if len(line) >= records.LINE_BYTES:
                raise csv.Error(f"the line is longer than {records.LINE_BYTES >> 20} MB")
            self.held += 1
            self.quotes += line.count('"')
            yield line
        self.at_end = True


def _delimiter(source: Input, header: str) -> str:
    """Return the cell separator: a tab for .tsv, else the first of comma, semicolon and tab in the header."""
    if suffix_of(source.member or source.path) == ".tsv":
        return "\t"
    return next((sign for sign in ",;\t" if sign in header), ",")


def json_rows(source: Input) -> Iterator[Any]:
    """Yield the rows of a JSON file.

    The file may contain a single object, an array of objects, or one object per line. An object may also
    contain an array of objects, or represent a table. In an array of chats, each chat is a row with the
    single column `conversations`.

    Raises:
        InputError: The file is not JSON or has none of these forms.
    """
    with open_binary(source) as file:
        content = without_mark(file.read(), source.path)
    try:
        found = json.loads(content, object_pairs_hook=object_of_pairs)
    except (ValueError, RecursionError) as error:
        found = _rows_in_lines(content)
        if found is None:
            raise InputError(f"{source.path} is not JSON ({error})") from None
    if isinstance(found, dict):
        if {"version", "status", "eval", "plan"} <= found.keys():
            for sample in found.get("samples") or ():
                yield {"eval": _task_of(found), **sample}
            return
        lists = [value for value in found.values() if _is_rows(value)]
        found = lists[0] if len(lists) == 1 else _table_rows(found) or _rows_within(found) or [found]
    if _is_list_of(found, list) and all(map(_is_rows, found)):
        found = [{"conversations": chat} for chat in found]  # Open-Reasoner-Zero uses this format.
    if not _is_rows(found):
        raise InputError(f"{source.path} must contain a JSON array of objects")
    yield from found


def _rows_in_lines(content: bytes) -> list[Any] | None:
    """Parse one JSON value per line, as some tools write into .json files. Return None for other content."""
    try:
        lines = [line for line in content.splitlines() if line.strip()]
        return [json.loads(line, object_pairs_hook=object_of_pairs) for line in lines]
    except (ValueError, RecursionError):
        return None


def _table_rows(found: dict[str, Any]) -> list[Any] | None:
    """Return the rows of a table in a JSON format of W&B or pandas, or None for any other object."""
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


def _rows_within(found: dict[str, Any]) -> list[Any] | None:
    """Return rows that are nested one level deeper, next to settings and totals, or None.

    The rows must make up at least half of the object's JSON text.
    """
    inner = [value for value in found.values() if isinstance(value, dict)]
    held = [rows for value in inner if (rows := _table_rows(value)) is not None]
    held += [one for value in inner for one in value.values() if _is_rows(one)]
    largest = max(held, key=lambda rows: len(json.dumps(rows)), default=None)
    if largest is None or len(largest) < 2 or 2 * len(json.dumps(largest)) < len(json.dumps(found)):
        return None
    return largest


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, kind) for one in value)


def _is_rows(value: Any) -> bool:
    return _is_list_of(value, dict)


def inspect_rows(source: Input) -> Iterator[dict[str, Any]]:
    """Yield the samples in an inspect log (`.eval`), a zip archive of a header and one JSON file per sample.

    https://github.com/UKGovernmentBEIS/inspect_ai/blob/main/src/inspect_ai/log/_recorders/eval.py
    """
    try:
        with open_binary(source) as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            header = "header.json" if "header.json" in names else "_journal/start.json"
            task = _task_of(json.loads(_member(file, archive, header)))
            for name in names:
                if name.startswith("samples/"):
                    yield {"eval": task, **json.loads(_member(file, archive, name))}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, pa.ArrowException) as error:
        raise InputError(f"{source.path} is not a readable inspect log: {reason_of(error)}") from None


def _task_of(header: dict[str, Any]) -> str:
    """Return the name of an inspect log's dataset, or else of its task."""
    evaluation = header["eval"]
    return str(evaluation["dataset"].get("name") or evaluation["task"])


def _member(file: BinaryIO, archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a file in a zip archive. Inspect uses zstd, which zipfile does not support before Python 3.14."""
    found = archive.getinfo(name)
    if found.compress_type != _ZSTD:
        return archive.read(found)
    file.seek(found.header_offset)
    header = file.read(_LOCAL_HEADER.size)
    file.seek(sum(_LOCAL_HEADER.unpack(header)), os.SEEK_CUR)
    packed = pa.BufferReader(file.read(found.compress_size))
    unpacked: bytes = pa.CompressedInputStream(packed, "zstd").read()
    return unpacked


_ZSTD = 93
_LOCAL_HEADER = struct.Struct("<26xHH")
"""Local header of a file in a zip archive.

The header ends with the lengths of the name and the extra fields, which follow the header.
"""
