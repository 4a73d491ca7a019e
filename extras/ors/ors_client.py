"""Client for a session on an Open Reward Standard server: fetches the prompt and tools, and calls tools.

The reward `ors` and the environment in `rewardkit_extras.ors.ors_environment` use this client. A tool call is
never sent twice, because its effects might then be applied twice.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from rewardkit.foreign.reward_of_spec import number
from rewardkit.foreign.services import Service, ServiceError
from rewardkit.json_objects import NOT_JSON
from rewardkit.types import Message

PING_S = 30.0
"""Time between two pings in seconds. Servers end a session after 900 s without a ping."""
_LONGEST = 16 << 20
"""Maximum number of characters in one response."""


@dataclass(frozen=True, slots=True)
class OrsTool:
    """Tool on the server, as the server describes it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of an object with the arguments."""


@dataclass(frozen=True, slots=True)
class OrsTools:
    """Tools that a session offers."""

    tools: tuple[OrsTool, ...]
    terminal: tuple[str, str] | None = None
    """Name of the tool that accepts the model's plain messages, and name of its argument.

    None if the server has no such tool.
    """


@dataclass(frozen=True, slots=True)
class OrsOutcome:
    """Result of a tool call."""

    text: str
    reward: float | None = None
    finished: bool = False
    refused: bool = False
    """True if the server rejected the call because of a mistake by the model. The episode continues."""


class OrsSession:
    """Session on a server. Call `open` to start it and `close` to end it."""

    def __init__(self, service: Service, environment: str) -> None:
        self._service = service
        self._environment = environment
        self._headers: dict[str, str] = {}
        self._pinging: asyncio.Task[None] | None = None

    async def open(self, task: Mapping[str, Any]) -> None:
        """Start a session.

        Args:
            task: Fields that select the task: either `split` and `index`, or `task_spec`.

        Raises:
            ServiceError: The server cannot be reached, or the task does not exist.
        """
        if not self._environment:
            self._environment = await first_environment(self._service)
        async for kind, data in self._events("/create_session", {}):
            if kind == "task_id":
                self._headers["X-Session-ID"] = data.strip()
        if not self._headers:
            raise ServiceError(f"{self._service.who} returned no session")
        body = {"env_name": self._environment, **task}
        await self._service.json("POST", "/create", body, headers=self._headers)
        self._pinging = asyncio.ensure_future(self._ping())

    async def prompt(self) -> list[Message]:
        """Return the prompt of the session's task, or raise ServiceError if the request fails."""
        blocks = await self._get("prompt")
        return [{"role": "user", "content": text_of(blocks)}]

    async def tools(self) -> OrsTools:
        """Return the tools for the session's task, or for all tasks if the server lists no tools per task."""
        try:
            found = await self._get("task_tools")
        except ServiceError as error:
            if error.status != 404:
                raise
            found = await self._get("tools")
        try:
            return _tools(found)
        except (LookupError, TypeError, AttributeError):
            raise ServiceError(f"{self._service.who} returned no list of tools: {found!r:.80}") from None

    async def call(self, name: str, arguments: Mapping[str, Any]) -> OrsOutcome:
        """Call a tool once and return the result."""
        body = {"name": name, "input": dict(arguments), "task_id": None}
        pieces: list[str] = []
        async for kind, data in self._events(f"/{self._environment}/call", body):
            if kind == "error":
                raise ServiceError(f"{self._service.who}: the tool {name} failed: {data[:200]}")
            if kind in ("chunk", "end"):
                pieces.append(data)
            if sum(map(len, pieces)) > _LONGEST:
                raise ServiceError(f"{self._service.who} sent an answer of more than {_LONGEST >> 20} MB")
        return self._outcome("".join(pieces))

    async def close(self) -> None:
        """End the session. Do nothing if the server cannot be reached."""
        if self._pinging is not None:
            self._pinging.cancel()
        if self._headers:
            with contextlib.suppress(ServiceError):
                for path in ("/delete", "/delete_session"):
                    await self._service.json("POST", path, {}, headers=self._headers)

    async def _get(self, what: str) -> Any:
        return await self._service.json("GET", f"/{self._environment}/{what}", headers=self._headers)

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(PING_S)
            with contextlib.suppress(ServiceError):  # The next call reports the problem.
                await self._service.json("POST", "/ping", {}, headers=self._headers)

    async def _events(self, path: str, body: Any) -> AsyncIterator[tuple[str, str]]:
        async with self._service.request("POST", path, body, headers=self._headers) as answer:
            async for event in events(answer):
                yield event

    def _outcome(self, text: str) -> OrsOutcome:
        try:
            answer = msgspec.json.decode(text.encode("utf-8", "replace"), type=dict[str, Any])
            if answer["ok"] is True:
                output = answer["output"]
                reward = output.get("reward")
                if reward is not None and number(reward) is None:
                    raise TypeError
                return OrsOutcome(text_of(output["blocks"]), number(reward), bool(output.get("finished")))
            finished = answer.get("reason") == "episode_finished"
            return OrsOutcome(f"Error: {answer['error']}", finished=finished, refused=True)
        except (LookupError, TypeError, AttributeError, *NOT_JSON):
            raise ServiceError(
                f"{self._service.who} answered a tool call without a valid result: {text[:80]!r}"
            ) from None


async def first_environment(service: Service) -> str:
    """Return the name of a server's first environment.

    Raises:
        ServiceError: The server has no environment, or is not an Open Reward Standard server.
    """
    names = await service.json("GET", "/list_environments")
    if not isinstance(names, list) or not names or not isinstance(names[0], str):
        raise ServiceError(
            f"{service.who} is not an Open Reward Standard server: /list_environments returned {names!r:.80}"
        )
    return names[0]


def text_of(blocks: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of content blocks. A block that is not text is replaced by the name of its type."""
    texts = (
        str(one.get("text") or "") if one.get("type") == "text" else f"[{one.get('type')}]" for one in blocks
    )
    return "\n".join(texts)


async def events(answer: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, str]]:
    """Yield the type and data of each server-sent event in an HTTP response. Comments are skipped."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    kind, data, rest = "message", list[str](), ""
    async for piece in answer.content.iter_any():
        lines = (rest + decoder.decode(piece)).split("\n")
        rest = lines.pop()
        for line in (one.rstrip("\r") for one in lines):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                kind = value
            elif name == "data":
                data.append(value)
            elif not line and (data or kind != "message"):
                yield kind, "\n".join(data)
                kind, data = "message", []


def _tools(found: Mapping[str, Any]) -> OrsTools:
    tools = tuple(
        OrsTool(
            str(one["name"]),
            str(one.get("description") or ""),
            one.get("input_schema") or {"type": "object", "properties": {}},
        )
        for one in found["tools"]
    )
    terminal = found.get("terminal_tool")
    return OrsTools(tools, (str(terminal["name"]), str(terminal["arg"])) if terminal else None)
