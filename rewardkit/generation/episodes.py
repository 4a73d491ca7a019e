"""Reads the rows for episodes from a table, and adds finished episodes to the table as columns.

`playing.py` runs the episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.generation.types import Completion, EpisodeRecord
from rewardkit.rows import RowNames, ground_truth_text, plain_mapping
from rewardkit.tables import names_in, type_of, values_of
from rewardkit.types import Message

AGENT = "agent_name"
_TURN = pa.struct(
    [
        ("role", pa.string()),
        ("text", pa.string()),
        ("tokens", pa.int64()),
        ("reward", pa.float64()),
        ("calls", pa.list_(pa.string())),
        ("statuses", pa.list_(pa.string())),
    ]
)
_TOOL_REWARD = pa.struct([("tool", pa.string()), ("reward", pa.float64())])
_COLUMNS: dict[str, tuple[pa.DataType, Callable[[EpisodeRecord], Any]]] = {
    "turns": (pa.list_(_TURN), lambda one: [msgspec.to_builtins(turn) for turn in one.turns]),
    "ended": (pa.string(), lambda one: one.ended),
    "episode_status": (pa.string(), lambda one: one.status),
    "episode_detail": (pa.string(), lambda one: one.detail),
    "turn_rewards": (pa.list_(pa.float64()), lambda one: one.turn_rewards),
    "tool_rewards": (
        pa.list_(_TOOL_REWARD),
        lambda one: [{"tool": name, "reward": value} for name, value in one.tool_rewards.items()],
    ),
    "interaction_score": (pa.float64(), lambda one: one.interaction_score),
}
EPISODE_COLUMNS = tuple(_COLUMNS)
"""Columns that generation adds if the responses are episodes. The columns contain lists of `n` values."""


def episode_values(episode: EpisodeRecord) -> dict[str, Any]:
    """Return the values of `EPISODE_COLUMNS` for an episode."""
    return {name: value(episode) for name, (_, value) in _COLUMNS.items()}


def episode_rows(table: pa.Table, prompts: Sequence[Sequence[Message]], given: RowNames) -> list[EpisodeRow]:
    """Convert the rows of a table to the form that episodes need.

    Args:
        table: Table of prompts.
        prompts: Chat messages for each row.
        given: Column names that differ from the usual names.
    """
    found = names_in(table.schema)
    sources = _values(table, given.data_source or found.data_source)
    ground_truths = _values(table, given.ground_truth or found.ground_truth)
    extras = _values(table, found.extra_info)
    agents = _values(table, AGENT)
    rows = []
    for i, messages in enumerate(prompts):
        name = str(agents[i]) if agents[i] else None
        ground_truth = ground_truth_text(ground_truths[i]) or ""
        rows.append(EpisodeRow(messages, str(sources[i] or ""), ground_truth, plain_mapping(extras[i]), name))
    return rows


def _values(table: pa.Table, name: str | None) -> list[Any]:
    if name is None or type_of(table.schema, name) is None:
        return [None] * len(table)
    return values_of(table, name)


def with_episodes(table: pa.Table, rows: Sequence[Sequence[Completion]]) -> pa.Table:
    """Return a table with `EPISODE_COLUMNS` added."""
    for name, (kind, value) in _COLUMNS.items():
        values = [[None if one.episode is None else value(one.episode) for one in row] for row in rows]
        table = table.append_column(pa.field(name, pa.list_(kind)), pa.array(values, pa.list_(kind)))
    return table
