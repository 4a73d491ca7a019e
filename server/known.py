"""Facts that an index of ground truths holds about a prompt. The index itself, in `ground_truths`, needs
Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

PromptValue = str | Sequence[Mapping[str, Any]]
"""Text, plain or chat-templated, or chat messages."""


class KnownRow(NamedTuple):
    """Row of a prompt."""

    data_source: str
    ground_truth: str
    extra_info: dict[str, Any]


class Ambiguous(NamedTuple):
    """Rows that have the same prompt disagree on what is right; two of them."""

    row: int
    other: int
