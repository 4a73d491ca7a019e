"""Reads what a row says of its episode: the agent, the tools and their settings, the interaction.

What comes of it in a run, which has agents, tools and interactions of its own, is in `resolving.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rewardkit.errors import InputError
from rewardkit.json_objects import NOT_JSON
from rewardkit.types import Message


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One row, as far as its episode needs it."""

    messages: Sequence[Message]
    """The prompt."""
    data_source: str = ""
    ground_truth: str = ""
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    agent_name: str | None = None
    """None, an empty text and `single_turn_agent` name no agent: the run decides."""


@dataclass(frozen=True, slots=True)
class RowTools:
    """The tools of one row."""

    selection: tuple[str, ...] | None
    """Names, from `tool_selection`; None: all tools of the run."""
    create_kwargs: Mapping[str, Mapping[str, Any]]
    """By tool, `tools_kwargs[tool]["create_kwargs"]`. Tools without settings in the row are left out."""


def tools_of(extra_info: Mapping[str, Any]) -> RowTools:
    """Read `tools_kwargs` and `tool_selection`, which may be JSON texts.

    Raises:
        InputError: one of them does not have verl's form.
    """
    given = _plain(extra_info, "tools_kwargs", Mapping)
    kwargs: dict[str, Mapping[str, Any]] = {}
    for name, settings in (given or {}).items():
        if settings is None or says_nothing(settings):
            continue
        if not isinstance(settings, Mapping):
            raise InputError(f"extra_info.tools_kwargs['{name}'] is {settings!r:.40}; expected a mapping")
        create = settings.get("create_kwargs")
        kwargs[str(name)] = create if isinstance(create, Mapping) else {}
    names = _plain(extra_info, "tool_selection", Sequence)
    return RowTools(None if names is None else tuple(map(str, names)), kwargs)


def says_nothing(settings: Any) -> bool:
    """Return whether a row's settings of a tool are mere filling: every value in them is null or empty.

    All rows of a file have the same columns, so a row has settings of tools that only other rows use. `prep`
    writes empty texts there, since verl's loader takes no nulls.
    """
    create = settings.get("create_kwargs") if isinstance(settings, Mapping) else None
    if not isinstance(create, Mapping) or not create:
        return False
    return all(value is None or (isinstance(value, str) and not value) for value in create.values())


def interaction_of(extra_info: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """Return the name of the row's interaction, None where it names none, and its other `interaction_kwargs`.

    Raises:
        InputError: it is no mapping.
    """
    given = _plain(extra_info, "interaction_kwargs", Mapping) or {}
    name = given.get("name")
    return str(name) if name else None, {key: value for key, value in given.items() if key != "name"}


def _plain(extra_info: Mapping[str, Any], name: str, kind: type) -> Any:
    value = extra_info.get(name)
    if isinstance(value, str) and kind is not str:
        try:
            value = msgspec.json.decode(value) if value else None
        except NOT_JSON:
            raise InputError(f"extra_info.{name} is not valid JSON: {value!r:.40}") from None
    if value is not None and hasattr(value, "tolist"):  # pandas hands over arrays
        value = value.tolist()
    if value is None or isinstance(value, kind):
        return value
    raise InputError(f"extra_info.{name} is {value!r:.40}; expected a {kind.__name__.lower()}")
