"""Resolution of rows to episodes, which determines the agent, tools and interaction for each row.

The settings of a run apply to every row, and a row selects some of the run's tools and interactions. It is an
error if a row names a tool or interaction that the run does not have. It is also an error if no row uses a
tool, interaction, environment or agent that the run specifies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.loops import BUILT_IN
from rewardkit.agents.registry import AGENTS, SINGLE_TURN, Agent
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import EpisodeLimits, Interaction, Tool
from rewardkit.errors import InputError, did_you_mean
from rewardkit.json_objects import NOT_JSON

AGENTS.offer(BUILT_IN)
MULTI_TURN = "tool_agent"
"""Default loop for rows that have tools or an interaction."""
ENVIRONMENT = "env"
"""Default loop if the run has an environment."""


@dataclass(frozen=True)
class EpisodeSetup:
    """Settings that all episodes in a run share, except the model."""

    limits: EpisodeLimits
    transcript: Transcript | None = None
    """Tokenizer and chat template of a TokenModel, or None for a ChatModel."""
    tools: Mapping[str, Callable[[], Tool]] = field(default_factory=dict)
    """Functions that create a new tool for an episode, by name."""
    interactions: Mapping[str, Callable[[], Interaction]] = field(default_factory=dict)
    """Functions that create a new interaction for an episode, by name."""
    calls: str = "hermes"
    """Format in which the model writes calls. See `tool_calls/formats.py`."""
    default_agent: str | None = None
    """Loop for rows that name no agent. If it is None, the function `default_agent` chooses the loop."""
    stop: tuple[str, ...] = ()
    """Texts that end every turn of the model."""
    env: str = ""
    """Environment for all rows with the loop `env`. If empty, each row names its own environment."""
    agent: str | None = None
    """Loop for all rows of the run. It overrides the agents that the rows name."""
    agents: tuple[str, ...] = ()
    """Names of the loops in the run's agent file."""


@dataclass(frozen=True, slots=True)
class ResolvedEpisode:
    """Agent, tools and interaction for a row's episode."""

    agent: Agent
    tools: tuple[str, ...] = ()
    """Names of the tools that the model may call."""
    create_kwargs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments for a tool's `create` method, by tool name. Some tools may be missing from the run."""
    interaction: str | None = None
    interaction_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments for the `start` method of the interaction."""


def default_agent(named: str | None, *, tools: bool, interaction: bool, env: bool) -> str:
    """Return the name of the loop for rows that name no agent.

    Args:
        named: Loop that the run specifies for these rows, or None. The general default `single_turn_agent` is
            treated like None.
        tools: True if the run has tools.
        interaction: True if the run has an interaction or the row names one.
        env: True if the run has an environment.
    """
    if named and named != SINGLE_TURN:
        return named
    return ENVIRONMENT if env else MULTI_TURN if tools or interaction else SINGLE_TURN


def resolve(row: EpisodeRow, setting: EpisodeSetup) -> ResolvedEpisode:
    """Resolve a row to the agent, tools and interaction for its episode.

    Raises:
        InputError: The row names an unknown agent, tool or interaction, the row names no interaction although
            the run has several, or the agent needs settings that no agent file provides.
    """
    named, kwargs = interaction_of(row.extra_info)
    agent = _agent(row, setting, interaction=bool(named or setting.interactions))
    said = tools_of(row.extra_info)
    tools: tuple[str, ...] = ()
    if agent.takes_tools:
        tools = tuple(setting.tools) if said.selection is None else said.selection
        for name in tools:
            _require(name, setting.tools, "tool")
    interaction = _interaction(named, setting) if agent.interaction and agent.opens is None else None
    if interaction is not None:
        kwargs = {"ground_truth": row.ground_truth, "data_source": row.data_source, **kwargs}
    return ResolvedEpisode(agent, tools, said.create_kwargs, interaction, kwargs)


def _agent(row: EpisodeRow, setting: EpisodeSetup, *, interaction: bool) -> Agent:
    named = None if row.agent_name == SINGLE_TURN else row.agent_name
    has = {"tools": bool(setting.tools), "interaction": interaction, "env": bool(setting.env)}
    found = AGENTS.resolve(setting.agent or named or default_agent(setting.default_agent, **has))
    if found.settings is not None and found.given is None:
        raise InputError(
            f"the agent '{found.name}' needs settings; pass an agent file that has an entry with "
            "this name (--agent-file, or rollout.agent.agent_loop_config_path; docs/programs.md)"
        )
    return found


def _interaction(named: str | None, setting: EpisodeSetup) -> str | None:
    """Return the interaction that a row names, or else the run's only interaction."""
    if named is not None:
        _require(named, setting.interactions, "interaction")
    elif len(setting.interactions) > 1:
        raise InputError(
            f"the row names none of this run's interactions ({', '.join(setting.interactions)}); set "
            "extra_info.interaction_kwargs.name"
        )
    return named or next(iter(setting.interactions), None)


def _require(name: str, known: Mapping[str, object], what: str) -> None:
    if name not in known:
        has = f"; this run has {', '.join(known)}" if known else f"; this run is given no {what}s"
        raise InputError(f"there is no {what} '{name}'{did_you_mean(name, known) or has}")


def resolve_rows(rows: Sequence[EpisodeRow], setting: EpisodeSetup) -> list[ResolvedEpisode]:
    """Resolve rows to episodes, and check that the environments for the episodes can be created.

    Raises:
        InputError: See `resolve`. The message names the first invalid row.
    """
    episodes = []
    for i, row in enumerate(rows):
        try:
            episodes.append(found := resolve(row, setting))
            if found.agent.opens is not None:
                found.agent.opens(row, setting.env)
        except InputError as error:
            raise InputError(f"row {i}: {error}") from None
    return episodes


def refuse_unused(
    episodes: Sequence[ResolvedEpisode], setting: EpisodeSetup, words: Mapping[str, str]
) -> None:
    """Check that each tool, interaction, environment and agent of the run is used by at least one row.

    Args:
        episodes: Episodes of all rows in the run.
        setting: Settings of the run.
        words: Names of the options for `tools`, `interactions`, `env`, `default_agent` and `agents`, which
            are used in error messages.

    Raises:
        InputError: A tool, interaction, environment or agent is unused. The message gives the reason.
    """
    agents = {one.agent.name: one.agent for one in episodes}
    every = f"the agents of the rows are {', '.join(sorted(agents))}"
    tools = {name for one in episodes for name in one.tools}
    for name in setting.tools:
        if name not in tools:
            few = f"rows select only {', '.join(sorted(tools))} (extra_info.tool_selection)"
            none = f"no row has an agent that calls tools ({every})"
            selected = any(agent.takes_tools for agent in agents.values())
            why = few if tools else "extra_info.tool_selection of each row is empty" if selected else none
            raise _unused(words["tools"], f"the tool '{name}'", why)
    interactions = {one.interaction for one in episodes if one.interaction is not None}
    for name in setting.interactions:
        if name not in interactions:
            few = f"rows name only {', '.join(sorted(interactions))} (extra_info.interaction_kwargs.name)"
            why = few if interactions else f"no row has an agent that takes an interaction ({every})"
            raise _unused(words["interactions"], f"the interaction '{name}'", why)
    if setting.env and not any(agent.opens for agent in agents.values()):
        raise _unused(words["env"], f"the environment {setting.env}", every)
    if setting.agent is None and setting.default_agent not in (None, SINGLE_TURN):
        default = AGENTS.resolve(str(setting.default_agent)).name
        if default not in agents:
            raise _unused(words["default_agent"], f"the agent '{default}'", every)
    for name in setting.agents:
        if name not in agents:
            raise _unused(words["agents"], f"the agent '{name}'", every)


def _unused(word: str, what: str, why: str) -> InputError:
    return InputError(f"{word}: no row uses {what}: {why}")


def notes_on(
    rows: Sequence[EpisodeRow], episodes: Sequence[ResolvedEpisode], setting: EpisodeSetup
) -> list[str]:
    """Return one line for each kind of setting that some rows contain and the run ignores.

    Args:
        rows: Rows of the run.
        episodes: Episodes for the rows, in the same order.
        setting: Settings of the run.
    """
    notes = []
    ignored = {name for one in episodes for name in one.create_kwargs.keys() - set(one.tools)}
    if names := ignored - set(setting.tools):
        listed = ", ".join(sorted(names))
        notes.append(f"rows have tools_kwargs for tools that this run does not have; ignored: {listed}")
    pairs = zip(rows, episodes, strict=True)
    others = (row.extra_info.get("env") for row, one in pairs if one.agent.opens is not None)
    if setting.env and any(other not in (None, "", setting.env) for other in others):
        notes.append("rows name environments of their own; the run's environment is used instead")
    return notes


# Settings in a row's `extra_info`.


@dataclass(frozen=True, slots=True)
class RowTools:
    """Tools of one row and their settings."""

    selection: tuple[str, ...] | None
    """Names in `tool_selection`, or None if the row selects all tools of the run."""
    create_kwargs: Mapping[str, Mapping[str, Any]]
    """Values of `tools_kwargs[tool]["create_kwargs"]`, by names of the tools that have settings in the
    row."""


def tools_of(extra_info: Mapping[str, Any]) -> RowTools:
    """Read `tools_kwargs` and `tool_selection`. Either of the two may be a JSON string.

    Raises:
        InputError: The value of a key does not have verl's format.
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
    """Return True if a row's settings for a tool are only padding: all values are null or empty.

    All rows in a file have the same columns, so a row also has columns for tools that only other rows use.
    `prep` fills these columns with empty strings, because verl's loader does not accept nulls.
    """
    create = settings.get("create_kwargs") if isinstance(settings, Mapping) else None
    if not isinstance(create, Mapping) or not create:
        return False
    return all(value is None or (isinstance(value, str) and not value) for value in create.values())


def interaction_of(extra_info: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """Return the name of the row's interaction (None if it has no name), and its other `interaction_kwargs`.

    If there is no name, null and empty values are padding and are dropped, as in `says_nothing`.

    Raises:
        InputError: `interaction_kwargs` is not a mapping.
    """
    given = _plain(extra_info, "interaction_kwargs", Mapping) or {}
    name = given.get("name")
    kwargs = {key: value for key, value in given.items() if key != "name"}
    if name:
        return str(name), kwargs
    return None, {key: value for key, value in kwargs.items() if value is not None and value != ""}


def _plain(extra_info: Mapping[str, Any], name: str, kind: type) -> Any:
    value = extra_info.get(name)
    if isinstance(value, str) and kind is not str:
        try:
            value = msgspec.json.decode(value) if value else None
        except NOT_JSON:
            raise InputError(f"extra_info.{name} is not valid JSON: {value!r:.40}") from None
    if value is not None and hasattr(value, "tolist"):  # pandas returns a list as an array
        value = value.tolist()
    if value is None or isinstance(value, kind):
        return value
    raise InputError(f"extra_info.{name} is {value!r:.40}; expected a {kind.__name__.lower()}")
