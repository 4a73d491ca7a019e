"""Checks of a single row: its data source, prompt, ground truth, agent, tools and interaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rewardkit.agents.resolving import default_agent, says_nothing
from rewardkit.checks.agents import (
    INTERACTIONS,
    SINGLE_TURN,
    TOOLS,
    agent_names,
    agent_problem,
)
from rewardkit.checks.findings import FindingLevel, Findings
from rewardkit.checks.forms import FileForm
from rewardkit.checks.items import Item
from rewardkit.errors import MissingDependencyError, UnknownDataSourceError, did_you_mean
from rewardkit.json_objects import NOT_JSON
from rewardkit.messages import message_text
from rewardkit.pictures import PictureError, has_media, pictures_in, with_pictures
from rewardkit.registry import Registry
from rewardkit.rows import MEDIA, ground_truth_text, value_at
from rewardkit.types import Message

ROLES = ("system", "user", "assistant", "tool", "developer")


@dataclass(frozen=True)
class Known:
    """Data sources, agents, tools and interactions that rows may name."""

    registry: Registry
    agents: tuple[str, ...] = field(default_factory=agent_names)
    tools: frozenset[str] = frozenset()
    interactions: frozenset[str] = frozenset()
    any_source: bool = False
    """True to allow any data source, for rows that rewardkit does not score."""

    @cached_property
    def _sources(self) -> dict[str, str | None]:
        return {}

    def problem_of(self, data_source: str) -> str | None:
        """Return the reason why rows with a data source cannot be scored, or None if they can be scored."""
        if data_source not in self._sources:
            try:
                self.registry.resolve(data_source).require_packages()
                self._sources[data_source] = None
            except (UnknownDataSourceError, MissingDependencyError) as error:
                self._sources[data_source] = str(error)
        return self._sources[data_source]


def check_contents(item: Item, form: FileForm, file: str, known: Known, findings: Findings) -> None:
    """Report problems with the data source, the ground truths and the prompt of one row."""

    def say(level: FindingLevel, check: str, what: str, key: str = "") -> None:
        findings.add(level, check, file, what, item.row, key=key)

    if not known.any_source and (form.needs_source or item.data_source):
        problem = known.problem_of(item.data_source) if item.data_source else "the row has no data source"
        if problem and item.data_source and value_at(item.raw, "reward_model.style") == "model":
            what = f"'{item.data_source}' is scored by a model; pass the model with --reward-model or --judge"
            say("warning", "data source", what, item.data_source)
        elif problem:
            say("error", "data source", problem, item.data_source)
        _check_ground_truths(item, say)
    if form.names.prompt is not None:
        _check_prompt(item, form, Path(file).parent, say)


def _check_ground_truths(item: Item, say: Any) -> None:
    """Report a row with two different ground truths, one read by rewardkit and the other by verl."""
    if "ground_truth" not in item.raw or not isinstance(item.raw.get("reward_model"), Mapping):
        return
    other = ground_truth_text(value_at(item.raw, "reward_model.ground_truth"))
    if other is not None and other != item.ground_truth:
        say(
            "error",
            "ground truth",
            f"ground_truth is {item.ground_truth!r:.40}, but reward_model.ground_truth is {other!r:.40}; "
            "expected the same text in both",
            "two",
        )


def _check_prompt(item: Item, form: FileForm, folder: Path, say: Any) -> None:
    prompt = item.prompt
    if has_media(item.raw, prompt):
        _check_pictures(item, form, folder, say)
    if not prompt or (isinstance(prompt, str) and not prompt.strip()):
        say("error", "prompt", "the prompt is empty", "empty")
        return
    if isinstance(prompt, str):
        if form.needs_messages:
            say("error", "prompt", "the prompt is text; expected chat messages", "text")
        return
    for message in prompt:
        problem = _message_problem(message, has_media=item.media is not None)
        if problem:
            say("error", "prompt", problem, problem)
            return
    if form.names.prompt != "messages" and prompt[-1].get("role") == "assistant":
        what = "the prompt ends with an assistant message, which the model will continue"
        say("warning", "prompt", what, "last")


def _check_pictures(item: Item, form: FileForm, folder: Path, say: Any) -> None:
    """Report pictures that do not agree with the marks in the prompt, or that cannot be decoded."""
    try:
        for picture in pictures_in(with_pictures(item.raw, value_at(item.raw, form.names.prompt), folder)):
            picture.load()
    except PictureError as error:
        say("error", "images", str(error), "images")


def _message_problem(message: Message, *, has_media: bool) -> str | None:
    role = message.get("role")
    content = message.get("content")
    if not isinstance(role, str):
        return "a message of the prompt has no role"
    if role not in ROLES:
        near = did_you_mean(role, ROLES)
        return f"a message of the prompt has the role '{role}'; expected one of {', '.join(ROLES)}{near}"
    calls = bool(message.get("tool_calls"))
    has_text = isinstance(content, str | list) and bool(message_text(message).strip())
    has_parts = has_media or (isinstance(content, list) and any(_is_medium(part) for part in content))
    if has_text or has_parts or calls or role == "assistant":
        return None
    return f"a message of the prompt with the role {role} is empty"


def _is_medium(part: Any) -> bool:
    return isinstance(part, Mapping) and any(part.get(name) or part.get("type") == name for name in MEDIA)


def check_agent(item: Item, file: str, known: Known, findings: Findings) -> None:
    """Report unknown agents, tools and interactions in a row, and tools that its agent would not call."""

    def say(level: FindingLevel, check: str, what: str, key: str = "") -> None:
        findings.add(level, check, file, what, item.row, key=key)

    agent = item.raw.get("agent_name")
    if "agent_name" in item.raw:
        if not agent:
            say("warning", "agent", f"agent_name is null; rows without an agent have '{SINGLE_TURN}'", "null")
        elif problem := agent_problem(str(agent), known.agents):
            say("error", "agent", problem, str(agent))
    tools = _tools(item)
    interaction = _interaction(item)
    for name, settings in tools.items():
        if settings is None:
            say(
                "error",
                "tools",
                f"tools_kwargs['{name}'] is null, which verl does not accept",
                f"null {name}",
            )
        elif says_nothing(settings):
            continue
        elif name not in known.tools and name not in TOOLS:
            near = did_you_mean(name, known.tools)
            what = f"tools_kwargs['{name}'] is ignored: unknown tool; pass the tool's file with --tools{near}"
            say("warning", "tools", what, name)
    if interaction is not None and interaction not in {*known.interactions, *INTERACTIONS}:
        near = did_you_mean(interaction, known.interactions)
        what = f"unknown interaction '{interaction}'; pass the interaction's file with --interactions{near}"
        say("error", "interaction", what, interaction)
    named = None if agent in (None, "", SINGLE_TURN) else str(agent)
    given = bool(known.interactions) or interaction is not None
    if tools and default_agent(named, tools=bool(known.tools), interaction=given, env=False) == SINGLE_TURN:
        what = f"the row has tools, but names no agent; a run without --tools uses '{SINGLE_TURN}'"
        say("warning", "agent", what, "unused")


def _tools(item: Item) -> Mapping[str, Any]:
    found = _plain_or_json(item.extra_info.get("tools_kwargs"))
    return found if isinstance(found, Mapping) else {}


def _interaction(item: Item) -> str | None:
    found = _plain_or_json(item.extra_info.get("interaction_kwargs"))
    name = found.get("name") if isinstance(found, Mapping) else None
    return str(name) if name else None


def _plain_or_json(value: Any) -> Any:
    """Return the value, decoded if it is JSON text, or None if it is any other text.

    Files that mix datasets store settings as JSON so that all rows have the same schema.
    """
    if not isinstance(value, str):
        return value
    import msgspec

    try:
        return msgspec.json.decode(value)
    except NOT_JSON:
        return None
