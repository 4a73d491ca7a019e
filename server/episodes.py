"""Episodes whose tools and interaction live here while the model is elsewhere.

An episode is held by one server process; its id says by which, and the others forward requests to that one.
One without a request for `EpisodeServiceSettings.idle_s` is released, and all are when the server stops: a
tool that was created is always released. No HTTP here: `episode_routes.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rewardkit.agents.executing import describe, execute_call, within
from rewardkit.agents.interactions.interaction import OpenInteraction
from rewardkit.agents.loading import Maker, Toolbox
from rewardkit.agents.rows import tools_of
from rewardkit.agents.tools import OpenTool
from rewardkit.agents.types import EpisodeLimits
from rewardkit.errors import InputError, OverloadedError, RewardkitError, did_you_mean
from rewardkit.tool_calls.call import Call
from rewardkit.types import Message

_log = logging.getLogger("rewardkit.server")
_SWEEP_S = 1.0
_STOPPING_S = 5.0
"""How long a call that was cancelled may take to end before its tool is released all the same."""


@dataclass(frozen=True, slots=True)
class EpisodeServiceSettings:
    """What episodes may take, in one server process."""

    idle_s: float = 900.0
    """One that nothing is asked of for so long is released."""
    most: int = 1_000
    """Open at once."""
    most_per_client: int = 500
    seconds: float = 60.0
    """For one call, or one answer of an interaction."""
    response_chars: int = 100_000
    """A longer observation is cut, and says so. Trainers cut theirs further."""


@dataclass(frozen=True, slots=True)
class EpisodeStart:
    """What an episode is opened with."""

    tools: Sequence[str] | None = None
    """None: those that `extra_info.tool_selection` names, or all that the server has."""
    interaction: str | None = None
    """None: that of `extra_info.interaction_kwargs`, or none."""
    ground_truth: str = ""
    data_source: str = ""
    extra_info: Mapping[str, Any] = field(default_factory=dict)


class EpisodeFailed(RewardkitError, RuntimeError):
    """A tool or an interaction failed for a reason that is not the model's."""


class UnknownEpisode(RewardkitError, LookupError):
    """There is no such episode, or it has ended."""


class _Held:
    """One episode that is open."""

    def __init__(
        self, client: str, tools: Mapping[str, OpenTool], interaction: OpenInteraction | None
    ) -> None:
        self.client = client
        self.tools = tools
        self.interaction = interaction
        self.turn = asyncio.Lock()
        """Its calls come one after another."""
        self.busy: set[asyncio.Task[Any]] = set()
        self.until = 0.0
        self.begun: list[Callable[[], Awaitable[None]]] = []
        """What has to be given back."""


class Episodes:
    """The episodes of one server process.

    Args:
        toolbox: The tools that they may have.
        interactions: What makes interactions, by name.
        settings: What they may take.
        place: This process's number.
    """

    def __init__(
        self,
        toolbox: Toolbox,
        interactions: Mapping[str, Maker],
        settings: EpisodeServiceSettings = EpisodeServiceSettings(),
        place: int = 0,
    ) -> None:
        self.toolbox = toolbox
        self.interactions = interactions
        self.settings = settings
        self._place = place
        self._open: dict[str, _Held] = {}
        self._opening = 0
        self._sweeper: asyncio.Task[None] | None = None
        self._limits = EpisodeLimits(
            response_tokens=0, tool_response_chars=settings.response_chars, tool_seconds=settings.seconds
        )

    def __len__(self) -> int:
        return len(self._open)

    async def open(self, row: EpisodeStart, client: str = "") -> dict[str, Any]:
        """Open an episode; return its id and the schemas of its tools.

        Raises:
            InputError: it names a tool or an interaction that is not there, or lacks what one needs.
            OverloadedError: too many are open.
            EpisodeFailed: one of them could not begin.
        """
        self._refuse(client)
        held, create, start = self._made(row, client)
        self._opening += 1
        try:
            await self._begin(held, create, start)
        except BaseException as error:
            await _give_back(held, self.settings.seconds)
            if isinstance(error, Exception) and not isinstance(error, InputError):
                raise EpisodeFailed(f"the episode could not begin: {describe(error)}") from error
            raise
        finally:
            self._opening -= 1
        session = f"{self._place}-{uuid.uuid4().hex}"
        self._open[session] = held
        self._touch(held)
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.create_task(self._sweep())
        return {"session": session, "tools": [tool.schema for tool in held.tools.values()]}

    async def call(self, session: str, call: Call) -> dict[str, Any]:
        """Execute one call; whatever becomes of it is an observation.

        Raises:
            UnknownEpisode: there is none of this id.
        """

        async def execute(held: _Held) -> dict[str, Any]:
            return asdict(await execute_call(call, held.tools, self._limits, None))

        return await self._in_turn(session, execute)

    async def respond(self, session: str, messages: Sequence[Message]) -> dict[str, Any]:
        """Let the interaction answer the last turn.

        Raises:
            UnknownEpisode: there is none of this id.
            InputError: it has no interaction.
            EpisodeFailed: the interaction failed.
        """

        async def respond(held: _Held) -> dict[str, Any]:
            if held.interaction is None:
                raise InputError("the episode has no interaction; open it with one")
            try:
                return asdict(await within(held.interaction.respond(messages), self.settings.seconds))
            except Exception as error:
                raise EpisodeFailed(f"the interaction failed: {describe(error)}") from error

        return await self._in_turn(session, respond)

    async def reward(self, session: str) -> dict[str, Any]:
        """Return the rewards of the tools and the interaction; null where they give none.

        Raises:
            UnknownEpisode: there is none of this id.
            EpisodeFailed: one of them failed.
        """

        async def ask(held: _Held) -> dict[str, Any]:
            seconds = self.settings.seconds
            try:
                tools = {name: await within(tool.reward(), seconds) for name, tool in held.tools.items()}
                one = held.interaction
                return {"tools": tools, "interaction": await within(one.score(), seconds) if one else None}
            except Exception as error:
                raise EpisodeFailed(
                    f"it cannot be said what the episode is worth: {describe(error)}"
                ) from error

        return await self._in_turn(session, ask)

    async def release(self, session: str) -> bool:
        """End an episode; a call of it that runs is cancelled. False where there is none."""
        held = self._open.pop(session, None)
        if held is None:
            return False
        for task in held.busy:
            task.cancel()
        try:
            if held.busy:
                await asyncio.wait(set(held.busy), timeout=_STOPPING_S)
        finally:
            await _give_back(held, self.settings.seconds)
        return True

    async def once(self, row: EpisodeStart, messages: Sequence[Message]) -> dict[str, Any]:
        """Let an interaction answer without an episode: it is started, asked and finished.

        Raises:
            InputError: there is no such interaction, or it lacks what it needs.
            EpisodeFailed: it failed.
        """
        opened = await self.open(
            EpisodeStart((), row.interaction, row.ground_truth, row.data_source, row.extra_info)
        )
        try:
            return await self.respond(opened["session"], messages)
        finally:
            await self.release(opened["session"])

    async def close(self) -> None:
        """Release all."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        await asyncio.gather(*(self.release(session) for session in list(self._open)))

    def _refuse(self, client: str) -> None:
        most = self.settings.most
        own = self.settings.most_per_client
        if len(self._open) + self._opening >= most:
            raise OverloadedError(f"{most} episodes are open; release those that are done", 2.0)
        if sum(held.client == client for held in self._open.values()) >= own:
            raise OverloadedError(f"{own} episodes of this client are open; release those that are done", 2.0)

    def _made(self, row: EpisodeStart, client: str) -> tuple[_Held, Mapping[str, Any], Mapping[str, Any]]:
        """The episode, not begun, and what its tools and its interaction are begun with."""
        asked = tools_of(row.extra_info)
        names = asked.selection if row.tools is None else row.tools
        tools = {tool.name: tool for tool in self.toolbox.open(names)}
        given = row.extra_info.get("interaction_kwargs")
        start = dict(given) if isinstance(given, Mapping) else {}
        named = start.pop("name", None)
        name = row.interaction or named
        if name and name not in self.interactions:
            hint = (
                did_you_mean(name, self.interactions)
                or f"; there are {', '.join(self.interactions) or 'none'}"
            )
            raise InputError(f"there is no interaction '{name}'{hint}")
        start = {"ground_truth": row.ground_truth, "data_source": row.data_source} | _said(start)
        held = _Held(client, tools, self.interactions[name]() if name else None)
        ground_truth = {"ground_truth": row.ground_truth} if row.ground_truth else {}
        create = {tool: ground_truth | _said(asked.create_kwargs.get(tool, {})) for tool in tools}
        return held, create, start

    async def _begin(self, held: _Held, create: Mapping[str, Any], start: Mapping[str, Any]) -> None:
        for name, tool in held.tools.items():
            held.begun.append(tool.release)
            await within(tool.create(**create[name]), self.settings.seconds)
        if held.interaction is not None:
            held.begun.append(held.interaction.finish)
            await within(held.interaction.start(**start), self.settings.seconds)

    async def _in_turn(
        self, session: str, work: Callable[[_Held], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        held = self._open.get(session)
        if held is None:
            raise UnknownEpisode("there is no such episode, or no more; open one with POST /episodes")

        async def in_turn() -> dict[str, Any]:
            async with held.turn:
                return await work(held)

        task = asyncio.ensure_future(in_turn())
        held.busy.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            asking = asyncio.current_task()
            if asking is not None and asking.cancelling():
                raise
            raise UnknownEpisode("the episode was released meanwhile") from None
        finally:
            held.busy.discard(task)
            self._touch(held)

    def _touch(self, held: _Held) -> None:
        held.until = time.monotonic() + self.settings.idle_s

    async def _sweep(self) -> None:
        """Release what nobody asks for, as long as there is anything."""
        while self._open:
            await asyncio.sleep(min(_SWEEP_S, self.settings.idle_s / 2))
            now = time.monotonic()
            late = [one for one, held in self._open.items() if held.until < now and not held.busy]
            await asyncio.gather(*(self.release(session) for session in late))


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is neither null nor empty: rows of one schema have fields that are another tool's."""
    return {name: value for name, value in given.items() if value is not None and value != ""}


async def _give_back(held: _Held, seconds: float) -> None:
    """Release everything that was begun, once, whatever fails, and also when cancelled meanwhile."""

    async def release(give_back: Callable[[], Awaitable[None]]) -> None:
        try:
            await within(give_back(), seconds)
        except Exception as error:
            _log.warning("a tool could not be released: %s", describe(error))

    begun, held.begun = held.begun, []
    work = asyncio.gather(*(release(one) for one in reversed(begun)))
    while not work.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(work)
