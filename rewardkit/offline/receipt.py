"""The receipt of a scored file: which rewards made its scores, and how its rows were read.

A parquet has it in its metadata, any other file beside it, in `FILE.receipt`. `rewardkit.lock.replay` scores
the file again by it. It holds nothing of the machine, so that equal runs write equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError
from rewardkit.files.inputs import RECEIPT, format_of
from rewardkit.files.publishing import published
from rewardkit.lock.identity import Identity
from rewardkit.logs.layout import RowLayout
from rewardkit.offline.chunk import RENAMED
from rewardkit.offline.columns import score_names

KEY = b"rewardkit.receipt"
"""In a parquet's metadata."""


class RowsRead(msgspec.Struct, frozen=True):
    """What was read of the rows."""

    samples: int
    """How many there were: one for each response."""
    fields: list[str]
    """Which of `prompt` and `extra_info` the rewards read."""
    digest: str
    """Of the samples, in order: SHA-256 of their `digests_of`, in hex."""


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What decided the scores of one file."""

    rewards: dict[str, Identity]
    """By data source."""
    prefix: str = ""
    """Of the score columns."""
    data_source: str | None = None
    """Of every row; None: the rows say it."""
    names: dict[str, str] = {}
    """The columns that were read, by field; empty for a log of a known kind."""
    join: str | None = None
    """The key by which ground truths were joined; None: the rows have them."""
    rows: RowsRead | None = None
    """None in files of earlier versions."""


def receipt_of(
    layouts: Sequence[RowLayout], rewards: dict[str, Identity], prefix: str, rows: RowsRead
) -> Receipt:
    """Return the receipt of a file whose rows come from files of these layouts."""
    sources = {layout.data_source for layout in layouts}
    names = [asdict(layout.names) if layout.kind is None else {} for layout in layouts]
    shared = names[0] if all(one == names[0] for one in names) else {}
    return Receipt(
        dict(sorted(rewards.items())),
        prefix,
        sources.pop() if len(sources) == 1 else None,
        {field: _as_written(name, prefix) for field, name in shared.items() if name is not None},
        next((layout.join.key for layout in layouts if layout.join is not None), None),
        rows,
    )


def _as_written(name: str, prefix: str) -> str:
    """Return the name that a column of the input has in the output."""
    return f"{RENAMED}{name}" if name.partition(".")[0] in score_names(prefix) else name


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
    except (OSError, pa.ArrowException, msgspec.DecodeError) as error:
        raise InputError(f"cannot read the receipt of {path}: {error}") from None


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.name}{RECEIPT}")
