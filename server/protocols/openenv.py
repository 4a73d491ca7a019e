"""OpenEnv's protocol for the task sets in `--tasks`. An episode consists of a prompt and one answer.

    WebSocket /ws or /openenv/{environment}/ws, one episode at a time:
      {"type": "reset", "data": {"split", "index", "seed", "episode_id"}} (all optional; random by default)
      {"type": "step", "data": {"response": text}}
      -> {"type": "observation", "data": {"observation": {...}, "reward": number, "done": true, "metadata"}}
      {"type": "state"}, {"type": "close"}
    HTTP, which has no episodes: POST /reset, and POST /step with the row in the action:
      {"action": {"response", "split", "index"}}; GET /schema, /metadata

If a response cannot be scored, the step fails without a reward, and the client may send the response again.
"""

from __future__ import annotations

import random
import time
import uuid
from dataclasses import dataclass
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.websockets import WebSocket, WebSocketDisconnect

from rewardkit import __version__
from rewardkit.errors import InputError, OverloadedError
from rewardkit.server.protocols.base import ProtocolContext, SampleOrProblem, described, parts_of, score_all
from rewardkit.server.request import CURRENT
from rewardkit.server.tasks import TaskSet, task_set_of
from rewardkit.server.wire import BodyDecoder, decode_object, encode, reply
from rewardkit.types import Score

_ACTION = {
    "type": "object",
    "properties": {
        "response": {"type": "string", "description": "The complete response to the prompt."},
        "split": {"type": "string", "description": "Over HTTP: the split of the row."},
        "index": {"type": "integer", "description": "Over HTTP: the index of the row in the split."},
    },
    "required": ["response"],
}
_OBSERVATION = {
    "type": "object",
    "properties": {
        "messages": {"type": "array", "description": "The prompt."},
        "split": {"type": "string"},
        "index": {"type": "integer"},
        "detail": {"type": ["string", "null"], "description": "What decided the reward."},
    },
}
_STATE = {
    "type": "object",
    "properties": {"episode_id": {"type": ["string", "null"]}, "step_count": {"type": "integer"}},
}


class _RefusedMessage(Exception):
    """A message cannot be handled. `code` is one of OpenEnv's error codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Message(msgspec.Struct):
    type: str
    data: dict[str, Any] = {}


_decode: BodyDecoder[_Message] = BodyDecoder(_Message, "a message")


@dataclass
class _Episode:
    """State of a connection's current episode."""

    id: str | None = None
    split: str = ""
    index: int = 0
    done: bool = True


def router(context: ProtocolContext) -> APIRouter:
    """Create a router with the routes, or without any routes if the server has no tasks."""
    routes = APIRouter(tags=["OpenEnv"])
    if not context.tasks:
        return routes

    @routes.websocket("/ws")
    @routes.websocket("/openenv/{environment}/ws")
    async def episodes(socket: WebSocket) -> None:
        task_set = task_set_of(context.tasks, socket.path_params.get("environment"))
        await socket.accept()
        await _converse(context, socket, task_set)

    first = next(iter(context.tasks.values()))
    row = {"split": next(iter(first.splits)), "index": 0}
    for base, named in (("", {}), ("/openenv/{environment}", {"environment": first.name})):
        for method, name, answer, example in (
            ("POST", "reset", _reset_by_http, row),
            ("POST", "step", _step_by_http, {"action": {"response": "6 * 12 = 72\n#### 72", **row}}),
            ("GET", "schema", _schema, None),
            ("GET", "metadata", _metadata, None),
        ):
            routes.add_api_route(
                f"{base}/{name}",
                _endpoint(context, answer),
                methods=[method],
                summary=f"OpenEnv: {name}",
                openapi_extra=described(example, path=named),
            )
    return routes


def _endpoint(context: ProtocolContext, answer: Any) -> Any:
    async def endpoint(request: Request) -> Response:
        task_set = task_set_of(context.tasks, request.path_params.get("environment"))
        try:
            return reply(await answer(context, task_set, await request.body()))
        except _RefusedMessage as error:
            raise HTTPException(503 if error.code == "EXECUTION_ERROR" else 422, str(error)) from None

    return endpoint


async def _reset_by_http(context: ProtocolContext, task_set: TaskSet, body: bytes) -> dict[str, Any]:
    return _observation(task_set, _drawn(task_set, decode_object(body) if body else {}))


async def _step_by_http(context: ProtocolContext, task_set: TaskSet, body: bytes) -> dict[str, Any]:
    action = decode_object(body).get("action")
    if not isinstance(action, dict) or not {"split", "index"} <= action.keys():
        raise _RefusedMessage(
            "VALIDATION_ERROR", "over HTTP, 'action' needs the fields response, split and index"
        )
    return await _step(context, task_set, _drawn(task_set, action), action)


async def _schema(context: ProtocolContext, task_set: TaskSet, body: bytes) -> dict[str, Any]:
    return {"action": _ACTION, "observation": _OBSERVATION, "state": _STATE}


async def _metadata(context: ProtocolContext, task_set: TaskSet, body: bytes) -> dict[str, Any]:
    tasks = ", ".join(f"{n:,} in {split}" for split, n in task_set.splits.items())
    description = f"prompts with one answer each: {tasks}"
    return {"name": task_set.name, "description": description, "version": __version__}


async def _converse(context: ProtocolContext, socket: WebSocket, task_set: TaskSet) -> None:
    """Respond to messages on a connection, one at a time, until the connection is closed."""
    episode = _Episode()
    while True:
        try:
            text = await socket.receive_text()
        except (WebSocketDisconnect, KeyError):  # KeyError: binary message, which is not part of the protocol
            return
        try:
            message = _message(text)
            if message.type == "close":
                await socket.close()
                return
            kind, data = await _answer(context, task_set, episode, message)
        except _RefusedMessage as error:
            kind = "error"
            data = {"message": str(error), "code": error.code}
        except (InputError, OverloadedError) as error:
            kind = "error"
            data = {"message": str(error), "code": "EXECUTION_ERROR"}
        await socket.send_text(encode({"type": kind, "data": data}).decode())


def _message(text: str) -> _Message:
    try:
        return _decode(text.encode("utf-8", "replace"))
    except Exception as error:
        raise _RefusedMessage("INVALID_JSON", str(error)) from None


async def _answer(
    context: ProtocolContext, task_set: TaskSet, episode: _Episode, message: _Message
) -> tuple[str, dict[str, Any]]:
    if message.type == "reset":
        drawn = _drawn(task_set, message.data)
        episode.id = drawn.id
        episode.split = drawn.split
        episode.index = drawn.index
        episode.done = False
        return "observation", _observation(task_set, episode)
    if message.type == "state":
        return "state", {"episode_id": episode.id, "step_count": int(episode.done and episode.id is not None)}
    if message.type != "step":
        raise _RefusedMessage(
            "UNKNOWN_TYPE", f"unknown message type '{message.type}'; expected reset, step, state or close"
        )
    if episode.done:
        raise _RefusedMessage("SESSION_ERROR", "the episode is over; send a reset")
    made = await _step(context, task_set, episode, message.data)
    episode.done = True
    return "observation", made


def _drawn(task_set: TaskSet, given: dict[str, Any]) -> _Episode:
    """Return an episode with the requested row, or with a random row, chosen by the seed if there is one."""
    split = given.get("split") or ("train" if "train" in task_set.splits else next(iter(task_set.splits)))
    if split not in task_set.splits:
        raise _RefusedMessage(
            "VALIDATION_ERROR", f"unknown split '{split}'; splits: {', '.join(task_set.splits)}"
        )
    size = task_set.splits[split]
    index = given.get("index")
    if index is None:
        seed = given.get("seed")
        index = random.Random(seed if isinstance(seed, int) else None).randrange(size) if size else 0
    if not isinstance(index, int) or not 0 <= index < size:
        raise _RefusedMessage(
            "VALIDATION_ERROR",
            f"the index is {index!r}, but split '{split}' has {size} rows, numbered from 0",
        )
    return _Episode(str(given.get("episode_id") or uuid.uuid4().hex), split, index, done=False)


def _observation(task_set: TaskSet, episode: _Episode) -> dict[str, Any]:
    task = task_set.task(episode.split, episode.index)
    shown = {"messages": task.prompt, "split": episode.split, "index": episode.index}
    return {"observation": shown, "reward": None, "done": False}


async def _step(
    context: ProtocolContext, task_set: TaskSet, episode: _Episode, action: dict[str, Any]
) -> dict[str, Any]:
    response = action.get("response")
    if not isinstance(response, str):
        raise _RefusedMessage("VALIDATION_ERROR", "'action' must be an object with a string 'response'")
    task = task_set.task(episode.split, episode.index)
    asked = SampleOrProblem(task.sample(response))
    request = CURRENT.get()
    if request is not None:
        request.clock = time.perf_counter()  # each step on a connection has its own deadline
    (score,) = await score_all(context, [asked], has_status=True)
    return _rewarded(episode, asked, score)


def _rewarded(episode: _Episode, asked: SampleOrProblem, score: Score) -> dict[str, Any]:
    if not score.ok:
        raise _RefusedMessage(
            "EXECUTION_ERROR", f"the response could not be scored: {score.status}: {score.detail}"
        )
    shown = {"messages": [], "split": episode.split, "index": episode.index, "detail": score.detail}
    metadata = {"correct": score.correct, "parts": parts_of(asked, score)}
    return {"observation": shown, "reward": score.score, "done": True, "metadata": metadata}
