"""Rows as they were read: an Arrow table or lines of JSON, in chunks, with their place in the file.

What they mean is decided in `kinds` and `samples`.
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
"""Byte order mark, which some tools put before text in UTF-8."""
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

LINE_BYTES = 64 << 20
"""The longest line that is read as a row, or as part of one."""
UNREADABLE = (OSError, EOFError, zlib.error, pa.ArrowException)
"""Exceptions that reading a damaged file raises, packed or not."""

RawRow = Mapping[str, Any]

_decoder = msgspec.json.Decoder()


def without_mark(content: bytes, path: str) -> bytes:
    """Return the beginning of a file of text without the mark of UTF-8.

    Raises:
        InputError: it has that of UTF-16.
    """
    if content.startswith(_UTF_16):
        raise InputError(f"{path} is UTF-16; convert the file: iconv -f UTF-16 -t UTF-8 {path} > NEW")
    return content.removeprefix(BOM)


class BadRowError(ValueError):
    """A row that cannot be used; the message says why, not where."""


class FileRange(msgspec.Struct, frozen=True):
    """Some whole lines of a local file that is not packed, for another process to read."""

    path: str
    start: int
    """Offset of the first byte."""
    size: int
    """Bytes, line ends included."""

    def lines(self, count: int) -> tuple[bytes, ...]:
        """Read that many lines, as `Records` has them; fewer where the file has changed."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return stripped(file.read(self.size).split(b"\n")[:count])


def stripped(lines: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return lines without white space around them."""
    return tuple([line.strip() for line in lines])


@dataclass(frozen=True, slots=True)
class Records:
    """Some consecutive rows of a file."""

    first_row: int
    """The number of the first, from 0; in lines of text, empty ones count."""
    count: int
    table: pa.Table | None = None
    """Rows with columns of a type; None if they are lines, or damaged."""
    lines: tuple[bytes, ...] = ()
    """Rows that are JSON objects, one a line, without line ends. An empty one is no row."""
    damaged: str | None = None
    """Reason why none of these rows can be read."""
    place: FileRange | None = None
    """Place where another process can read these lines; None: only here."""

    def first(self, count: int) -> Records:
        """Return the first rows alone."""
        table = None if self.table is None else self.table.slice(0, count)
        return Records(self.first_row, min(count, self.count), table, self.lines[:count], self.damaged)


def require_names_once(names: Iterable[str], what: object) -> None:
    """Refuse columns of which two have one name; `what` has them.

    Raises:
        InputError: which name it is.
    """
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise InputError(f"{what} has two columns named '{repeated[0]}'; rename one of them")


def parse(line: bytes) -> RawRow:
    """Return the object in a line of JSON. A bare NaN or Infinity is taken, as many tools write them.

    Raises:
        BadRowError: it is none, or an object in it has a key twice.
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
    """Return the object in each line, or why it is none; None for an empty line."""
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
    """True unless no object in the lines can have a key twice, of which the rows have the last value alone.

    A quote and a colon follow each key. Text may have both too, so there are at least as many as keys: where
    there are as many as the rows have, no key was lost.
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
    """Return a key that an object in a line of JSON has twice; None where there is none."""
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
        raise BadRowError(f"the row is not UTF-8: byte {error.start} is 0x{line[error.start]:02x}") from None
    except ValueError as error:
        raise BadRowError(f"the row is not JSON: {error}") from None
    except RecursionError:
        raise BadRowError("the JSON of the row is nested too deeply") from None
