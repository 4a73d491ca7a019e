"""Implements the host's side of the protocol, in which each request and each answer is one line of JSON.

The first request specifies the reward to load. Each later request contains the rows for a call. A function is
called on the main thread, where it can set signal handlers. Calls to an `async` function run concurrently.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from .libraries import load
from .loading import LoadRequest, hold, said, sources_of, with_help
from .results import RowResult, add_notes, failed, read, read_all
from .shapes import CallNotes, CallRow, LackingError, NoRewardError

if TYPE_CHECKING:
    from rewardkit.users_code import name_all
else:
    from .users_code import name_all

PR_SET_PDEATHSIG = 1
_own_pid = os.getpid()


def main(parent: int) -> None:
    """Answer requests from the client until the client closes the pipe."""
    _die_with(parent)
    _take_along_what_it_starts()
    requests, answers = _take_standard_streams()
    first = json.loads(requests.readline())
    name = first.pop("name")
    name_all(name or os.path.basename(first["target"]))
    try:
        call = _load(first)
        name_all(name or call.name)
        described = _described(call, look=not first["sources"])
    except BaseException as error:
        _write(answers, {"refused": str(error) if isinstance(error, NoRewardError) else said(error)})
        return
    _write(answers, described)
    (_serve_at_once if call.is_async else _serve_in_turn)(call, requests, answers)


def _load(message: Mapping[str, Any]) -> Any:
    hold(message["sources"])
    return load(LoadRequest(**message))


def _described(call: Any, *, look: bool) -> dict[str, Any]:
    sources, distribution = sources_of(call.module) if look else ({}, "")
    signature = getattr(getattr(call, "parameters", None), "signature", "")
    return {
        "kind": call.shape.kind,
        "lists": call.shape.lists,
        "group": call.shape.kind == "slime-group",
        "is_async": call.is_async,
        "name": call.name,
        "summary": (getattr(call.function, "__doc__", None) or "").strip().partition("\n")[0][:200],
        "signature": str(signature)[:300],
        "gives": dict(call.gives),
        "asks": list(getattr(call, "open", ())),
        "module": call.module,
        "sources": {**sources, **call.sources} if look else {},
        "distribution": distribution,
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def _die_with(parent: int) -> None:
    """Make the kernel kill this process when the client exits, or earlier if memory runs out."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as wish:
            wish.write("1000")
    if os.getppid() != parent:
        os._exit(1)


def _take_along_what_it_starts() -> None:
    """Fork a process that kills this process group when this process exits for any reason.

    This process leads the group, which also contains the processes that the reward starts.
    """
    host = os.getpid()
    if sys.platform != "linux" or os.fork():
        return
    os.closerange(0, 3)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == host:
        signal.sigwait([signal.SIGTERM])
    os.killpg(host, signal.SIGKILL)


def _take_standard_streams() -> Any:
    """Move the client's pipes to new descriptors and return them. Send the function's output to stderr."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests, answers


def _write(answers: BinaryIO, message: Mapping[str, Any]) -> None:
    if os.getpid() != _own_pid:
        os._exit(0)  # a child that the function forked must not answer
    answers.write(json.dumps(message).encode() + b"\n")
    answers.flush()


def _serve_in_turn(call: Any, requests: BinaryIO, answers: BinaryIO) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    for line in requests:
        message = json.loads(line)
        results = _score(call, message["rows"], loop)
        signal.setitimer(signal.ITIMER_REAL, 0)  # a timer that is still set would fire during a later row
        _write(answers, {"id": message["id"], "results": results})


def _score(call: Any, rows: list[CallRow], loop: asyncio.AbstractEventLoop) -> list[RowResult]:
    """Call the function in this thread, await its return value if necessary, and return the results."""
    notes = CallNotes()
    try:
        value = call.on(rows, notes)
        if hasattr(value, "__await__"):
            value = loop.run_until_complete(_wait_for(value))
        return _results(call, value, rows, notes)
    except BaseException as error:
        return _failed(error, len(rows))


async def _wait_for(awaitable: Any) -> Any:
    return await awaitable


def _serve_at_once(call: Any, requests: BinaryIO, answers: BinaryIO) -> None:
    asyncio.run(_serve(call, requests, answers))


async def _serve(call: Any, requests: BinaryIO, answers: BinaryIO) -> None:
    loop = asyncio.get_running_loop()
    tasks: dict[int, Any] = {}

    async def answer(message: Mapping[str, Any]) -> None:
        notes = CallNotes()
        rows = message["rows"]
        try:
            results = _results(call, await call.on(rows, notes), rows, notes)
        except asyncio.CancelledError:
            results = [failed("cancelled")] * len(rows)
        except BaseException as error:
            results = _failed(error, len(rows))
        tasks.pop(message["id"], None)
        _write(answers, {"id": message["id"], "results": results})

    def begin(message: Mapping[str, Any]) -> None:
        if "rows" in message:
            tasks[message["id"]] = loop.create_task(answer(message))
        elif message["cancel"] in tasks:
            tasks[message["cancel"]].cancel()

    def read_requests() -> None:
        for line in requests:
            loop.call_soon_threadsafe(begin, json.loads(line))
        os._exit(0)

    threading.Thread(target=read_requests, daemon=True).start()
    await asyncio.Event().wait()


def _results(call: Any, value: Any, rows: Sequence[CallRow], notes: CallNotes) -> list[RowResult]:
    kind = call.shape.kind
    if not call.shape.lists:
        results = [read(value, kind)]
    else:
        results = read_all(value, len(rows), kind)
    extras = [
        {name: values[i] for name, values in notes.extras.items() if i < len(values)}
        for i in range(len(rows))
    ]
    return [add_notes(result, notes.metrics, extra) for result, extra in zip(results, extras)]


def _failed(error: BaseException, n: int) -> list[RowResult]:
    if isinstance(error, LackingError):
        return [{"invalid": str(error)}] * n
    if isinstance(error, NotImplementedError):
        return [{"invalid": said(error)}] * n
    return [{"raised": with_help(error)}] * n
