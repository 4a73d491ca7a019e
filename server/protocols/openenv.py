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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.websockets import WebSocket, WebSocketDisconnect

from rewardkit import __version__
from rewardkit.errors import InputError, OverloadedError, RewardkitError
from rewardkit.server.exchanges import Exchange, Question, ServedRows
from rewardkit.server.protocols.base import ProtocolContext, described, parts_of
from rewardkit.server.request import CURRENT
from rewardkit.server.tasks import TaskSet, task_set_of
from rewardkit.server.wire import (
    SMALL_BYTES,
    BodyDecoder,
    Reply,
    decode_object,
    encode,
    replied,
    response_to,
    small,
)
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


class _RefusedMessage(RewardkitError):
    """A message cannot be handled. `code` is one of OpenEnv's error codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message


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
    tasks = context.rows.tasks
    if not tasks:
        return routes

    @routes.websocket("/ws")
    @routes.websocket("/openenv/{environment}/ws")
    async def episodes(socket: WebSocket) -> None:
        task_set = task_set_of(tasks, socket.path_params.get("environment"))
        await socket.accept()
        await _converse(context, socket, task_set)

    first = next(iter(tasks.values()))
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
        task_set = task_set_of(context.rows.tasks, request.path_params.get("environment"))
        try:
            return response_to(await answer(context, task_set, await request.body()))
        except _RefusedMessage as error:
            raise HTTPException(503 if error.code == "EXECUTION_ERROR" else 422, str(error)) from None

    return endpoint


async def _reset_by_http(context: ProtocolContext, task_set: TaskSet, body: bytes) -> Reply:
    given = decode_object(small(body)) if body else {}
    return replied(_observation(task_set, _drawn(task_set, given)))


async def _step_by_http(context: ProtocolContext, task_set: TaskSet, body: bytes) -> Reply:
    return await context.requests.respond(STEP_BY_HTTP, body, task_set.name)


async def _schema(context: ProtocolContext, task_set: TaskSet, body: bytes) -> Reply:
    return replied({"action": _ACTION, "observation": _OBSERVATION, "state": _STATE})


async def _metadata(context: ProtocolContext, task_set: TaskSet, body: bytes) -> Reply:
    tasks = ", ".join(f"{n:,} in {split}" for split, n in task_set.splits.items())
    description = f"prompts with one answer each: {tasks}"
    return replied({"name": task_set.name, "description": description, "version": __version__})


async def _converse(context: ProtocolContext, socket: WebSocket, task_set: TaskSet) -> None:
    """Respond to messages on a connection, one at a time, until the connection is closed."""
    episode = _Episode()
    while True:
        try:
            text = await socket.receive_text()
        except (WebSocketDisconnect, KeyError):  # KeyError: binary message, which is not part of the protocol
            return
        body = text.encode("utf-8", "replace")
        try:
            # A large message must be a step, which a scoring process decodes.
            message = _decoded(body) if len(body) <= SMALL_BYTES else _Message("step")
            if message.type == "close":
                await socket.close()
                return
            kind, data = await _answer(context, task_set, episode, message, body)
        except _RefusedMessage as error:
            kind = "error"
            data = {"message": str(error), "code": error.code}
        except (InputError, OverloadedError) as error:
            kind = "error"
            data = {"message": str(error), "code": "EXECUTION_ERROR"}
        await socket.send_text(encode({"type": kind, "data": data}).decode())


def _decoded(body: bytes) -> _Message:
    try:
        return _decode(body)
    except Exception as error:
        raise _RefusedMessage("INVALID_JSON", str(error)) from None


async def _answer(
    context: ProtocolContext, task_set: TaskSet, episode: _Episode, message: _Message, body: bytes
) -> tuple[str, Any]:
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
    request = CURRENT.get()
    if request is not None:
        request.clock = time.perf_counter()  # Each step on a connection has its own deadline.
    named = encode([task_set.name, episode.split, episode.index]).decode()
    made = await context.requests.respond(STEP, body, named)
    episode.done = True
    return "observation", msgspec.Raw(made.body)


def _drawn(task_set: TaskSet, given: dict[str, Any]) -> _Episode:
    """Return an episode with the requested row.

    If no row is requested, choose a random row, with the seed if the request has one.
    """
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


def _read_step(rows: ServedRows, body: bytes, named: str | None) -> Question:
    """Read a step on a connection. `named` contains the task set, split and index of its episode."""
    message = _decoded(body)
    if message.type != "step":
        raise _RefusedMessage("VALIDATION_ERROR", "a message of this size must have the type 'step'")
    name, split, index = msgspec.json.decode(named or "", type=tuple[str, str, int])
    return _step(rows, name, split, index, message.data)


def _read_step_by_http(rows: ServedRows, body: bytes, named: str | None) -> Question:
    """Read a step over HTTP. `named` is the task set."""
    action = decode_object(body).get("action")
    if not isinstance(action, dict) or not {"split", "index"} <= action.keys():
        raise _RefusedMessage(
            "VALIDATION_ERROR", "over HTTP, 'action' needs the fields response, split and index"
        )
    task_set = task_set_of(rows.tasks, named)
    drawn = _drawn(task_set, action)
    return _step(rows, task_set.name, drawn.split, drawn.index, action)


def _step(rows: ServedRows, name: str, split: str, index: int, action: dict[str, Any]) -> Question:
    response = action.get("response")
    if not isinstance(response, str):
        raise _RefusedMessage("VALIDATION_ERROR", "'action' must be an object with a string 'response'")
    task = task_set_of(rows.tasks, name).task(split, index)
    return Question([task.sample(response)], about=(split, index))


def _rewarded(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    (score,) = scores
    if not score.ok:
        raise _RefusedMessage(
            "EXECUTION_ERROR", f"the response could not be scored: {score.status}: {score.detail}"
        )
    split, index = question.about
    shown = {"messages": [], "split": split, "index": index, "detail": score.detail}
    metadata = {"correct": score.correct, "parts": parts_of(question.samples[0], score)}
    return replied({"observation": shown, "reward": score.score, "done": True, "metadata": metadata})


STEP = Exchange(_read_step, _rewarded, has_status=True)
STEP_BY_HTTP = Exchange(_read_step_by_http, _rewarded, has_status=True)
