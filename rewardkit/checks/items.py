"""Reader of files with prompts in any form, which yields rows in the representation that the checks use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.files.formats import RowFile
from rewardkit.files.records import BadRowError, RawRow, Records
from rewardkit.logs.samples import parsed
from rewardkit.messages import message_text
from rewardkit.rows import MEDIA, RowNames, ground_truth_text, plain_mapping, prompt_of, value_at
from rewardkit.types import Message


@dataclass(frozen=True, slots=True)
class Item:
    """Contents of one row."""

    row: int
    """Row number in the file, from 0."""
    data_source: str
    prompt: str | list[Message] | None
    ground_truth: str
    extra_info: Mapping[str, Any]
    raw: RawRow = field(repr=False, default_factory=dict)
    """Row as it was read."""

    @property
    def question(self) -> str:
        """Text of the last user message."""
        if not isinstance(self.prompt, list):
            return self.prompt or ""
        asked = [m for m in self.prompt if isinstance(m, Mapping) and m.get("role") == "user"]
        return message_text(asked[-1]) if asked else ""

    @property
    def media(self) -> Any:
        """Images, videos or audio in the prompt, or None if the prompt is only text."""
        found = [self.raw[name] for name in MEDIA if self.raw.get(name)]
        return found or None


def item_of(raw: RawRow, row: int, names: RowNames, data_source: str | None) -> Item:
    """Convert a row to an item."""
    source = data_source if data_source is not None else value_at(raw, names.data_source)
    return Item(
        row,
        "" if source is None else str(source),
        prompt_of(value_at(raw, names.prompt)),
        ground_truth_text(value_at(raw, names.ground_truth)) or "",
        plain_mapping(value_at(raw, names.extra_info)),
        raw,
    )


def read_items(
    file: RowFile, names: RowNames, data_source: str | None, *, limit: int | None = None
) -> Iterator[list[Item | tuple[int, str]]]:
    """Yield the rows in a file as lists of a few thousand rows.

    An unreadable row is represented by its number and the reason.

    Args:
        file: File to read.
        names: Names of the columns.
        data_source: Data source of every row, which overrides any data source in the file.
        limit: Maximum number of rows to read, or None for all rows.
    """
    seen = 0
    for records in file.chunks():
        if limit is not None:
            records = records.first(limit - seen)
        yield list(_items(records, names, data_source))
        seen += records.count
        if limit is not None and seen >= limit:
            return


def _items(records: Records, names: RowNames, data_source: str | None) -> Iterator[Item | tuple[int, str]]:
    if records.damaged is not None:
        yield from ((records.first_row + i, records.damaged) for i in range(records.count))
        return
    for row, raw in enumerate(parsed(records), start=records.first_row):
        if isinstance(raw, BadRowError):
            yield row, str(raw)
        elif raw is not None:
            yield item_of(raw, row, names, data_source)
