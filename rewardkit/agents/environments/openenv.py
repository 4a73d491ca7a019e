"""Environment `openenv:URL`, which plays an episode on an OpenEnv server over a WebSocket.

The model acts in one of three ways. If the server has MCP tools, the model calls these tools. If the only
required field of an action is a string or an enumeration, each turn of the model becomes the value of this
field. Otherwise, the model calls the single tool `step`, whose schema is the schema of an action. If the
server allows only a few sessions, episodes wait for a free session.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from rewardkit.agents.environments.environment import (
    EnvironmentFailed,
    EnvironmentSpec,
    Opening,
    row_arguments,
)
from rewardkit.agents.environments.sessions import ServerSessions, sessions_on
from rewardkit.agents.episode_row import EpisodeRow
from rewardkit.agents.types import Observation
from rewardkit.foreign.reward_of_spec import number
from rewardkit.foreign.services import Service

STEP = "step"
_FAULTS_OF_THE_MODEL = ("VALIDATION_ERROR", "INVALID_JSON")
_FULL = "CAPACITY_REACHED"
"""Error code that the server sends when all its sessions are in use."""
_LARGEST = 100 << 20
"""Size limit for one message in bytes."""
_GOODBYE_S = 2.0
"""Seconds to wait until the server has ended a session."""


class OpenEnvEnvironment:
    """Connection to an OpenEnv server for one episode.

    `reset` receives the row's `env_kwargs`, or else its `split` and `index`. The index is also the seed
    unless `env_kwargs` contain a seed.
    """

    def __init__(self, spec: EnvironmentSpec, row: EpisodeRow) -> None:
        self._service = Service(spec.target, who="the OpenEnv server")
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._prefix = f"/openenv/{spec.name}" if spec.name else ""
        self._reset = row_arguments(row)
        if "index" in self._reset:
            self._reset.setdefault("seed", self._reset["index"])
        self._action = TextAction()
        self._has_tools = False
        self._session: ServerSessions | None = None

    async def open(self) -> Opening:
        """Connect to the server, reset the environment, and find out what its actions look like.

        Raises:
            Busy: All sessions of the server are in use.
        """
        sessions = sessions_on(self._service.who)
        sessions.take()
        self._session = sessions
        self._socket = await self._service.websocket(f"{self._prefix}/ws", _LARGEST)
        answer = await self._sent("reset", self._reset)
        said = answer.get("data")
        if isinstance(said, Mapping) and said.get("code") == _FULL:
            self._session = None
            await self._socket.close()
            sessions.refuse(int(said.get("max_sessions") or 1))
        data = self._data(answer)
        tools = await self._tools()
        shown = data.get("observation")
        messages = shown.get("messages") if isinstance(shown, Mapping) else None
        if isinstance(messages, list) and messages:
            return Opening(messages, self._action.offer(), tools)
        return Opening(text="\n\n".join(filter(None, (_text(shown), self._action.offer()))), tools=tools)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        """Take a step by calling a tool on the server, or with an action built from the arguments."""
        if not self._has_tools:
            return await self._step(dict(arguments))
        return await self._step({"type": "call_tool", "tool_name": name, "arguments": dict(arguments)})

    async def say(self, text: str) -> Observation | None:
        """Take a step with the model's turn as the action. Return None if an action is not a single text."""
        return await self._step(self._action.of(text)) if self._action.field else None

    async def grade(self) -> None:
        """Return None, since the server returns a reward for each step."""

    async def close(self) -> None:
        """Close the connection, which ends the environment's episode."""
        session, self._session = self._session, None
        try:
            if self._socket is not None:
                with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                    await self._socket.send_json({"type": "close"})
                    await self._socket.receive(
                        _GOODBYE_S
                    )  # the server closes the connection after it has freed the session
                    await self._socket.close()
        finally:
            if session is not None:
                session.give_back()

    async def _tools(self) -> list[dict[str, Any]]:
        listed = await self._sent("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
        result = listed.get("data", {}).get("result") if listed.get("type") == "mcp" else None
        found = result.get("tools") if isinstance(result, Mapping) else None
        if found:
            self._has_tools = True
            return [
                _schema(
                    one["name"], one.get("description"), one.get("inputSchema") or one.get("input_schema")
                )
                for one in found
            ]
        schema = await self._service.json("GET", f"{self._prefix}/schema")
        action = schema.get("action") if isinstance(schema, Mapping) else None
        if not isinstance(action, Mapping):
            raise EnvironmentFailed(
                f"{self._service.who} returned a schema without 'action' from {self._prefix}/schema"
            )
        self._action = text_action(action)
        return [] if self._action.field else [_schema(STEP, action.get("description"), action)]

    async def _step(self, action: Mapping[str, Any]) -> Observation:
        answer = await self._sent("step", action)
        if answer.get("type") == "error":
            said = answer.get("data") or {}
            if said.get("code") not in _FAULTS_OF_THE_MODEL:
                raise EnvironmentFailed(f"{self._service.who}: {said.get('code')}: {said.get('message')}")
            more = json.dumps(said["errors"], default=str)[:400] if said.get("errors") else ""
            return Observation(f"Error: {said.get('message')} {more}".strip(), status="bad_call")
        data = self._data(answer)
        reward = data.get("reward")
        if reward is not None and number(reward) is None:
            raise EnvironmentFailed(
                f"{self._service.who} returned the reward {reward!r:.40}; expected a number"
            )
        return Observation(_text(data.get("observation")), number(reward), bool(data.get("done")))

    def _data(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        data = answer.get("data")
        if answer.get("type") != "observation" or not isinstance(data, Mapping):
            raise EnvironmentFailed(f"{self._service.who} answered {answer!r:.200}; expected an observation")
        return data

    async def _sent(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a message and return the server's next message.

        Messages have no ids, so requests must not overlap.
        """
        assert self._socket is not None
        try:
            await self._socket.send_json({"type": kind, "data": data})
            answer = await self._socket.receive_json()
        except (TypeError, ValueError, aiohttp.ClientError, OSError) as error:
            raise EnvironmentFailed(f"the connection to {self._service.who} failed: {error}") from None
        except asyncio.CancelledError:
            await self._socket.close()  # without closing, the next request would receive this response
            raise
        if not isinstance(answer, Mapping):
            raise EnvironmentFailed(f"{self._service.who} answered {answer!r:.80}; expected a JSON object")
        return answer


@dataclass(frozen=True, slots=True)
class TextAction:
    """Format of an action that consists of a single value, which the model writes as text."""

    field: str = ""
    """Name of the action's only required field. It is empty if an action has more than one value."""
    choices: tuple[Any, ...] = ()
    """Values that the field may have, if it is an enumeration."""

    def offer(self) -> str:
        """Return the text that shows the choices to the model, or an empty string if any text is valid."""
        return f"Answer with one of: {', '.join(map(str, self.choices))}" if self.choices else ""

    def of(self, text: str) -> dict[str, Any]:
        """Return the action for a turn of the model."""
        said = text.strip()
        return {self.field: next((one for one in self.choices if str(one) == said), said)}


def text_action(action: Mapping[str, Any]) -> TextAction:
    """Return the format of an action from its JSON schema."""
    properties = {name: one for name, one in (action.get("properties") or {}).items() if name != "metadata"}
    needed = [name for name in action.get("required") or properties if name in properties]
    if len(needed) != 1:
        return TextAction()
    about = properties[needed[0]]
    reference = str(about.get("$ref") or "").rpartition("/")[2]
    about = (action.get("$defs") or {}).get(reference, about)
    choices = tuple(about.get("enum") or ())
    is_text = about.get("type") == "string" or choices
    return TextAction(needed[0], choices) if is_text else TextAction()


def _schema(name: str, description: Any, parameters: Any) -> dict[str, Any]:
    shown = {
        "name": name,
        "description": str(description or ""),
        "parameters": parameters or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": shown}


def _text(observation: Any) -> str:
    """Convert an observation to text.

    For an MCP tool, return the text of its result. If the observation's only value is a string, return that
    string. Otherwise return all values as JSON.
    """
    if not isinstance(observation, Mapping):
        return "" if observation is None else str(observation)
    if "tool_name" in observation:
        return _tool_text(observation)
    shown = {name: value for name, value in observation.items() if value not in (None, "", [], {})}
    texts = [value for value in shown.values() if isinstance(value, str)]
    if len(shown) == 1 and texts:
        return texts[0]
    return json.dumps(shown, ensure_ascii=False) if shown else ""


def _tool_text(observation: Mapping[str, Any]) -> str:
    """Return the text of an MCP tool's result: its error, its text blocks, or else the result as JSON."""
    error, result = observation.get("error"), observation.get("result")
    if error:
        return f"Error: {error.get('message') if isinstance(error, Mapping) else error}"
    blocks = result.get("content") if isinstance(result, Mapping) else None
    if isinstance(blocks, list) and blocks:
        return "\n".join(str(one.get("text") or f"[{one.get('type')}]") for one in blocks)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
