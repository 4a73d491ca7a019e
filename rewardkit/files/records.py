"""Chunks of raw rows, as an Arrow table or lines of JSON, with their place in the file.

The package `rewardkit.logs` interprets the rows.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from rewardkit.errors import InputError
from rewardkit.json_objects import NOT_JSON
from rewardkit.text import writable

BOM = b"\xef\xbb\xbf"
"""Byte order mark that some tools put before UTF-8 text."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

LINE_BYTES = 64 << 20
"""Maximum length of a line that is read as a row or as part of a row."""
UNREADABLE = (OSError, EOFError, zlib.error, pa.ArrowException)
"""Exceptions that reading a damaged file may raise, whether the file is compressed or not."""

RawRow = Mapping[str, Any]

_decoder = msgspec.json.Decoder()


def without_mark(content: bytes, path: str) -> bytes:
    """Return the beginning of a text file without a UTF-8 byte order mark.

    Raises:
        InputError: The file has a UTF-16 byte order mark.
    """
    if content.startswith(_UTF_16):
        raise InputError(f"{path} is UTF-16; convert the file: iconv -f UTF-16 -t UTF-8 {path} > NEW")
    return content.removeprefix(BOM)


def not_utf_8(error: UnicodeDecodeError) -> str:
    """Return a message that says where a text is not UTF-8, and what to do."""
    byte = error.object[error.start]
    return f"not UTF-8: byte {error.start} is 0x{byte:02x}; convert the file: iconv -f ENCODING -t UTF-8"


class BadRowError(ValueError):
    """Error raised for a row that cannot be used. The message gives the reason but not the place."""


class FileRange(msgspec.Struct, frozen=True):
    """Range of complete lines in a local, uncompressed file, which another process can read."""

    path: str
    start: int
    """Offset of the first byte."""
    size: int
    """Number of bytes, including line ends."""

    def lines(self, count: int) -> tuple[bytes, ...]:
        """Return `count` lines as in `Records.lines`, or fewer lines if the file has changed."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return stripped(file.read(self.size).split(b"\n")[:count])


def stripped(lines: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return lines without leading and trailing white space."""
    return tuple([line.strip() for line in lines])


@dataclass(frozen=True, slots=True)
class Records:
    """Consecutive rows of a file."""

    first_row: int
    """Number of the first row, counted from 0. Empty lines in text files are counted."""
    count: int
    table: pa.Table | None = None
    """Rows in typed columns, or None if the rows are lines or damaged."""
    lines: tuple[bytes, ...] = ()
    """Rows as JSON objects, one per line, without line ends. An empty line is not a row."""
    damaged: str | None = None
    """Reason why none of these rows can be read, or None if they can be read."""
    place: FileRange | None = None
    """Range of the file in which another process can read these lines, or None if no other process can."""

    def first(self, count: int) -> Records:
        """Return a chunk with only the first `count` rows."""
        table = None if self.table is None else self.table.slice(0, count)
        return Records(self.first_row, min(count, self.count), table, self.lines[:count], self.damaged)


def require_names_once(names: Iterable[str], what: object) -> None:
    """Check that no two columns have the same name.

    Args:
        names: Names of the columns.
        what: File or object that has the columns, for the error message.

    Raises:
        InputError: Two columns have the same name, which the message states.
    """
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise InputError(f"{what} has two columns named '{repeated[0]}'; rename one of them")


def parse(line: bytes) -> RawRow:
    """Parse a line of JSON as an object. Bare NaN and Infinity are accepted, since many tools write them.

    Raises:
        BadRowError: The line is not a JSON object, or an object in it has a duplicate key.
    """
    try:
        row = _decoder.decode(line)
    except NOT_JSON:
        row = _parse_leniently(line)
    if not isinstance(row, dict):
        raise BadRowError(f"expected a JSON object, found {type(row).__name__}")
    if _may_repeat_keys([line], [row]) and (name := _repeated_key(line)) is not None:
        raise BadRowError(f"duplicate key '{name}' in an object; remove one key")
    return row


def parse_all(lines: Sequence[bytes]) -> list[RawRow | BadRowError | None]:
    """Parse each line as an object. The result is an error for an invalid line and None for an empty line."""
    with contextlib.suppress(*NOT_JSON):
        rows = [_decoder.decode(line) for line in lines]
        if set(map(type, rows)) <= {dict} and not _may_repeat_keys(lines, rows):
            return rows
    return [_parsed(line) for line in lines]


def _parsed(line: bytes) -> RawRow | BadRowError | None:
    try:
        return parse(line) if line else None
    except BadRowError as error:
        return error


_SPACED = re.compile(rb'"\s+:')
_ESCAPED = re.compile(rb'(\\?)\\"\s*:')


def _may_repeat_keys(lines: Sequence[bytes], rows: Sequence[RawRow]) -> bool:
    """Return True if an object in the lines may have a duplicate key, and False if none can.

    A parser keeps only the last value of a duplicate key. In the lines, a quote and a colon follow each key.
    Texts may also contain a quote and a colon, so the number of these pairs is at least the number of keys.
    If it equals the number of keys in the parsed rows, the parser has dropped no key.
    """
    colons = sum([line.count(b'":') for line in lines])
    if any(map(_SPACED.search, lines)):
        colons += sum([len(_SPACED.findall(line)) for line in lines])
    level: Sequence[Any] = rows
    while level:
        objects = [value for value in level if type(value) is dict]
        colons -= sum(map(len, objects))
        if not colons:
            return False
        inner = itertools.chain.from_iterable(map(dict.values, objects))
        if len(objects) < len(level):
            lists = [value for value in level if type(value) is list]
            inner = itertools.chain(inner, itertools.chain.from_iterable(lists))
        level = [value for value in inner if type(value) in _HOLDERS]
    in_text = [_ESCAPED.findall(line) for line in lines]
    return colons > sum(len(found) for found in in_text if not any(found))


_HOLDERS = frozenset((dict, list))


def _repeated_key(line: bytes) -> str | None:
    """Return a duplicate key of an object in a line of JSON, or None if there is no such key."""
    found: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            found.extend(name for name in made if sum(name == key for key, _ in pairs) > 1)
        return made

    with contextlib.suppress(ValueError, RecursionError):
        json.loads(line.removeprefix(BOM).decode("utf-8", "replace"), object_pairs_hook=once)
    return next(iter(found), None)


def _parse_leniently(line: bytes) -> Any:
    try:
        return writable(json.loads(line.removeprefix(BOM).decode("utf-8")))
    except UnicodeDecodeError as error:
        raise BadRowError(f"the row is {not_utf_8(error)}") from None
    except json.JSONDecodeError as error:
        raise BadRowError(f"the row is not JSON: {error.msg}, at character {error.pos}") from None
    except ValueError as error:
        raise BadRowError(f"the row is not JSON: {error}") from None
    except RecursionError:
        raise BadRowError("the JSON of the row is nested too deeply") from None
