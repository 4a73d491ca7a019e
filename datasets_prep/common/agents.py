"""Columns for multi-turn rows, with the settings of tools and interactions in one schema for all datasets.

The trainer implements the agent loops, tools and interactions. This module only writes their names and
arguments. It adds the following fields to `extra_info`:
- `need_tools_kwargs`: True if the row has an agent.
- `tools_kwargs`: The `create_kwargs` for each tool in `TOOLS`. With `--agent`, the dataset's own tool gets
  the ground truth, the question and the data source, and all other tools get empty strings. Every row has
  every tool and no nulls, because verl's loader reads the `create_kwargs` of each tool. Datasets with
  different tools can therefore be concatenated.
- `interaction_kwargs`: `name`, `query` (the user's message) and `ground_truth`. Without an interaction, these
  are empty strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from rewardkit.checks.agents import VERL_TOOLS as TOOLS
from rewardkit.datasets_prep.common.settings import PrepSettings

DEFAULT_AGENT = "tool_agent"
"""Agent loop that runs interactions.

If a row does not name this loop, verl silently ignores the interaction.
"""

_CREATE = pa.struct([("ground_truth", pa.string()), ("question", pa.string()), ("data_source", pa.string())])
_TOOL = pa.struct([("create_kwargs", _CREATE)])
_FIELDS = [
    pa.field("need_tools_kwargs", pa.bool_()),
    pa.field("tools_kwargs", pa.struct([(tool, _TOOL) for tool in TOOLS])),
    pa.field(
        "interaction_kwargs",
        pa.struct([("name", pa.string()), ("query", pa.string()), ("ground_truth", pa.string())]),
    ),
]


def schema_for(schema: pa.Schema, settings: PrepSettings) -> pa.Schema:
    """Return the schema, with the multi-turn fields added if the settings have an agent or interaction."""
    if settings.agent is None and settings.interaction is None:
        return schema
    place = schema.get_field_index("extra_info")
    info = schema.field(place)
    return schema.set(place, pa.field("extra_info", pa.struct([*info.type, *_FIELDS])))


def multi_turn(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, tool: str, settings: PrepSettings
) -> Iterator[pa.RecordBatch]:
    """Yield the rows with the agent and the interaction from the settings, if there are any.

    Args:
        batches: Batches of the dataset's rows.
        schema: Result of `schema_for`.
        tool: Tool for the dataset, one of `TOOLS`.
        settings: Settings for the run.
    """
    if settings.agent is None and settings.interaction is None:
        yield from batches
        return
    for batch in batches:
        yield _with_columns(batch, schema, tool, settings)


def _with_columns(
    batch: pa.RecordBatch, schema: pa.Schema, tool: str, settings: PrepSettings
) -> pa.RecordBatch:
    rows = batch.num_rows
    info = batch.column("extra_info")
    empty = pa.repeat("", rows)
    ground_truth = batch.column("ground_truth")
    own = _struct(_CREATE, [ground_truth, info.field("question"), batch.column("data_source")])
    other = _struct(_CREATE, [empty, empty, empty])
    has_tool = settings.agent is not None
    tools = [_struct(_TOOL, [own if has_tool and name == tool else other]) for name in TOOLS]
    interaction = [empty, empty, empty]
    if settings.interaction is not None:
        query = pa.array([prompt[-1]["content"] for prompt in batch.column("prompt").to_pylist()])
        interaction = [pa.repeat(settings.interaction, rows), query, ground_truth]
    arrays = [info.field(i) for i in range(info.type.num_fields)]
    arrays += [
        pa.repeat(has_tool, rows),
        _struct(_FIELDS[1].type, tools),
        _struct(_FIELDS[2].type, interaction),
    ]
    changed = {
        "extra_info": _struct(schema.field("extra_info").type, arrays),
        "agent_name": pa.repeat(settings.agent or DEFAULT_AGENT, rows),
    }
    columns = [changed.get(name, batch.column(name)) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _struct(kind: pa.StructType, arrays: list[pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(arrays, fields=list(kind))
