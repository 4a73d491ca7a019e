"""Env server for verifiers 0.4, through which prime-rl trains on this server's rewards.

    [request id, "run", {"task_data", "client", "model", "sampling"}]
    -> [request id, "delta", the trace], [request id, "reply", {"success", "error", "head", "traces"}]
    [request id, "health", {}], [request id, "cancel", {"request_id"}] -> [request id, "reply", {"success"}]

The messages are msgpack over ZeroMQ. A run is one turn: the server sends the prompt of the task to the model
in `client`, and scores the response. The episode contains the token ids and log-probabilities from vLLM. The
environment variable `REWARDKIT_VERIFIERS` contains the addresses to serve.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

import aiohttp
import msgspec
from fastapi import APIRouter

from rewardkit.errors import ConfigError, RewardkitError, ServerError, require
from rewardkit.rows import find_names, has_value
from rewardkit.scoring.jobs import Client
from rewardkit.server.exchanges import Exchange, Question, ServedRows, question_of
from rewardkit.server.protocols.base import ProtocolContext, ask_messages, parts_of
from rewardkit.server.request import CURRENT, CurrentRequest, disconnected
from rewardkit.server.wire import Reply, decode_object, encode, replied
from rewardkit.types import Score

ADDRESSES = "REWARDKIT_VERIFIERS"
"""Environment variable with addresses, separated by spaces: `tcp://127.0.0.1:5000`, or
`gsm8k=tcp://127.0.0.1:5000` to set the data source of tasks that do not name one."""

KEY = "REWARDKIT_VERIFIERS_KEY"
"""Environment variable with the API key of the model's server.

The server ignores the variable name in a request, because a client could otherwise read any variable.
"""

MAX_RUNS = 4_096
"""Maximum number of concurrent runs."""

_MAX_BYTES = 64 << 20
"""Maximum size of a ZeroMQ message in bytes."""
_MODEL_TIMEOUT_S = 3_600.0
_LEFT_OUT = frozenset({"extra_body", "max_completion_tokens"})

_log = logging.getLogger("rewardkit.server")
_packer = msgspec.msgpack.Encoder()


class ModelClient(msgspec.Struct):
    """Server of the model."""

    base_url: str
    type: str = "eval"
    """`train` if the episode needs token ids."""
    headers: dict[str, str] = {}


class Run(msgspec.Struct):
    task_data: dict[str, Any]
    client: ModelClient
    model: str
    sampling: dict[str, Any] = {}


class Cancel(msgspec.Struct):
    request_id: str


class TokenLogprob(msgspec.Struct):
    logprob: float


class Logprobs(msgspec.Struct):
    content: list[TokenLogprob] | None = None


class Choice(msgspec.Struct):
    message: dict[str, Any]
    finish_reason: str | None = None
    token_ids: list[int] | None = None
    logprobs: Logprobs | None = None


class Completion(msgspec.Struct):
    """Response from the model's server."""

    choices: list[Choice]
    prompt_token_ids: list[int] | None = None
    usage: dict[str, Any] | None = None


_decode_run = msgspec.msgpack.Decoder(Run)
_decode_cancel = msgspec.msgpack.Decoder(Cancel)
_decode_completion = msgspec.json.Decoder(Completion)


def router(context: ProtocolContext) -> APIRouter:
    """Return a router without routes, which serves the addresses as long as the application runs.

    Raises:
        ConfigError: There are several server processes.
        MissingDependencyError: pyzmq is not installed.
    """
    addresses = os.environ.get(ADDRESSES, "").split()
    if not addresses:
        return APIRouter()
    require(ADDRESSES, "zmq", "verifiers")
    if context.processes > 1:
        raise ConfigError(f"{ADDRESSES} needs a server with a single process; start it with --workers 1")

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for word in addresses:
                source, _, address = word.rpartition("=")
                await stack.enter_async_context(EnvServer(context, address, source or None))
            yield

    return APIRouter(lifespan=lifespan)


class EnvServer:
    """Env server at one address. Use it as a context manager.

    Args:
        context: Objects that all protocols share.
        address: ZeroMQ address to bind.
        data_source: Data source of tasks that do not name one.
    """

    def __init__(self, context: ProtocolContext, address: str, data_source: str | None = None) -> None:
        self._context = context
        self._address = address
        self._data_source = data_source
        self._runs: dict[tuple[bytes, str], asyncio.Task[None]] = {}
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> EnvServer:
        import zmq.asyncio

        self._session = await self._stack.enter_async_context(
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_MODEL_TIMEOUT_S))
        )
        zmq_context = zmq.asyncio.Context()
        self._stack.callback(zmq_context.term)
        self._socket = zmq_context.socket(zmq.ROUTER)
        self._stack.callback(self._socket.close)
        for option, value in ((zmq.SNDHWM, 0), (zmq.RCVHWM, MAX_RUNS), (zmq.LINGER, 0)):
            self._socket.setsockopt(option, value)
        self._socket.setsockopt(zmq.MAXMSGSIZE, _MAX_BYTES)
        try:
            self._socket.bind(self._address)
        except zmq.ZMQError as error:
            await self._stack.aclose()
            raise ConfigError(f"{ADDRESSES}: cannot listen on {self._address}: {error}") from None
        self._receiving = asyncio.create_task(self._receive())
        return self

    async def __aexit__(self, *exception: object) -> None:
        tasks = [self._receiving, *self._runs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stack.aclose()

    async def _receive(self) -> None:
        while True:
            frames: list[bytes] = await self._socket.recv_multipart()
            if len(frames) != 4:
                continue
            client, id_, method, payload = frames
            key = client, id_.decode(errors="replace")
            if method == b"run" and len(self._runs) < MAX_RUNS and key not in self._runs:
                self._runs[key] = asyncio.create_task(self._answer_run(client, id_, payload))
                self._runs[key].add_done_callback(partial(self._forget, key))
            else:
                await self._send(client, id_, self._at_once(client, method, payload))

    def _forget(self, key: tuple[bytes, str], done: asyncio.Task[None]) -> None:
        del self._runs[key]

    def _at_once(self, client: bytes, method: bytes, payload: bytes) -> dict[str, Any]:
        """Answer a health or cancel request, or refuse a run."""
        if method == b"health":
            return {"success": True, "error": None}
        if method == b"cancel":
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                run = self._runs.get((client, _decode_cancel.decode(payload).request_id))
                return {"success": True, "error": None, "cancelled": run is not None and run.cancel()}
        return {"success": False, "error": f"cannot handle the request {method[:20]!r} now"}

    async def _send(self, client: bytes, id_: bytes, data: Mapping[str, Any], kind: bytes = b"reply") -> None:
        await self._socket.send_multipart([client, id_, kind, _packer.encode(data)])

    async def _answer_run(self, client: bytes, id_: bytes, payload: bytes) -> None:
        answer: dict[str, Any]
        try:
            run = _decode_run.decode(payload)
            trace = await self._trace(client, run)
            await self._send(client, id_, _delta(trace), b"delta")
            sizes = {"id": trace["id"], "nodes": len(trace["nodes"]), "calls": len(trace["calls"])}
            answer = {"success": True, "error": None, "head": _head(trace), "traces": [sizes]}
        except asyncio.CancelledError:
            answer = {"success": False, "error": "the run was cancelled"}
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            answer = {"success": False, "error": f"expected a run: {error}"}
        except Exception as error:
            _log.exception("a run of verifiers' env server failed")
            answer = {"success": False, "error": f"{type(error).__name__}: {error}"}
        await self._send(client, id_, answer)

    async def _trace(self, client: bytes, run: Run) -> dict[str, Any]:
        """Play and score an episode, and return its trace. A failure is part of the trace."""
        trace: dict[str, Any] = {
            "id": uuid.uuid4().hex,
            "task": {"type": "Task", "data": run.task_data},
            "agent": {"config": {}},
            "nodes": [],
            "calls": [],
            "errors": [],
            "rewards": {"rewardkit": None},
            "is_completed": True,
            "ok": True,
            "stop_condition": "agent_completed",
        }
        began = time.time()
        try:
            trace |= await self._turn(run)
            said = trace["nodes"][-1]["message"]
            CURRENT.set(CurrentRequest(trace["id"], disconnected, Client("verifiers", client.hex())))
            body = encode({"task": run.task_data, "messages": [*_messages(run.task_data), said]})
            score = decode_object(
                (await self._context.requests.respond(VERIFIERS, body, self._data_source)).body
            )
            trace["info"] = {"rewardkit": score}
            if score["status"] != "ok":
                raise ServerError(f"{score['status']}: {score['detail']}")
            trace["rewards"] = {"rewardkit": {"score": score["score"], "weight": 1.0}}
            trace["metrics"] = score["parts"]
        except (RewardkitError, aiohttp.ClientError, TimeoutError) as error:
            trace |= {"ok": False, "stop_condition": "error"}
            trace["errors"] = [{"type": type(error).__name__, "message": str(error)}]
        trace["timing"] = {"start": began, "agent": {"start": began, "end": time.time()}}
        return trace

    async def _turn(self, run: Run) -> dict[str, Any]:
        """Send the prompt of a task to the model, and return the nodes and the call of the trace.

        Raises:
            ServerError: The model's server did not return a usable answer.
        """
        trains = run.client.type == "train"
        chosen = {k: v for k, v in run.sampling.items() if v is not None and k not in _LEFT_OUT}
        body = {
            "model": run.model,
            "messages": _messages(run.task_data),
            **chosen,
            **(run.sampling.get("extra_body") or {}),
            **({"logprobs": True, "return_token_ids": True} if trains else {}),
        }
        headers = {"authorization": f"Bearer {os.environ.get(KEY) or 'EMPTY'}", **run.client.headers}
        began = time.time()
        url = f"{run.client.base_url.rstrip('/')}/chat/completions"
        headers["content-type"] = "application/json"
        async with self._session.post(url, data=encode(body), headers=headers) as answer:
            content = await answer.read()
        if answer.status != 200:
            raise ServerError(f"the model answered {answer.status}: {content[:300].decode(errors='replace')}")
        try:
            completion = _decode_completion.decode(content)
            choice = completion.choices[0]
        except (msgspec.MsgspecError, UnicodeDecodeError, IndexError) as error:
            raise ServerError(f"the model's answer is not a chat completion: {error}") from None
        messages = [*body["messages"], _said(choice.message)]
        nodes = [{"parent": i - 1 if i else None, "message": one} for i, one in enumerate(messages)]
        nodes[-1] |= {"sampled": True, **(_tokens(completion, choice) if trains else {})}
        usage = completion.usage or {}
        call = {
            "node": len(nodes) - 1,
            "model": run.model,
            "endpoint": "/chat/completions",
            "finish_reason": choice.finish_reason if choice.finish_reason in ("stop", "length") else None,
            "usage": {name: int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")},
            "time": {"start": began, "end": time.time()},
        }
        return {"nodes": nodes, "calls": [call]}


def _delta(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the delta message that contains a whole trace."""
    opened = {name: trace[name] for name in _OPENED}
    changed = {name: value for name, value in trace.items() if name not in _OPENED + _LISTS}
    return {"trace": trace["id"], "open": opened, **{name: trace[name] for name in _LISTS}, "set": changed}


_OPENED = ("id", "task")
_LISTS = ("nodes", "calls", "errors")


def _head(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the episode with this trace, without the trace itself."""
    same = {name: trace[name] for name in ("task", "ok", "errors")}
    return {"id": uuid.uuid4().hex, "env": {"id": "rewardkit"}, **same}


def _messages(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    prompt = task.get("prompt") or []
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    system = task.get("system_prompt")
    return [{"role": "system", "content": system}, *messages] if system else messages


def _said(message: Mapping[str, Any]) -> dict[str, Any]:
    thought = message.get("reasoning_content") or message.get("reasoning")
    said = {"role": "assistant", "content": message.get("content")}
    return said | ({"reasoning_content": thought} if thought else {})


def _tokens(completion: Completion, choice: Choice) -> dict[str, Any]:
    """Return the tokens of a turn. The node of the response contains these tokens and the prompt's tokens.

    Raises:
        ServerError: The model's server returned no token ids, or no log-probability for each of them.
    """
    prompt, said = completion.prompt_token_ids, choice.token_ids
    logprobs = [one.logprob for one in (choice.logprobs and choice.logprobs.content) or ()]
    if not prompt or said is None or len(logprobs) != len(said):
        raise ServerError(
            "the model's server returned no token ids with log-probabilities, which training needs; use vLLM "
            "0.11 or later"
        )
    mask = [False] * len(prompt) + [True] * len(said)
    return {"token_ids": prompt + said, "mask": mask, "logprobs": logprobs}


def _read(rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    asked = decode_object(body)
    label, source = _label(asked["task"])
    return question_of(
        [ask_messages(rows, asked["messages"], label=label, data_source=source or data_source)]
    )


def _label(task: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Return the ground truth and the data source of a task, which may be in its `row` or `info`."""
    for row in (task, task.get("row"), task.get("info")):
        if isinstance(row, dict):
            found = find_names(partial(has_value, row)).read(row)
            if found.ground_truth is not None:
                source = found.data_source or task.get("data_source")
                label = {"ground_truth": found.ground_truth, "extra_info": found.extra_info}
                return label | ({"data_source": source} if source else {}), source
    return None, task.get("data_source")


def _answer(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    (score,) = scores
    return replied({**score.as_dict(), "parts": parts_of(question.samples[0], score)})


VERIFIERS = Exchange(_read, _answer, has_status=True)
"""Exchange whose body contains a task and the messages of its episode."""
