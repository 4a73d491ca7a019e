"""Runs episodes: makes the tools of each, lets its loop drive it, and releases its tools at the end.

Each episode is a coroutine, and all share one model, so a slow tool holds up its own episode alone. Tools are
released after an error, a timeout and a cancel too, and on SIGTERM where `drive` runs the coroutines.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rewardkit.agents.episode import Episode, EpisodeEnded, EpisodeUnscored
from rewardkit.agents.executing import describe, within
from rewardkit.agents.loops import BUILT_IN
from rewardkit.agents.model_turns import Speaking
from rewardkit.agents.registry import AGENTS, SINGLE_TURN, Agent
from rewardkit.agents.rows import EpisodeRow, interaction_of, tools_of
from rewardkit.agents.transcript import Transcript
from rewardkit.agents.types import ChatModel, EpisodeLimits, Interaction, TokenModel, Tool
from rewardkit.errors import InputError, did_you_mean
from rewardkit.tool_calls.formats import format_named
from rewardkit.types import Message

T = TypeVar("T")
AGENTS.offer(BUILT_IN)


@dataclass(frozen=True)
class EpisodeSetup:
    """What all episodes of a run have in common, except the model."""

    limits: EpisodeLimits
    transcript: Transcript | None = None
    """Of the model's tokenizer. None for a ChatModel."""
    tools: Mapping[str, Callable[[], Tool]] = field(default_factory=dict)
    """By name, a function that makes a new tool for an episode."""
    interactions: Mapping[str, Callable[[], Interaction]] = field(default_factory=dict)
    """By name, a function that makes a new interaction for an episode."""
    calls: str = "hermes"
    """The format in which the model writes calls, see `tool_calls/formats.py`."""
    default_agent: str = SINGLE_TURN
    """The loop of rows that name none."""
    stop: tuple[str, ...] = ()
    """Texts that end every turn of the model."""
    env: str = ""
    """The environment of rows that name none, for the loop `env`."""


@dataclass(frozen=True, slots=True)
class EpisodePrompt:
    """What an episode begins with."""

    agent: Agent
    messages: list[Message]
    schemas: list[Mapping[str, Any]]
    """Of the tools that the template shows."""
    tools: dict[str, Tool]
    """By name; `create` has not been called yet."""


def check_rows(rows: Sequence[EpisodeRow], setting: EpisodeSetup) -> None:
    """Raise InputError for the first row that names an agent, tool or interaction that does not exist."""
    for i, row in enumerate(rows):
        try:
            agent = agent_of(row, setting)
            _tool_names(row, agent, setting)
            _interaction_for(row, agent, setting)
        except InputError as error:
            raise InputError(f"row {i}: {error}") from None


def notes_on(rows: Sequence[EpisodeRow], setting: EpisodeSetup) -> list[str]:
    """Return what whoever starts a run should know of its rows, which have been checked: a line for each."""
    agents = [agent_of(row, setting) for row in rows]
    pairs = list(zip(rows, agents, strict=True))
    replaced = sum(bool(row.agent_name) and agent.name != row.agent_name for row, agent in pairs)
    asked = (tools_of(row.extra_info).create_kwargs for row, agent in pairs if agent.takes_tools)
    unknown = set().union(*asked) - set(setting.tools)
    notes = []
    if replaced:
        which = f"{replaced:,} of {len(rows):,} rows name the agent '{SINGLE_TURN}'"
        notes.append(f"{which}; the run's agent '{setting.default_agent}' is used for these rows instead")
    if unknown:
        names = ", ".join(sorted(unknown))
        notes.append(f"rows have tools_kwargs for tools that this run does not have; ignored: {names}")
    return notes


def check_tools(agents: Iterable[Agent], setting: EpisodeSetup) -> None:
    """Make sure that some agent takes the tools of a run, if it has any.

    Raises:
        InputError: none does.
    """
    if setting.tools and not any(agent.takes_tools for agent in agents):
        names = ", ".join(setting.tools)
        raise InputError(
            f"the run has the tools {names}, but no row has an agent that calls tools; use the agent "
            "'tool_agent'"
        )


def agent_of(row: EpisodeRow, setting: EpisodeSetup) -> Agent:
    """Return the loop of a row: the one that it names, or the run's. A row that names the single turn has the
    run's as well: so do rows that were written without a thought of agents.

    Raises:
        InputError: there is none of that name, or it needs settings that no file gives it.
    """
    named = None if row.agent_name == SINGLE_TURN else row.agent_name
    found = AGENTS.resolve(named or setting.default_agent)
    if found.settings is not None and found.given is None:
        raise InputError(
            f"the agent '{found.name}' needs settings; pass an agent file that has an entry with "
            "this name (--agent-file, or rollout.agent.agent_loop_config_path; docs/programs.md)"
        )
    return found


def begin(row: EpisodeRow, setting: EpisodeSetup) -> EpisodePrompt:
    """Return what a row's episode begins with.

    Raises:
        InputError: the row names an agent or a tool that does not exist.
    """
    agent = agent_of(row, setting)
    tools = {name: setting.tools[name]() for name in _tool_names(row, agent, setting)}
    schemas = [tool.schema for tool in tools.values()]
    messages = [dict(message) for message in row.messages]
    if agent.prepare is not None:
        messages = agent.prepare(messages, schemas)
    return EpisodePrompt(agent, messages, schemas if agent.tools == "template" else [], tools)


def prompt_ids(row: EpisodeRow, setting: EpisodeSetup) -> list[int]:
    """Return the token ids of the prompt of a row's episode, without starting one. Empty for a ChatModel.

    Raises:
        InputError: the row names an agent or a tool that does not exist.
        TemplateError: the template refuses the prompt.
    """
    if setting.transcript is None:
        return []
    prompt = begin(row, setting)
    return setting.transcript.prompt_ids(prompt.messages, prompt.schemas)


async def run_episode(
    row: EpisodeRow, model: TokenModel | ChatModel, setting: EpisodeSetup, seed: int = 0
) -> Episode:
    """Run one episode to its end and return it.

    An exception of its loop or of the model ends it as `error`. If it is cancelled, it ends as `cancelled`,
    releases its tools, and is still returned: a caller that cancels has to await it.

    Raises:
        InputError: the row names an agent, a tool or an interaction that does not exist.
    """
    prompt = begin(row, setting)
    interaction, given = _interaction_for(row, prompt.agent, setting)
    episode = Episode(
        row,
        _speaking(model, prompt.agent, setting),
        setting.limits,
        seed=seed,
        agent_name=prompt.agent.name,
        messages=prompt.messages,
        schemas=prompt.schemas,
        tools=prompt.tools,
        tools_as_text=prompt.agent.tools == "text",
        interaction=interaction,
    )
    begun: list[Callable[[], Awaitable[None]]] = []
    try:
        await _live(episode, prompt.agent, given, begun)
    except asyncio.CancelledError:
        episode.end("cancelled", "the episode was cancelled")
    except Exception as error:
        episode.end("error", describe(error))
    finally:
        await _give_back(begun, setting.limits.tool_seconds)
    return episode


async def _live(
    episode: Episode, agent: Agent, given: Mapping[str, Any], begun: list[Callable[[], Awaitable[None]]]
) -> None:
    """Create the tools, run the loop, and ask for the rewards of the whole episode."""
    try:
        await _create(episode, given, begun)
        await agent.play(episode)
        episode.end(episode.why_answered())
    except EpisodeEnded:
        pass
    await _ask_rewards(episode)


async def _create(
    episode: Episode, given: Mapping[str, Any], begun: list[Callable[[], Awaitable[None]]]
) -> None:
    """Create the tools and start the interaction.

    Args:
        given: What the interaction is started with.
        begun: Gets what releases each, before it is begun.
    """
    kwargs = tools_of(episode.extra_info).create_kwargs
    seconds = episode.limits.tool_seconds

    async def create(name: str, tool: Tool) -> None:
        begun.append(tool.release)
        try:
            await within(tool.create(**kwargs.get(name, {})), seconds)
        except Exception as error:
            episode.end("tool_failed", f"cannot create the tool {name}: {describe(error)}")

    await asyncio.gather(*(create(name, tool) for name, tool in episode.tools.items()))
    if episode.interaction is not None:
        begun.append(episode.interaction.finish)
        try:
            await within(episode.interaction.start(**given), seconds)
        except Exception as error:
            episode.end("interaction_failed", f"the interaction did not start: {describe(error)}")
    if episode.ended is not None:
        raise EpisodeEnded(episode.ended)


async def _ask_rewards(episode: Episode) -> None:
    """Ask the tools and the interaction for their rewards of the episode; an exception makes it an
    `error`."""
    if episode.status != "ok":
        return
    seconds = episode.limits.tool_seconds
    name = ""
    try:
        for name, tool in episode.tools.items():
            value = await within(tool.reward(), seconds)
            if value is not None:
                episode.tool_rewards[name] = float(value)
        if episode.interaction is not None:
            name = "the interaction"
            episode.interaction_score = await within(episode.interaction.score(), seconds)
    except EpisodeUnscored as error:
        episode.status = error.status
        episode.detail = str(error)
    except Exception as error:
        episode.status = "error"
        episode.detail = f"{name} could not score the episode: {describe(error)}"


async def _give_back(begun: Sequence[Callable[[], Awaitable[None]]], seconds: float) -> None:
    """Release everything once, even if this is cancelled."""

    async def release(give_back: Callable[[], Awaitable[None]]) -> None:
        try:
            await within(give_back(), seconds)
        except Exception:
            return  # nothing is left to do about it, and nobody to tell

    work = asyncio.gather(*(release(one) for one in reversed(begun)))
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            continue


async def run_episodes(
    rows: Sequence[EpisodeRow],
    model: TokenModel | ChatModel,
    setting: EpisodeSetup,
    seeds: Sequence[int],
    *,
    concurrency: int | None = None,
    ended: Callable[[int, Episode], None] | None = None,
) -> list[Episode]:
    """Run an episode for each row, all at once, and return them in the order of the rows.

    Args:
        seeds: One for each row. What an episode draws depends on its own seed alone.
        concurrency: How many run at once; None: all.
        ended: Called with the index of the row and its episode when the episode has ended.

    Raises:
        InputError: a row names an agent, a tool or an interaction that does not exist. No episode has run.
        CancelledError: it was cancelled. All tools have been released.
    """
    check_rows(rows, setting)
    gate = asyncio.Semaphore(concurrency or max(len(rows), 1))
    going_on = True

    async def one(place: int, row: EpisodeRow, seed: int) -> Episode | None:
        async with gate:
            if not going_on:
                return None
            episode = await run_episode(row, model, setting, seed)
        if ended is not None and going_on:
            ended(place, episode)
        return episode

    tasks = [
        asyncio.ensure_future(one(i, row, seed))
        for i, (row, seed) in enumerate(zip(rows, seeds, strict=True))
    ]
    try:
        found = await asyncio.gather(*tasks)
    finally:
        going_on = False
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [episode for episode in found if episode is not None]


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in an event loop of its own, and return its result.

    SIGTERM cancels the coroutine, which can release what it holds, and then has its usual effect. In a thread
    other than the main one SIGTERM is not handled.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(work)
    before = signal.getsignal(signal.SIGTERM)
    told = False

    async def main() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)

        def stop(*_: object) -> None:
            nonlocal told
            told = True
            loop.call_soon_threadsafe(task.cancel)

        signal.signal(signal.SIGTERM, stop)
        return await task

    try:
        return asyncio.run(main())
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)
        if told:
            signal.raise_signal(signal.SIGTERM)


def _tool_names(row: EpisodeRow, agent: Agent, setting: EpisodeSetup) -> tuple[str, ...]:
    """The tools that a row is offered: those it selects, or all that the run has."""
    if not agent.takes_tools:
        return ()
    said = tools_of(row.extra_info)
    names = tuple(setting.tools) if said.selection is None else said.selection
    for name in names:
        _known(name, setting.tools, "tool")
    return names


def _interaction_for(
    row: EpisodeRow, agent: Agent, setting: EpisodeSetup
) -> tuple[Interaction | None, Mapping[str, Any]]:
    """What answers the model in a row's episode, and what it is given to begin with."""
    if agent.opens is not None:
        return agent.opens(row, setting.env), {}
    named = interaction_of(row.extra_info) if agent.interaction else None
    if named is None:
        return None, {}
    _known(named[0], setting.interactions, "interaction")
    given = {"ground_truth": row.ground_truth, "data_source": row.data_source, **named[1]}
    return setting.interactions[named[0]](), given


def _known(name: str, known: Mapping[str, object], what: str) -> None:
    if name not in known:
        has = f"; this run has {', '.join(known)}" if known else f"; this run has no {what}s"
        raise InputError(f"there is no {what} '{name}'{did_you_mean(name, known) or has}")


def _speaking(model: TokenModel | ChatModel, agent: Agent, setting: EpisodeSetup) -> Speaking:
    name = agent.calls or setting.calls
    if agent.tools == "none":
        return Speaking(model, setting.transcript, name, setting.stop)
    form = format_named(name)
    ids = () if setting.transcript is None else setting.transcript.ids_of(form.stop_tokens)
    return Speaking(model, setting.transcript, name, (*setting.stop, *form.stop), ids)
