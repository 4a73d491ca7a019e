"""Client for a host, which is the process that runs a third-party reward.

The client starts the host and requests scores from it. Each host belongs to one worker of a scorer and exits
with this worker. If the host dies, the worker exits with the host's exit status, and the pool decides how to
handle the worker's samples.
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
"""Time in seconds after which a warning about an import that is still running is logged."""

_PIPE_BYTES = 1 << 15
"""Maximum number of bytes in unanswered requests. A pipe has room for twice as much, so the client never
blocks while it sends to a host that is itself blocked until its answers are read."""

_FOLDER = Path(__file__).with_name("host")
_BOOT = (
    "import sys, importlib.util as u; sys.path.remove('');"
    "s = u.spec_from_file_location('rewardkit_host', sys.argv[1] + '/__init__.py',"
    " submodule_search_locations=[sys.argv[1], sys.argv[1] + '/../..']);"
    "sys.modules['rewardkit_host'] = u.module_from_spec(s);"
    "from rewardkit_host.serving import main; main(int(sys.argv[2]))"
)


HostScore = Score | Raised
"""Result for a row, either a score or the exception that the function raised, which the runner handles."""

HostRow = dict[str, Any]
"""JSON-ready row with the fields `data_source, response, ground_truth, prompt, prompt_text, extra_info`."""


class DescribedReward(msgspec.Struct):
    """Description of a reward, sent by the host that loaded the reward."""

    kind: str
    lists: bool
    group: bool
    is_async: bool
    name: str
    summary: str
    signature: str
    gives: dict[str, str]
    """Field of the row that is passed to each parameter, by parameter name."""
    asks: list[str]
    """Parameters whose values are read from the row's `extra_info`."""
    module: str
    sources: dict[str, tuple[str, str]]
    """Path and text of each source file of the reward, by module name."""
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
    """Reward to load in a host, and the Python interpreter that runs the host."""

    target: str
    kind: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    module: str = ""
    sources: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    python: str | None = None
    name: str = ""
    """Name to show before each line that the reward prints. If empty, the function's name is shown."""

    def message(self) -> dict[str, Any]:
        """Return the message to send to the host process."""
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
    """Host process with one loaded reward.

    Args:
        request: Reward to load.
        limit_s: Time limit for importing the target, in seconds. Workers pass None for no limit, because the
            pool limits their time.

    Raises:
        InputError: The process cannot be started, or cannot load the reward.
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
        """Score the rows in a single call.

        Raises:
            SystemExit: The host has died, and the worker must exit as well.
        """
        try:
            self._write(self._request(rows))
            line = self._line()
        except BrokenPipeError:
            line = b""
        return [_score(one) for one in _answer(line).results] if line else self._died()

    def ask_each(self, calls: Iterable[Sequence[HostRow]]) -> Iterator[list[HostScore]]:
        """Yield the scores for single-row calls, in order, as they arrive. Later calls are sent in advance.

        Raises:
            SystemExit: The host has died, and the worker must exit as well.
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
        """Yield scores as they arrive, until at most `most` bytes of requests are unanswered."""
        while under_way and sum(under_way) > most:
            found = self._answers()
            for _ in found:
                under_way.popleft()
            if found:
                yield [_score(answer.results[0]) for answer in found]

    async def ask_at_once(self, rows: Sequence[HostRow]) -> list[HostScore]:
        """Score the rows in a single call to an `async` function.

        Many calls may run concurrently, but all of them must use the same event loop.

        Raises:
            SystemExit: The host has died, and the worker must exit as well.
        """
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
        """Cancel a call in the host and wait for the answer to the call.

        A call that blocks the host's event loop also blocks the event loop of this process. The pool then
        terminates the worker and scores each sample separately.
        """
        self._write({"cancel": request_id})
        while request_id in self._waiting:
            self._read()

    def _answers(self) -> list[_HostAnswer]:
        """Block until the host sends data, and return the answers that are complete, which may be none.

        The host is reported as dead if its output is closed.
        """
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 20)
        if not data:
            self._died()
        *lines, self._incoming = (self._incoming + data).split(b"\n")
        return [_answer(line) for line in lines]

    def _read(self) -> None:
        """Pass the received answers to the calls that wait for them."""
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
        """Kill the process and all processes that it has started."""
        processes.kill_group(self.process)
        self.process.wait()


def _encoded(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _answer(line: bytes) -> _HostAnswer:
    return msgspec.convert(json.loads(line), _HostAnswer)  # msgspec's JSON decoder rejects lone surrogates


def _score(result: _RowResult) -> HostScore:
    if result.raised is not None:
        return result.raised
    if result.invalid is not None:
        return Score(0.0, "invalid", detail=result.invalid)
    if result.score is None:
        return Score(0.0, "error", detail=result.error or "the reward returned no score")
    return Score(result.score, "ok", result.correct, result.extracted, result.parts, result.detail)
