"""Receipt of a file, which identifies the models that wrote its responses and the rewards of its scores.

The receipt is in the metadata of a Parquet file, or in `FILE.receipt` beside any other file.
`rewardkit.lock.replay` uses it to score the file again, and `origins.py` to tell files apart. It contains no
facts about the machine, so that equal runs write equal bytes.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError, reason_of
from rewardkit.files.inputs import RECEIPT, find_inputs, format_of, open_binary
from rewardkit.files.publishing import published
from rewardkit.files.records import UNREADABLE
from rewardkit.identity.reward_identity import Identity
from rewardkit.json_objects import NOT_JSON

KEY = b"rewardkit.receipt"
"""Key of the receipt in the metadata of a Parquet file."""
_BLOCK = 1 << 20


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """Record of everything that determined the scores of one file."""

    rewards: dict[str, Identity]
    """Identities of the rewards, by data source."""
    prefix: str = ""
    """Prefix of the score columns."""
    content: str = ""
    """`content_digest` of the file; empty for files from rewardkit 0.1."""
    generated: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """Models and sampling settings that wrote the responses, if rewardkit has generated them."""


def receipt_of(
    rewards: dict[str, Identity], prefix: str, content: str, generated: Sequence[dict[str, Any]] = ()
) -> Receipt:
    """Return the receipt for a file with this content digest."""
    return Receipt(dict(sorted(rewards.items())), prefix, content, list(generated))


def encoded(receipt: Receipt) -> bytes:
    """Return a receipt as JSON with sorted keys."""
    return msgspec.json.encode(receipt, order="sorted")


def write_beside(out: Path, receipt: Receipt) -> None:
    """Write the receipt for a file beside the file.

    Raises:
        InputError: The receipt cannot be written.
    """
    with published(_beside(out)) as file:
        file.write(msgspec.json.format(encoded(receipt), indent=1) + b"\n")


def read_receipt(path: Path) -> Receipt | None:
    """Return the receipt of a scored file, or None if the file has no receipt.

    Raises:
        InputError: The receipt cannot be read.
    """
    try:
        if format_of(str(path)) == "parquet":
            content = (pq.read_metadata(path).metadata or {}).get(KEY)
        else:
            beside = _beside(path)
            content = beside.read_bytes() if beside.exists() else None
        return None if content is None else msgspec.json.decode(content, type=Receipt)
    except (OSError, pa.ArrowException, *NOT_JSON) as error:
        raise InputError(f"cannot read the receipt of {path}: {error}") from None


class DigestingSink(io.BufferedIOBase):
    """Stream that writes to another stream and computes a digest of the written data."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink = sink
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return self._sink.write(data)

    @property
    def digest(self) -> str:
        """Digest of all data written so far, in the form of `content_digest`."""
        return self._digest.hexdigest()


def content_digest(path: Path) -> str:
    """Return the SHA-256 of a file's content in hex.

    Compressed content is decompressed first. The footer of a Parquet file is excluded because it contains the
    receipt.

    Raises:
        InputError: The file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with open_binary(find_inputs([path])[0]) as file:
            left = _before_footer(file) if format_of(str(path)) == "parquet" else sys.maxsize
            while left and (block := file.read(min(_BLOCK, left))):
                digest.update(block)
                left -= len(block)
    except UNREADABLE as error:
        raise InputError(f"cannot read {path}: {reason_of(error)}") from None
    return digest.hexdigest()


def _before_footer(file: IO[bytes]) -> int:
    """Return the number of bytes before the footer of a Parquet file.

    A Parquet file ends with the length of the footer and a magic number of four bytes.
    """
    end = file.seek(-8, os.SEEK_END)
    length = int.from_bytes(file.read(4), "little")
    file.seek(0)
    return max(end - length, 0)


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.name}{RECEIPT}")
