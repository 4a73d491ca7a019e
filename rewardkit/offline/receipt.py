"""The receipt of a scored file: which rewards made its scores.

A parquet has it in its metadata, any other file beside it, in `FILE.receipt`. `rewardkit.lock.replay` scores
the file again by it. It holds nothing of the machine, so that equal runs write equal bytes.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
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
"""Key in a parquet's metadata."""
_BLOCK = 1 << 20


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """Record of everything that decided the scores of one file."""

    rewards: dict[str, Identity]
    """Identities of the rewards, by data source."""
    prefix: str = ""
    """Prefix of the score columns."""
    content: str = ""
    """`content_digest` of the file; empty in files of rewardkit 0.1."""


def receipt_of(rewards: dict[str, Identity], prefix: str, content: str) -> Receipt:
    """Return the receipt of a file of this content."""
    return Receipt(dict(sorted(rewards.items())), prefix, content)


def encoded(receipt: Receipt) -> bytes:
    """Return a receipt as JSON with sorted keys."""
    return msgspec.json.encode(receipt, order="sorted")


def write_beside(out: Path, receipt: Receipt) -> None:
    """Write the receipt of a file that has no metadata.

    Raises:
        InputError: it cannot be written.
    """
    with published(_beside(out)) as file:
        file.write(msgspec.json.format(encoded(receipt), indent=1) + b"\n")


def read_receipt(path: Path) -> Receipt | None:
    """Return the receipt of a scored file; None if it has none.

    Raises:
        InputError: it cannot be read.
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
    """Passes on what is written, and counts it in the digest of a file's content."""

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
        """Return the digest of all that was written so far, as `content_digest` computes it."""
        return self._digest.hexdigest()


def content_digest(path: Path) -> str:
    """Return the SHA-256, in hex, of a file's content: unpacked, and of a parquet all that stands before the
    footer, which has the receipt.

    Raises:
        InputError: it cannot be read.
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
    """Return how many bytes stand before a parquet's footer, whose length and a mark of four bytes end it."""
    end = file.seek(-8, os.SEEK_END)
    length = int.from_bytes(file.read(4), "little")
    file.seek(0)
    return max(end - length, 0)


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.name}{RECEIPT}")
