"""The Open Reward Standard (openrewardstandard.io), as used by the openreward and TRL clients.

    GET  /list_environments, /{environment}/splits, /{environment}/tools
    POST /{environment}/tasks, /num_tasks, /task, /task_range {"split"} (+ "index", or "start", "stop")
    POST /create_session -> an id; POST /create {"env_name", "split", "index"}; GET /{environment}/prompt
    POST /{environment}/call {"name": "submit", "input": {"response"}} -> the reward, as server-sent events

Environments are the task sets in `--tasks`. An episode has one answer. Either the model submits the answer
with the tool `submit`, or the harness submits the model's plain message. Clients receive tasks as a split and
an index, and never receive ground truths.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from rewardkit import __version__
from rewardkit.messages import message_text
from rewardkit.server.exchanges import Exchange, Question, ServedRows
from rewardkit.server.protocols.background import ELSEWHERE, Store
from rewardkit.server.protocols.base import (
    FAILED_HEADER,
    ProtocolContext,
    described,
    failed_header,
    parts_of,
)
from rewardkit.server.protocols.sessions import Session, Sessions
from rewardkit.server.tasks import Task, TaskSet, task_set_of
from rewardkit.server.wire import SMALL_BYTES, BodyDecoder, Reply, encode, replied, reply, small
from rewardkit.types import Score

SUBMIT = "submit"
_ARGUMENT = "response"
_TOOLS = {
    "tools": [
        {
            "name": SUBMIT,
            "description": "Hand in your complete response, in the form the task asks for. Ends the task.",
            "input_schema": {
                "type": "object",
                "properties": {_ARGUMENT: {"type": "string", "description": "The complete final response."}},
                "required": [_ARGUMENT],
            },
        }
    ],
    "terminal_tool": {"name": "answer", "arg": _ARGUMENT, "description": "Takes the model's last message."},
    "supports_score_group": False,
    "message_block_types": ["text"],
}
_ANSWERS = (SUBMIT, "answer")
_TYPES = ("train", "validation", "test")
_CHUNK = 4_096
"""Maximum number of characters in an event."""
_KEEP_ALIVE_S = 10.0
_POLL_S = 0.5
_RUNNING = {"running": True}
_SESSION = "X-Session-ID"
_IN_SESSION = ("create", "ping", "delete", "delete_session", "prompt", "messages", "call")
"""Routes that require the header with a session id."""


class Which(msgspec.Struct):
    """Request for tasks in a split."""

    split: str
    index: int = 0
    start: int | None = None
    stop: int | None = None


class Creation(msgspec.Struct):
    env_name: str | None = None
    split: str | None = None
    index: int | None = None
    task_spec: dict[str, Any] | None = None


class OrsCall(msgspec.Struct):
    name: str
    input: dict[str, Any]
    task_id: str | None = None
    """Id of an earlier call whose connection broke. The client sends the id to fetch the outcome."""


_decode_which: BodyDecoder[Which] = BodyDecoder(Which, "a question for tasks")
_decode_creation: BodyDecoder[Creation] = BodyDecoder(Creation, "a session's task")
_decode_call: BodyDecoder[OrsCall] = BodyDecoder(OrsCall, "a call of a tool")


_OrsAnswer = Callable[[TaskSet, Request], Awaitable[Response]]


def router(context: ProtocolContext) -> APIRouter:
    """Create a router with the standard's routes, or without any routes if the server has no tasks."""
    routes = APIRouter(tags=["Open Reward Standard"])
    if context.rows.tasks:
        _Environments(context).add_to(routes)
    return routes


class _Environments:
    def __init__(self, context: ProtocolContext) -> None:
        self._context = context
        self._sets: Mapping[str, TaskSet] = context.rows.tasks
        self._sessions = Sessions()
        self._calls = Store(context.requests.admission)

    def add_to(self, routes: APIRouter) -> None:
        """Add all routes. Paths of the first environment also exist without its name as a prefix."""
        for method, name, handle in (
            ("GET", "list_environments", self._list),
            ("GET", "version", self._version),
            ("POST", "create_session", self._create_session),
            ("POST", "create", self._create),
            ("POST", "ping", self._ping),
            ("POST", "delete", self._delete),
            ("POST", "delete_session", self._delete),
        ):
            said = self._described(name, {})
            routes.add_api_route(
                f"/{name}", handle, methods=[method], summary=f"ORS: {name}", openapi_extra=said
            )
        for method, name, answer in (
            ("GET", "splits", self._splits),
            ("GET", "tools", self._tools),
            ("GET", "task_tools", self._tools),
            ("POST", "tasks", self._tasks),
            ("POST", "num_tasks", self._num_tasks),
            ("POST", "task", self._task),
            ("POST", "task_range", self._tasks),
            ("GET", "prompt", self._prompt),
            ("GET", "messages", self._messages),
            ("POST", "call", self._call),
        ):
            endpoint = self._of_environment(answer)
            for path, named in (
                (f"/{{environment}}/{name}", {"environment": next(iter(self._sets))}),
                (f"/{name}", {}),
            ):
                said = self._described(name, named)
                routes.add_api_route(
                    path, endpoint, methods=[method], summary=f"ORS: {name}", openapi_extra=said
                )

    def _described(self, name: str, path: Mapping[str, str]) -> dict[str, Any]:
        """Return the OpenAPI description of a route, with the first task as an example."""
        first = next(iter(self._sets.values()))
        split = next(iter(first.splits))
        bodies: dict[str, Any] = {
            "tasks": {"split": split},
            "num_tasks": {"split": split},
            "task": {"split": split, "index": 0},
            "task_range": {"split": split, "start": 0, "stop": 2},
            "create": {"env_name": first.name, "split": split, "index": 0},
            "call": {"name": SUBMIT, "input": {_ARGUMENT: "6 * 12 = 72\n#### 72"}},
        }
        headers = {_SESSION: "a-session-of-mine"} if name in _IN_SESSION else {}
        return described(bodies.get(name), path=path, headers=headers)

    def _of_environment(self, answer: _OrsAnswer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await answer(task_set_of(self._sets, request.path_params.get("environment")), request)

        return endpoint

    async def _list(self) -> Response:
        return reply(list(self._sets))

    async def _version(self) -> Response:
        return reply({"version": __version__, "build_sha": None})

    async def _splits(self, task_set: TaskSet, request: Request) -> Response:
        splits = task_set.splits
        return reply([{"name": name, "type": name if name in _TYPES else "validation"} for name in splits])

    async def _tools(self, task_set: TaskSet, request: Request) -> Response:
        return reply(_TOOLS)

    async def _num_tasks(self, task_set: TaskSet, request: Request) -> Response:
        which = _decode_which(small(await request.body()))
        return reply({"num_tasks": _size(task_set, which.split)})

    async def _task(self, task_set: TaskSet, request: Request) -> Response:
        which = _decode_which(small(await request.body()))
        if not 0 <= which.index < _size(task_set, which.split):
            raise HTTPException(400, f"split '{which.split}' has no task {which.index}")
        return reply({"task": _spec(which.split, which.index), "env_name": task_set.name})

    async def _tasks(self, task_set: TaskSet, request: Request) -> Response:
        """Return all tasks in a split, or a range of tasks, with the semantics of a Python slice."""
        which = _decode_which(small(await request.body()))
        found = range(_size(task_set, which.split))[which.start : which.stop]
        return reply({"tasks": [_spec(which.split, index) for index in found], "env_name": task_set.name})

    async def _create_session(self) -> Response:
        session_id = self._sessions.new_id()
        return _events(_once([("task_id", session_id), ("end", "")]))

    async def _create(self, request: Request) -> Response:
        asked = _decode_creation(small(await request.body()))
        spec = asked.task_spec or {"split": asked.split, "index": asked.index}
        split = spec.get("split")
        index = spec.get("index")
        task_set = task_set_of(self._sets, asked.env_name)
        if not isinstance(split, str) or not isinstance(index, int):
            raise HTTPException(
                400, "the request does not specify a task; send split and index, or a task_spec from /tasks"
            )
        if not 0 <= index < _size(task_set, split):
            raise HTTPException(400, f"split '{split}' has no task {index}")
        session_id = _session_id(request)
        begun = self._sessions.begin(session_id, task_set.name, split, index)
        if begun == "exists":
            raise HTTPException(
                400, "a session with this id already exists; get a new id from /create_session"
            )
        if begun == "full":
            raise HTTPException(
                503, "too many sessions are open; delete finished sessions", {"Retry-After": "2"}
            )
        return reply({"sid": session_id})

    async def _ping(self, request: Request) -> Response:
        self._session(request)
        return reply({"status": "ok"})

    async def _delete(self, request: Request) -> Response:
        session_id = _session_id(request)
        self._sessions.end(session_id)
        return reply({"sid": session_id})

    async def _prompt(self, task_set: TaskSet, request: Request) -> Response:
        task = self._task_of(self._session(request))
        return reply([_block("\n\n".join(message_text(message) for message in task.prompt))])

    async def _messages(self, task_set: TaskSet, request: Request) -> Response:
        task = self._task_of(self._session(request))
        return reply(
            [
                {"role": message["role"], "blocks": [_block(message_text(message))], "detail": None}
                for message in task.prompt
            ]
        )

    async def _call(self, task_set: TaskSet, request: Request) -> Response:
        session_id = _session_id(request)
        session = self._session(request)
        body = await request.body()
        if len(body) <= SMALL_BYTES:
            call = _decode_call(body)
            if call.task_id is not None:
                return _events(self._answered(call.task_id))
            problem = _problem(call)
        else:  # A large call must be an answer, which a scoring process decodes.
            problem = None
        if problem is None and not self._sessions.finish(session_id):
            problem = _refused("the answer has already been submitted", "episode_finished")
        if problem is not None:
            return _events(_once([("task_id", self._sessions.new_id()), ("end", problem)]))
        named = encode([session.task_set, session.split, session.index]).decode()
        scoring = self._score(session_id, body, named)
        return _events(self._answered(await self._calls.start(len(body), scoring)))

    async def _score(self, session_id: str, body: bytes, named: str) -> bytes:
        """Score the response in a call and return the encoded outcome.

        If scoring fails, the outcome has no reward, and the client may submit another answer.
        """
        try:
            made = await self._context.requests.respond(CALL, body, named)
        except BaseException:
            self._sessions.reopen(session_id)
            raise
        if FAILED_HEADER in made.headers:
            self._sessions.reopen(session_id)
        return bytes(made.body)

    async def _answered(self, call_id: str) -> AsyncIterator[str]:
        """Yield the events for a call: its id, keep-alive comments, and the outcome in pieces."""
        yield _event("task_id", call_id)
        waited_s = 0.0
        while (outcome := await self._outcome(call_id)) == _RUNNING:
            waited_s += _POLL_S
            if waited_s % _KEEP_ALIVE_S < _POLL_S:
                yield ": still being scored\n\n"
        if outcome is None or "failed" in outcome:
            yield _event("error", (outcome or {}).get("failed", "unknown task_id"))
            return
        text = outcome["outcome"]
        for start in range(0, len(text), _CHUNK):
            yield _event("end" if start + _CHUNK >= len(text) else "chunk", text[start : start + _CHUNK])

    async def _outcome(self, call_id: str) -> dict[str, Any] | None:
        """Return the outcome of a call, or None for an unknown call.

        If the call is still running, wait briefly.
        """
        kept = self._calls.get(call_id)
        if kept is None:
            return None
        if kept.task is not None:
            await asyncio.wait([kept.task], timeout=_POLL_S)
        if kept.answer is not None:
            self._calls.answered(kept)
            return {"outcome": kept.answer.decode()}
        return _RUNNING if kept.failed is None else {"failed": kept.failed}

    def _session(self, request: Request) -> Session:
        found = self._sessions.get(_session_id(request))
        if found is None:
            raise HTTPException(404, f"unknown session id; open a session with /create; {ELSEWHERE}")
        return found

    def _task_of(self, session: Session) -> Task:
        return self._sets[session.task_set].task(session.split, session.index)


def _size(task_set: TaskSet, split: str) -> int:
    if split not in task_set.splits:
        raise HTTPException(400, f"unknown split '{split}'; splits: {', '.join(task_set.splits)}")
    return task_set.splits[split]


def _session_id(request: Request) -> str:
    found = request.headers.get(_SESSION, "").strip()
    if not found:
        raise HTTPException(400, f"the header {_SESSION} is missing")
    return found


def _spec(split: str, index: int) -> dict[str, Any]:
    """Return a task in the form sent to clients, which they may send back as `task_spec`."""
    return {"id": f"{split}/{index}", "split": split, "index": index}


def _read_call(rows: ServedRows, body: bytes, named: str | None) -> Question:
    """Read a call. `named` contains the task set, split and index of its session."""
    call = _decode_call(body)
    problem = _problem(call)
    if problem is not None:
        return Question([], about=problem)
    name, split, index = msgspec.json.decode(named or "", type=tuple[str, str, int])
    task = task_set_of(rows.tasks, name).task(split, index)
    return Question([task.sample(call.input[_ARGUMENT])])


def _answer_call(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    if question.about is not None:
        return Reply(question.about.encode(), {FAILED_HEADER: "1"})
    (score,) = scores
    said = "The response was submitted." if score.ok else f"not scored: {score.detail}"
    parts = parts_of(question.samples[0], score)
    output = {
        "blocks": [_block(said)],
        "metadata": {"status": score.status, "detail": score.detail, "parts": parts},
        "reward": score.score if score.ok else None,
        "finished": score.ok,
    }
    return replied({"ok": True, "output": output}, failed_header(scores))


CALL = Exchange(_read_call, _answer_call, has_status=True)


def _problem(call: OrsCall) -> str | None:
    if call.name not in _ANSWERS:
        return _refused(f"no tool '{call.name}'; the only tool is {SUBMIT}", "not_found")
    if not isinstance(call.input.get(_ARGUMENT), str):
        return _refused(f"{call.name} needs a string as '{_ARGUMENT}'", "input_validation")
    return None


def _refused(error: str, reason: str) -> str:
    return encode({"ok": False, "error": error, "reason": reason}).decode()


def _block(text: str) -> dict[str, Any]:
    return {"text": text, "detail": None, "type": "text"}


def _event(kind: str, data: str) -> str:
    return f"event: {kind}\ndata: {data}\n\n"


async def _once(events: list[tuple[str, str]]) -> AsyncIterator[str]:
    for kind, data in events:
        yield _event(kind, data)


def _events(events: AsyncIterator[str]) -> Response:
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)
