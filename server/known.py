"""Result types for lookups in the index of ground truths.

The index itself is in `ground_truths`, which needs Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PromptValue = str | Sequence[Mapping[str, Any]]
"""Prompt as plain text, chat-templated text or chat messages."""


class KnownRow(NamedTuple):
    """Row in the index that was found for a prompt."""

    data_source: str
    ground_truth: str
    extra_info: dict[str, Any]


class Ambiguous(NamedTuple):
    """Two rows with the same prompt and different data sources or ground truths."""

    row: int
    other: int
