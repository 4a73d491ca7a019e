"""Worker process of `rewardkit.scoring.pool`. It runs rewards on samples, and other jobs on pieces of work.

The worker reads frames from its parent and answers with frames. The worker always exits when its parent dies.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

import msgspec

from rewardkit import pickling, processes
from rewardkit.errors import RewardkitError
from rewardkit.types import Sample, Score
from rewardkit.user_files import UserFile, import_as_read
from rewardkit.users_code import Raised, keep_reports, take_reports, told

Work = Sample | bytes
"""Unit of work: a sample, or a piece of other work as bytes."""

WorkResult = Score | bytes
"""Result of a unit of work: a Score for a sample, or bytes for a piece of other work."""


class Runner(Protocol):
    """Runner of a job in the worker."""

    def load(self) -> None:
        """Prepare the job for its first unit of work."""

    def run(self, work: Sequence[Any], /) -> Sequence[WorkResult]:
        """Process units of work and return one result for each."""
        ...


class StreamRunner(Protocol):
    """Runner of a job that returns results one by one."""

    def stream(self, work: Sequence[Any], /) -> Iterator[Sequence[WorkResult]]:
        """Process units of work and yield each result as soon as it is available."""
        ...


class FlightRunner(Protocol):
    """Runner of a job that scores several samples at the same time."""

    def begin(
        self,
        number: int,
        sample: Sample,
        put: Callable[[Score, float | None], None],
        parked: Callable[[], None],
        /,
    ) -> None:
        """Start scoring a sample while other samples are in flight.

        Other threads call `put` with the Score of the sample and its CPU time in seconds. They call `parked`
        when the sample needs no CPU time or gets none.
        """

    def stop(self, number: int, /) -> None:
        """Cancel the sample that was started with this number, if it has not finished."""


class Load(msgspec.Struct, tag="load"):
    """Request from the parent to load a job. `pickled` contains a function that creates the job's runner."""

    job_id: int
    pickled: bytes
    files: list[UserFile]


class WorkerRun(msgspec.Struct, tag="run"):
    """Request to score a chunk. If `stream` is true, the worker sends an answer after every sample."""

    job_id: int
    samples: list[Work]
    stream: bool


class WorkerFlight(msgspec.Struct, tag="flight"):
    """Request to start a sample while other samples are in flight. Without `sample`, it stops a sample."""

    job_id: int
    number: int
    sample: Sample | None = None


class Loaded(msgspec.Struct, tag="loaded"):
    """Answer that a job is loaded, or that loading failed with an error."""

    error: str | None


class Scored(msgspec.Struct, tag="scored"):
    """Answer with the results of the next samples or pieces of a chunk."""

    scores: list[WorkResult]


class Landed(msgspec.Struct, tag="landed"):
    """Answer with the Score of a sample in flight."""

    number: int
    score: Score
    busy_s: float | None
    """CPU time of the sample in seconds, or None if it was not measured."""


class Parked(msgspec.Struct, tag="parked"):
    """Note that the program of a sample in flight sleeps or waits for its turn on the CPU."""

    number: int


class Reported(msgspec.Struct, tag="reported"):
    """Exceptions from users' code that the parent process logs, each with the name of the code."""

    reports: list[tuple[str, Raised]]


_own_pid = 0
"""Process ID of the worker. Only the worker itself sets this value."""
_sending = threading.Lock()
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Load | WorkerRun | WorkerFlight)


def frame(message: msgspec.Struct) -> bytearray:
    """Encode a message, preceded by its length (4 bytes, big-endian)."""
    framed = bytearray(4)
    _encoder.encode_into(message, framed, 4)  # a message may have many megabytes, so it is not copied
    framed[:4] = (len(framed) - 4).to_bytes(4, "big")
    return framed


def main(parent: int) -> None:
    """Process requests from the parent until the parent closes the pipe."""
    global _own_pid
    if not processes.die_with_parent(parent):
        os._exit(1)
    _own_pid = os.getpid()
    keep_reports()
    # A terminal sends these signals to the whole process group, but only the parent may end workers.
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda number, frame: None)  # child processes would inherit SIG_IGN
    requests, answers = processes.take_standard_streams()
    runners: dict[int, Runner] = {}
    while (message := _read(requests)) is not None:
        if isinstance(message, Load):
            _send(answers, loaded := _load(message, runners))
            if loaded.error is not None:
                return  # the parent process discards this worker
        elif isinstance(message, WorkerFlight):
            _fly(cast("FlightRunner", runners[message.job_id]), message, answers)
        else:
            _run(runners[message.job_id], message, answers)


def _read(requests: Any) -> Load | WorkerRun | WorkerFlight | None:
    header = requests.read(4)
    if len(header) < 4:
        return None
    message: Load | WorkerRun | WorkerFlight = _decoder.decode(requests.read(int.from_bytes(header, "big")))
    return message


def _send(answers: Any, message: Loaded | Scored | Landed | Parked) -> None:
    if os.getpid() != _own_pid:
        os._exit(0)  # a child that the reward forked must not answer for the worker
    with _sending:
        if reports := take_reports():
            answers.write(frame(Reported(reports)))
        answers.write(frame(message))
        answers.flush()


def _load(message: Load, runners: dict[int, Runner]) -> Loaded:
    try:
        with processes.large_imports():
            import_as_read(message.files)
            runner: Runner = pickling.loads(message.pickled)()
        runner.load()
        runners[message.job_id] = runner
    except Exception as error:
        # rewardkit's own errors need no further explanation.
        return Loaded(str(error) if isinstance(error, RewardkitError) else told("loading a reward", error))
    return Loaded(None)


def _run(runner: Runner, message: WorkerRun, answers: Any) -> None:
    if message.stream:
        for scores in cast("StreamRunner", runner).stream(message.samples):
            _send(answers, Scored(list(scores)))
    else:
        _send(answers, Scored(list(runner.run(message.samples))))


def _fly(runner: FlightRunner, message: WorkerFlight, answers: Any) -> None:
    """Start or stop a sample. Other threads send its Score."""
    if message.sample is None:
        runner.stop(message.number)
    else:
        runner.begin(
            message.number,
            message.sample,
            lambda score, busy_s: _send(answers, Landed(message.number, score, busy_s)),
            lambda: _send(answers, Parked(message.number)),
        )
