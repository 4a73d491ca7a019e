"""The digest of the rows of a file, by which a receipt tells whether they are those that were scored.

It covers what the rewards read and nothing else, in a form that does not depend on the format of the file:
parquet fills structs with nulls and makes floats of whole numbers, and csv has text where others have JSON or
nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rewardkit.types import Sample, Score

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()

SIZE = 16
"""Bytes of the digest of one sample."""


def digests_of(samples: Sequence[Sample], scores: Sequence[Score]) -> bytes:
    """Return the digests of some samples, one behind the other, so that chunks can be put together.

    Args:
        scores: theirs. Samples that cannot be scored all have the same digest: how they are unreadable
            depends on the format.
    """
    return b"".join(
        [
            bytes(SIZE) if score.status == "invalid" else _digest(sample)
            for sample, score in zip(samples, scores, strict=True)
        ]
    )


def _digest(sample: Sample) -> bytes:
    read = [sample.data_source, sample.response, _held(sample.ground_truth)]
    if sample.prompt or sample.extra_info:
        read += [_held(sample.prompt or None), _normal(sample.extra_info)]
    return hashlib.blake2b(_encoder.encode(read), digest_size=SIZE).digest()


def _held(value: Any) -> Any:
    """Return what a text of JSON holds: a column whose values have several types is text in a parquet."""
    if isinstance(value, str):
        try:
            value = _decoder.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
    return _normal(value)


def _normal(value: Any) -> Any:
    """Return JSON-ready data without nulls in mappings, and whole numbers as such."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _normal(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    return value
