"""Execution of episodes. For each episode, this module creates tools, runs the loop and releases the tools.

All episodes share one model. Each episode is a coroutine, so a slow tool delays only its own episode. Tools
are released even after an error, a timeout or a cancellation. They are also released on SIGTERM if `drive`
runs the coroutines.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from rewardkit.agents.episode import Episode, EpisodeEnded, EpisodeUnscored
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.executing import name_of, within
from rewardkit.agents.model_turns import Speaking
from rewardkit.agents.registry import Agent
from rewardkit.agents.resolving import EpisodeSetup, ResolvedEpisode, resolve, resolve_rows
from rewardkit.agents.types import Busy, ChatModel, Interaction, TokenModel, Tool
from rewardkit.threads import in_thread
from rewardkit.tool_calls.formats import format_named
from rewardkit.types import Message
from rewardkit.users_code import running, told

T = TypeVar("T")

STOP_S = 20.0
"""Seconds that episodes have to release their resources after SIGTERM."""


@dataclass(frozen=True, slots=True)
class EpisodePrompt:
    """Prompt and tools at the start of an episode."""

    episode: ResolvedEpisode
    messages: list[Message]
    schemas: list[Mapping[str, Any]]
    """Schemas of the tools that the chat template renders."""
    tools: dict[str, Tool]
    """Tools by name. The `create` methods of these tools have not been called yet."""


def begin(row: EpisodeRow, setting: EpisodeSetup) -> EpisodePrompt:
    """Prepare the prompt and the tools for a row's episode.

    Raises:
        InputError: The row names an agent, a tool or an interaction that does not exist.
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
    """Return the prompt's token ids for a row without starting an episode. The list is empty for a ChatModel.

    Raises:
        InputError: The row names an agent, a tool or an interaction that does not exist.
        TemplateError: The chat template cannot render the prompt.
    """
    if setting.transcript is None:
        return []
    prompt = begin(row, setting)
    return setting.transcript.prompt_ids(prompt.messages, prompt.schemas)


async def run_episode(
    row: EpisodeRow, model: TokenModel | ChatModel, setting: EpisodeSetup, seed: int = 0
) -> Episode:
    """Run one episode to its end and return it.

    If the loop or the model raises an exception, the episode ends with the reason `error`. If the task is
    cancelled, the episode ends with the reason `cancelled`, its tools are released, and the function still
    returns the episode. The caller must therefore await the task after cancelling it.

    Raises:
        InputError: The row names an agent, a tool or an interaction that does not exist.
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
    """Create the tools, run the loop, and collect the rewards for the whole episode."""
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
        episode: Episode that is about to run.
        resolved: Names and arguments of the episode's tools and interaction.
        begun: List of release functions. A resource's release function is added before the resource is
            created.
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
            await _start(episode, episode.interaction, resolved.interaction_kwargs)
        except Exception as error:
            name = name_of(episode.interaction)
            episode.end("interaction_failed", f"{name} did not start: {told(name, error)}")
    if episode.ended is not None:
        raise EpisodeEnded(episode.ended)


async def _start(episode: Episode, interaction: Interaction, kwargs: Mapping[str, Any]) -> None:
    """Start the interaction. If it is busy, wait until it can start; the time limits exclude this wait."""
    while True:
        try:
            with running(name_of(interaction)):
                return await within(interaction.start(**kwargs), episode.limits.tool_seconds)
        except Busy as busy:
            with getattr(episode.speaking.model, "idle", contextlib.nullcontext)():
                await busy.free()
            episode.start_clock()


async def _ask_rewards(episode: Episode) -> None:
    """Collect the rewards from the tools and the interaction. If one fails, mark the episode as failed."""
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
            name = name_of(episode.interaction)
            with running(name):
                episode.interaction_score = await within(episode.interaction.score(), seconds)
    except EpisodeUnscored as error:
        episode.status = error.status
        episode.detail = str(error)
    except Exception as error:
        episode.status = "error"
        episode.detail = f"{name} could not score the episode: {told(name, error)}"


async def _give_back(begun: Sequence[Callable[[], Awaitable[None]]], seconds: float) -> None:
    """Release all resources exactly once, even if this coroutine is cancelled."""

    async def release(give_back: Callable[[], Awaitable[None]]) -> None:
        try:
            with running(name_of(getattr(give_back, "__self__", None))):
                await within(give_back(), seconds)
        except Exception:
            return  # this function can neither handle nor report the failure

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
    """Run episodes for all rows concurrently, and return the episodes in the order of the rows.

    Args:
        rows: Rows to play.
        model: Model that all episodes share.
        setting: Settings of the run.
        seeds: One seed per row. Sampling in an episode depends only on the episode's seed.
        concurrency: Maximum number of episodes that run at the same time, or None for no maximum.
        ended: Function that is called with the row's index and the episode when an episode has ended.

    Raises:
        InputError: A row names an agent, a tool or an interaction that does not exist. No episode has run
            yet.
        CancelledError: The call was cancelled. All tools have been released.
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
    """Run a coroutine in a new event loop and return its result.

    SIGTERM cancels the coroutine, so that it can release its resources, and then has its usual effect.
    Outside the main thread, this function does not handle SIGTERM.
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
        _restore(before)
        if told:
            signal.raise_signal(signal.SIGTERM)


def drive_beside(work: Coroutine[Any, Any, T], attend: Callable[[Future[T]], None]) -> T:
    """Run a coroutine in a new thread and return its result. Meanwhile, call `attend` in the current thread.

    SIGTERM has the same effect as in `drive`. Call this function in the main thread.

    Args:
        attend: Function that returns when the future is done.
    """
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

    async def main() -> T:
        task = asyncio.ensure_future(work)
        begun.set_result((asyncio.get_running_loop(), task))
        return await task

    ended = in_thread(lambda: asyncio.run(main()), "episodes")

    def stop(*_: object) -> None:
        loop, task = begun.result()
        with contextlib.suppress(RuntimeError):  # the loop may already have ended
            loop.call_soon_threadsafe(task.cancel)
        wait([ended], STOP_S)
        _restore(before)
        signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        attend(ended)
        return ended.result()
    finally:
        _restore(before)


def _restore(handler: Any) -> None:
    """Set the handler of SIGTERM. None represents a handler that was not set from Python."""
    signal.signal(signal.SIGTERM, handler if handler is not None else signal.SIG_DFL)


def _interaction(row: EpisodeRow, resolved: ResolvedEpisode, setting: EpisodeSetup) -> Interaction | None:
    """Create the environment or interaction for a row's episode, or return None if it has neither."""
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
