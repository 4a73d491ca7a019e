"""The client of a host: starts the process that runs somebody else's reward, and asks it for scores.

A host belongs to one worker of a scorer and dies with it. A worker whose host dies ends with the same status,
and the pool decides what becomes of its samples.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import select
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from rewardkit import processes
from rewardkit.errors import InputError
from rewardkit.types import Score
from rewardkit.users_code import Raised

_NOTE_S = 5.0
"""Seconds after which whoever waits for an import is told so."""

_PIPE_BYTES = 1 << 15
"""Requests that are sent ahead: a pipe holds twice as much, so that sending them never waits for the host,
which may itself wait for its answers to be read."""

_FOLDER = Path(__file__).with_name("host")
_BOOT = (
    "import sys, importlib.util as u; sys.path.remove('');"
    "s = u.spec_from_file_location('rewardkit_host', sys.argv[1] + '/__init__.py',"
    " submodule_search_locations=[sys.argv[1], sys.argv[1] + '/../..']);"
    "sys.modules['rewardkit_host'] = u.module_from_spec(s);"
    "from rewardkit_host.serving import main; main(int(sys.argv[2]))"
)


HostScore = Score | Raised
"""Result of a row: a score, or the exception that the function raised, of which the runner decides."""

HostRow = dict[str, Any]
"""`data_source, response, ground_truth, prompt, extra_info`, ready for JSON."""


class DescribedReward(msgspec.Struct):
    """Description of a reward by the host that has loaded it."""

    kind: str
    lists: bool
    group: bool
    is_async: bool
    name: str
    summary: str
    signature: str
    gives: dict[str, str]
    """Parameter -> what it gets."""
    asks: list[str]
    """Parameters for which the row itself must have a value."""
    module: str
    sources: dict[str, tuple[str, str]]
    """Module -> path and text of the source files behind it."""
    distribution: str
    python: str


class _RowResult(msgspec.Struct):
    score: float | None = None
    correct: bool | None = None
    extracted: str | None = None
    parts: dict[str, float] = {}
    detail: str | None = None
    error: str | None = None
    raised: Raised | None = None
    invalid: str | None = None


class _HostAnswer(msgspec.Struct):
    id: int
    results: list[_RowResult]


class _HostRefusal(msgspec.Struct):
    refused: str


@dataclass(frozen=True)
class HostRequest:
    """Reward that a host is to load, and the interpreter that runs it."""

    target: str
    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    module: str = ""
    sources: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    python: str | None = None
    name: str = ""
    """Stands before what it prints; empty: what the host finds is its name."""

    def message(self) -> dict[str, Any]:
        """Return what goes to the host."""
        return {
            "target": self.target,
            "kind": self.kind,
            "options": dict(self.options),
            "columns": dict(self.columns),
            "module": self.module,
            "name": self.name,
            "sources": dict(self.sources),
        }


class RewardHost:
    """One process with one reward loaded in it.

    Args:
        limit_s: how long it may take to import its target. A worker has its limit from the pool.

    Raises:
        InputError: it cannot be started, or refuses what it is to load; the message says why.
    """

    def __init__(self, request: HostRequest, *, limit_s: float | None = None) -> None:
        python = request.python or sys.executable
        try:
            self.process = subprocess.Popen(
                [python, "-c", _BOOT, str(_FOLDER), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONHASHSEED": "0"},
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(
                f"cannot start the Python interpreter {python}: {error.strerror or error}"
            ) from None
        self._next_id = 0
        self._reading = False
        self._incoming = b""
        self._waiting: dict[int, asyncio.Future[list[HostScore]]] = {}
        try:
            self.described = self._load(request, limit_s)
        except BaseException:
            self.close()
            raise

    def _load(self, request: HostRequest, limit_s: float | None) -> DescribedReward:
        try:
            self._write(request.message())
            if limit_s is not None:
                self._await_import(request.target, limit_s)
            line = self._line()
        except BrokenPipeError:
            line = b""
        if not line:
            status = self.process.wait()
            raise InputError(
                f"{request.target}: the process that imports this reward exited with status {status}"
            )
        try:
            return msgspec.json.decode(line, type=DescribedReward)
        except msgspec.ValidationError:
            raise InputError(msgspec.json.decode(line, type=_HostRefusal).refused) from None

    def _await_import(self, target: str, limit_s: float) -> None:
        assert self.process.stdout is not None
        answer = select.poll()
        answer.register(self.process.stdout.fileno(), select.POLLIN)
        if answer.poll(1_000 * min(_NOTE_S, limit_s)):
            return
        logging.getLogger("rewardkit.foreign").warning(
            "still importing %s (time limit %g s) ...", target, limit_s
        )
        if not answer.poll(1_000 * max(0.0, limit_s - _NOTE_S)):
            raise InputError(
                f"{target} was still loading after {limit_s:g} s; if the import is slow but does not hang, "
                f"increase {processes.LOAD_TIMEOUT} (in seconds)"
            )

    def ask(self, rows: Sequence[HostRow]) -> list[HostScore]:
        """Return the scores of the rows of one call.

        Raises:
            SystemExit: the host has died. The worker is to end as well.
        """
        try:
            self._write(self._request(rows))
            line = self._line()
        except BrokenPipeError:
            line = b""
        return [_score(one) for one in _answer(line).results] if line else self._died()

    def ask_each(self, calls: Iterable[Sequence[HostRow]]) -> Iterator[list[HostScore]]:
        """Yield the scores of calls of one row, in order, as they come; the host has the next calls by then.

        Raises:
            SystemExit: as `ask`.
        """
        under_way: deque[int] = deque()
        for rows in calls:
            line = _encoded(self._request(rows))
            yield from self._come(under_way, _PIPE_BYTES - len(line))
            under_way.append(len(line))
            try:
                self._send(line)
            except BrokenPipeError:
                self._died()
        yield from self._come(under_way, 0)

    def _come(self, under_way: deque[int], most: int) -> Iterator[list[HostScore]]:
        """Yield scores as they come, until the requests under way have at most so many bytes, or none is."""
        while under_way and sum(under_way) > most:
            found = self._answers()
            for _ in found:
                under_way.popleft()
            if found:
                yield [_score(answer.results[0]) for answer in found]

    async def ask_at_once(self, rows: Sequence[HostRow]) -> list[HostScore]:
        """Ask as `ask` does for an `async` function, many at a time; to be called on one event loop only."""
        loop = asyncio.get_running_loop()
        assert self.process.stdout is not None
        if not self._reading:
            loop.add_reader(self.process.stdout.fileno(), self._read)
            self._reading = True
        request = self._request(rows)
        found: asyncio.Future[list[HostScore]] = loop.create_future()
        self._waiting[request["id"]] = found
        try:
            self._write(request)
            return await found
        except asyncio.CancelledError:
            self._cancel(request["id"])
            raise
        except BrokenPipeError:
            self._died()

    def _cancel(self, request_id: int) -> None:
        """Have a call cancelled. One that blocks its event loop blocks ours too: the pool then ends the
        worker and scores each sample alone."""
        self._write({"cancel": request_id})
        while request_id in self._waiting:
            self._read()

    def _answers(self) -> list[_HostAnswer]:
        """Wait for at least a part of an answer; return those that are whole."""
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        if not data:
            self._died()
        *lines, self._incoming = (self._incoming + data).split(b"\n")
        return [_answer(line) for line in lines]

    def _read(self) -> None:
        """Hand out the answers that have come in."""
        for answer in self._answers():
            waiting = self._waiting.pop(answer.id)
            if not waiting.done():
                waiting.set_result([_score(one) for one in answer.results])

    def _request(self, rows: Sequence[HostRow]) -> dict[str, Any]:
        self._next_id += 1
        return {"id": self._next_id, "rows": list(rows)}

    def _write(self, message: Mapping[str, Any]) -> None:
        self._send(_encoded(message))

    def _send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def _died(self) -> NoReturn:
        status = self.process.wait()
        raise SystemExit(128 - status if status < 0 else status)

    def close(self) -> None:
        """End the process, and what it has started."""
        processes.kill_group(self.process)
        self.process.wait()


def _encoded(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _answer(line: bytes) -> _HostAnswer:
    return msgspec.convert(json.loads(line), _HostAnswer)  # msgspec's own decoder refuses half a character


def _score(result: _RowResult) -> HostScore:
    if result.raised is not None:
        return result.raised
    if result.invalid is not None:
        return Score(0.0, "invalid", detail=result.invalid)
    if result.score is None:
        return Score(0.0, "error", detail=result.error or "the reward returned no score")
    return Score(result.score, "ok", result.correct, result.extracted, result.parts, result.detail)
