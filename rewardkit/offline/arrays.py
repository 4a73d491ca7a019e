"""Conversion of Python values to Arrow arrays through memory buffers.

This module avoids `pa.array` and `pa.scalar`, because they import pandas on first use if it is installed.
That import takes as long as scoring 100,000 rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate

import pyarrow as pa

from rewardkit.text import writable


def floats(values: Sequence[float | None]) -> pa.Array:
    """Return numbers as an array of float64."""
    held = pa.py_buffer(array("d", [0.0 if value is None else value for value in values]))
    return pa.Array.from_buffers(pa.float64(), len(values), [_validity(values), held])


def booleans(values: Sequence[bool | None]) -> pa.Array:
    """Return truth values as an array of bool."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [_validity(values), _bits(map(bool, values))])


def texts(values: Sequence[str | None]) -> pa.Array:
    """Return texts as an array of strings. Lone surrogates become U+FFFD."""
    found = ["" if value is None else value for value in values]
    try:
        encoded = [text.encode() for text in found]
    except UnicodeEncodeError:
        encoded = [writable(text).encode() for text in found]
    buffers = [_validity(values), _offsets(map(len, encoded)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def places(indices: Sequence[int]) -> pa.Array:
    """Return indices as an array of int32."""
    return pa.Array.from_buffers(pa.int32(), len(indices), [None, pa.py_buffer(array("i", indices))])


def lists(items: pa.Array, lengths: Sequence[int]) -> pa.Array:
    """Return consecutive items grouped into an array of lists with these lengths."""
    buffers = [None, _offsets(lengths)]
    return pa.Array.from_buffers(pa.list_(items.type), len(lengths), buffers, children=[items])


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    return _bits(value is not None for value in values) if None in values else None


def _bits(flags: Iterable[bool]) -> pa.Buffer:
    held = pa.py_buffer(bytes(flags))
    return pa.Array.from_buffers(pa.uint8(), held.size, [None, held]).cast(pa.bool_()).buffers()[1]


def _offsets(lengths: Iterable[int]) -> pa.Buffer:
    return pa.py_buffer(array("i", accumulate(lengths, initial=0)))
