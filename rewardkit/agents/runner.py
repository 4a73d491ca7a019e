"""Runs episodes: makes the tools of each, lets its loop drive it, and releases its tools at the end.

Each episode is a coroutine, and all share one model, so a slow tool holds up its own episode alone. Tools are
released after an error, a timeout and a cancel too, and on SIGTERM where `drive` runs the coroutines.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rewardkit.agents.episode import Episode, EpisodeEnded, EpisodeUnscored
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.executing import within
from rewardkit.agents.model_turns import Speaking
from rewardkit.agents.registry import Agent
from rewardkit.agents.resolving import EpisodeSetup, ResolvedEpisode, resolve, resolve_rows
from rewardkit.agents.types import ChatModel, Interaction, TokenModel, Tool
from rewardkit.tool_calls.formats import format_named
from rewardkit.types import Message
from rewardkit.users_code import running, told

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EpisodePrompt:
    """Beginning of an episode."""

    episode: ResolvedEpisode
    messages: list[Message]
    schemas: list[Mapping[str, Any]]
    """Schemas of the tools that the template shows."""
    tools: dict[str, Tool]
    """Tools by name; `create` has not been called yet."""


def begin(row: EpisodeRow, setting: EpisodeSetup) -> EpisodePrompt:
    """Return what a row's episode begins with.

    Raises:
        InputError: the row names an agent, a tool or an interaction that does not exist.
    """
    found = resolve(row, setting)
    agent = found.agent
    tools = {name: setting.tools[name]() for name in found.tools}
    schemas = [tool.schema for tool in tools.values()]
    messages = [dict(message) for message in row.messages]
    if agent.prepare is not None:
        messages = agent.prepare(messages, schemas)
    return EpisodePrompt(found, messages, schemas if agent.tools == "template" else [], tools)


def prompt_ids(row: EpisodeRow, setting: EpisodeSetup) -> list[int]:
    """Return the token ids of the prompt of a row's episode, without starting one. Empty for a ChatModel.

    Raises:
        InputError: the row names an agent, a tool or an interaction that does not exist.
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
    agent = prompt.episode.agent
    episode = Episode(
        row,
        _speaking(model, agent, setting),
        setting.limits,
        seed=seed,
        agent_name=agent.name,
        messages=prompt.messages,
        schemas=prompt.schemas,
        tools=prompt.tools,
        tools_as_text=agent.tools == "text",
        interaction=_interaction(row, prompt.episode, setting),
    )
    begun: list[Callable[[], Awaitable[None]]] = []
    try:
        await _live(episode, prompt.episode, begun)
    except asyncio.CancelledError:
        episode.end("cancelled", "the episode was cancelled")
    except Exception as error:
        episode.end("error", told(f"the agent {prompt.episode.agent.name}", error))
    finally:
        await _give_back(begun, setting.limits.tool_seconds)
    return episode


async def _live(
    episode: Episode, resolved: ResolvedEpisode, begun: list[Callable[[], Awaitable[None]]]
) -> None:
    """Create the tools, run the loop, and ask for the rewards of the whole episode."""
    try:
        await _create(episode, resolved, begun)
        with running(resolved.agent.name):
            await resolved.agent.play(episode)
        episode.end(episode.why_answered())
    except EpisodeEnded:
        pass
    await _ask_rewards(episode)


async def _create(
    episode: Episode, resolved: ResolvedEpisode, begun: list[Callable[[], Awaitable[None]]]
) -> None:
    """Create the tools and start the interaction.

    Args:
        begun: Gets what releases each, before it is begun.
    """
    kwargs = resolved.create_kwargs
    seconds = episode.limits.tool_seconds

    async def create(name: str, tool: Tool) -> None:
        begun.append(tool.release)
        try:
            with running(name):
                await within(tool.create(**kwargs.get(name, {})), seconds)
        except Exception as error:
            why = told(f"the tool {name}", error)
            episode.end("tool_failed", f"cannot create the tool {name}: {why}")

    await asyncio.gather(*(create(name, tool) for name, tool in episode.tools.items()))
    if episode.interaction is not None:
        begun.append(episode.interaction.finish)
        try:
            with running("the interaction"):
                await within(episode.interaction.start(**resolved.interaction_kwargs), seconds)
        except Exception as error:
            why = told("the interaction", error)
            episode.end("interaction_failed", f"the interaction did not start: {why}")
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
            with running(name):
                value = await within(tool.reward(), seconds)
            if value is not None:
                episode.tool_rewards[name] = float(value)
        if episode.interaction is not None:
            name = "the interaction"
            with running(name):
                episode.interaction_score = await within(episode.interaction.score(), seconds)
    except EpisodeUnscored as error:
        episode.status = error.status
        episode.detail = str(error)
    except Exception as error:
        episode.status = "error"
        episode.detail = f"{name} could not score the episode: {told(name, error)}"


async def _give_back(begun: Sequence[Callable[[], Awaitable[None]]], seconds: float) -> None:
    """Release everything once, even if this is cancelled."""

    async def release(give_back: Callable[[], Awaitable[None]]) -> None:
        try:
            with running(getattr(getattr(give_back, "__self__", None), "name", "the interaction")):
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
    resolve_rows(rows, setting)
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


def _interaction(row: EpisodeRow, resolved: ResolvedEpisode, setting: EpisodeSetup) -> Interaction | None:
    """Make what answers the model in a row's episode: an environment, or the interaction."""
    if resolved.agent.opens is not None:
        return resolved.agent.opens(row, setting.env)
    return None if resolved.interaction is None else setting.interactions[resolved.interaction]()


def _speaking(model: TokenModel | ChatModel, agent: Agent, setting: EpisodeSetup) -> Speaking:
    name = agent.calls or setting.calls
    if agent.tools == "none":
        return Speaking(model, setting.transcript, name, setting.stop)
    form = format_named(name)
    ids = () if setting.transcript is None else setting.transcript.ids_of(form.stop_tokens)
    return Speaking(model, setting.transcript, name, (*setting.stop, *form.stop), ids)
