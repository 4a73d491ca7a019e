"""The other end of `rewardkit.scoring.pool`: a child process that runs rewards on chunks of samples, or
whatever else a job's runner does with pieces of work.

It reads frames from the parent and answers with frames. It dies with its parent, whatever it is doing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

import msgspec

from rewardkit import pickling, processes
from rewardkit.errors import RewardkitError
from rewardkit.types import Sample, Score
from rewardkit.user_files import UserFile, import_as_read
from rewardkit.users_code import Raised, keep_reports, take_reports, told

Work = Sample | bytes
"""Unit of work: a sample, or a piece of something larger."""

WorkResult = Score | bytes
"""Result of a unit of work: of a sample a Score, of a piece bytes."""


class Runner(Protocol):
    """Job as it runs in the worker."""

    def load(self) -> None:
        """Make it ready."""

    def run(self, work: Sequence[Any], /) -> Sequence[WorkResult]:
        """Do it; one answer for each."""
        ...


class StreamRunner(Protocol):
    """Job in the worker whose samples are answered one by one."""

    def stream(self, work: Sequence[Any], /) -> Iterator[Sequence[WorkResult]]:
        """Do it; one answer for each, none held back."""
        ...


class FlightRunner(Protocol):
    """Job in the worker that has several samples in flight."""

    def begin(self, number: int, sample: Sample, put: Callable[[Score], None], /) -> None:
        """Start scoring a sample beside others; `put` gets its score, in another thread."""

    def stop(self, number: int, /) -> None:
        """Stop what was begun under a number, if it has not ended."""


class Load(msgspec.Struct, tag="load"):
    """Make a job ready. `pickled` makes its runner when it is called; it comes from our own parent."""

    job_id: int
    pickled: bytes
    files: list[UserFile]


class WorkerRun(msgspec.Struct, tag="run"):
    """Score a chunk. `stream`: answer after every sample rather than once at the end."""

    job_id: int
    samples: list[Work]
    stream: bool


class WorkerFlight(msgspec.Struct, tag="flight"):
    """Score a sample beside those that are under way. Without one: stop the one that has this number."""

    job_id: int
    number: int
    sample: Sample | None = None


class Loaded(msgspec.Struct, tag="loaded"):
    """The job is ready, or could not be made ready and why."""

    error: str | None


class Scored(msgspec.Struct, tag="scored"):
    """Scores of the next samples of the chunk, or what came of its next pieces."""

    scores: list[WorkResult]


class Landed(msgspec.Struct, tag="landed"):
    """The score of a sample that was scored beside others."""

    number: int
    score: Score


class Reported(msgspec.Struct, tag="reported"):
    """Exceptions of users' code, by who raised them, for the parent to log."""

    reports: list[tuple[str, Raised]]


_own_pid = 0
"""Process id of the worker, in the worker."""
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Load | WorkerRun | WorkerFlight)


def frame(message: msgspec.Struct) -> bytes:
    """A message with its length in front (4 bytes, big-endian)."""
    body = _encoder.encode(message)
    return len(body).to_bytes(4, "big") + body


def main(parent: int) -> None:
    """Serve the parent until it closes the pipe."""
    global _own_pid
    if not processes.die_with_parent(parent):
        os._exit(1)
    _own_pid = os.getpid()
    keep_reports()
    for sig in (signal.SIGTERM, signal.SIGINT):  # to the whole control group: our parent decides when we end
        signal.signal(
            sig, lambda number, frame: None
        )  # rather than SIG_IGN, which what we start would inherit
    requests, answers = processes.take_standard_streams()
    runners: dict[int, Runner] = {}
    while (message := _read(requests)) is not None:
        if isinstance(message, Load):
            _send(answers, loaded := _load(message, runners))
            if loaded.error is not None:
                return  # the parent ends us
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


def _send(answers: Any, message: Loaded | Scored | Landed) -> None:
    if os.getpid() != _own_pid:
        os._exit(0)  # a child that the reward has forked and let come back: it must not answer in our place
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
        # Our own errors say all there is to say.
        return Loaded(str(error) if isinstance(error, RewardkitError) else told("loading a reward", error))
    return Loaded(None)


def _run(runner: Runner, message: WorkerRun, answers: Any) -> None:
    if message.stream:
        for scores in cast("StreamRunner", runner).stream(message.samples):
            _send(answers, Scored(list(scores)))
    else:
        _send(answers, Scored(list(runner.run(message.samples))))


def _fly(runner: FlightRunner, message: WorkerFlight, answers: Any) -> None:
    """Begin or stop a sample; one thread sends all the scores."""
    if message.sample is None:
        runner.stop(message.number)
    else:
        runner.begin(
            message.number, message.sample, lambda score: _send(answers, Landed(message.number, score))
        )
