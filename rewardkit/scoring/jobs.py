"""Work that goes to the workers: jobs, chunks of samples, and the future in which their scores come together.

Which worker takes a chunk, and what becomes of it when the worker fails, is decided in `workers`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec

from rewardkit import pickling, processes
from rewardkit.errors import InputError
from rewardkit.registry import Reward
from rewardkit.scoring.runner import RewardRunner, is_async
from rewardkit.scoring.worker import Load, Runner, WorkResult, frame
from rewardkit.text import writable
from rewardkit.types import Sample, Score, sendable
from rewardkit.user_files import UserFile, user_reward_file

MODEL_LOAD_TIMEOUT_S = 1_800.0
"""Seconds that a worker may take at least to load a neural model, whose weights may have to be fetched."""

MODEL_CHUNK = 256
"""Samples that a neural model gets at once: enough to sort them by length and fill its batches."""

UNKNOWN_S = 0.25
"""Worker time of a sample that is expected before one has been scored: it may be dear."""

_LEARNING_RATE = 0.1
"""Weight of the newest sample in the mean of worker time."""

_LEAST_S = 1e-4
"""Worker time that a sample takes at least, its way included."""

_GRACE_S = 1.0
"""An async reward times its samples itself; the parent steps in this much later."""


_encoder = msgspec.msgpack.Encoder(enc_hook=sendable)
_decoder = msgspec.msgpack.Decoder(Sample)

UNENCODABLE = (TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""Exceptions of encoding and decoding for a value that is no plain data; `msgspec.ValidationError` is a
ValueError."""


class WorkerJob:
    """Work of one kind, as the workers are told of it once: here pieces of something larger, as bytes.

    Args:
        job_id: unique in its pool.
        name: shown in messages.
        timeout_s: how long a worker may take for one piece.
        make_runner: is called in the worker.
        files: what has to be imported there before, as it was read here.
    """

    concurrent = False
    """The samples of a chunk run all at once, each timed by the worker."""
    stream = False
    """The worker answers sample by sample, so the deadline is each sample's own."""
    costly = False
    """A new worker would load a model again: no chunk is taken apart, and none killed for being cancelled,
    which it would be in a moment anyway."""
    whole = True
    """Its chunks are never taken apart."""
    sandboxed = False
    """It runs programs in the sandbox."""
    own_workers = 0
    """The size of the pool that this job has to itself; 0: it shares one."""
    in_flight = 0
    """Number of samples that a worker has under way at once, each begun as another ends; 0: it works by
    chunks."""
    chunk_limit = 0
    """Number of samples that waiting chunks may have together to become one; 0: they stay apart."""
    max_load_deaths = 4

    def __init__(
        self,
        job_id: int,
        name: str,
        timeout_s: float,
        make_runner: Callable[[], Runner],
        files: Sequence[UserFile] = (),
    ) -> None:
        self.job_id = job_id
        self.name = name
        self.timeout_s = timeout_s
        self.load_timeout_s = max(processes.load_timeout_s(), MODEL_LOAD_TIMEOUT_S if self.costly else 0.0)
        self.load_deaths = 0
        """Workers that died in a row before it was ready."""
        self.expected_s = UNKNOWN_S
        """Worker time of one sample: the mean of those that were, the latest weighing most."""
        self.seen = False
        """A sample has been scored, so that it is known what one costs."""
        self.load_frame = frame(Load(job_id, pickling.dumps(make_runner), list(files)))

    def learn(self, seconds: float) -> None:
        """Record the seconds that one sample kept a worker busy."""
        weight = _LEARNING_RATE if self.seen else 1.0
        self.seen = True
        self.expected_s += weight * (max(seconds, _LEAST_S) - self.expected_s)

    @property
    def patience_s(self) -> float:
        """Return the seconds that a worker may take without an answer."""
        return self.timeout_s + (_GRACE_S if self.concurrent else 0.0)


class ScoringJob(WorkerJob):
    """One reward with its options; its answers are Scores."""

    def __init__(self, job_id: int, reward: Reward, options: Any) -> None:
        self.reward = reward
        self.concurrent = is_async(reward) and not reward.running.batch
        self.stream = not reward.running.batch and not self.concurrent
        self.costly = reward.running.runs == "model"
        self.whole = (
            self.costly or reward.running.by_group
        )  # samples of one group are nothing without the others
        self.sandboxed = reward.running.runs == "sandbox"
        self.own_workers = reward.running.processes or int(self.costly)
        self.in_flight = reward.running.chunk if self.concurrent and reward.running.processes else 0
        self.chunk_limit = (
            0 if self.in_flight else reward.running.chunk or (MODEL_CHUNK if self.costly else 0)
        )
        if self.costly:
            self.max_load_deaths = 2
        files = [file] if (file := user_reward_file(reward.target)) else []
        make_runner = partial(RewardRunner, reward, options)
        super().__init__(job_id, reward.scorer, reward.running.timeout_s, make_runner, files)


Attribute = str | int | float

Watch = Callable[[str, float, float, Mapping[str, Attribute]], None]
"""Is told what took place, from when to when by `time.monotonic`, and more about it; from any thread."""


class ScoringTurn(NamedTuple):
    """Client and request for which a batch is scored: chunks of different ones take turns."""

    client: Hashable = None
    request: Hashable = None
    watch: Watch | None = None
    """Function that is told of the progress: `queue`, `score` and `sandbox`."""


NOBODY = ScoringTurn()
"""Turn of callers that name no client: one client's one request, first come first served."""


class Chunk:
    """Samples of one job that go to a worker together, and where the score of each goes."""

    def __init__(
        self,
        job: WorkerJob,
        samples: list[msgspec.Raw | bytes],
        slots: list[tuple[IncomingScores, int]],
        turn: ScoringTurn,
    ) -> None:
        self.job = job
        self.samples = samples
        self.slots = slots
        self.turn = turn
        self.watching = [turn.watch] if turn.watch is not None else []
        self.since = time.monotonic()
        self.begun = 0.0
        """Time at which a worker was given it."""
        self.cost_s = len(samples) * job.expected_s
        """Worker time that it is expected to take."""
        self.done = 0
        self.deaths = 0

    def put(self, answer: WorkResult) -> None:
        """Deliver what came of the next sample to the batch that waits for it."""
        batch, position = self.slots[self.done]
        batch.put(position, answer)
        self.done += 1

    def begin(self) -> float:
        """Note that a worker has started it; return the seconds that it has waited."""
        self.begun = time.monotonic()
        for watch in self.watching:
            watch("queue", self.since, self.begun, {"samples": len(self.samples)})
        return self.begun - self.since

    def end(self, status: str) -> None:
        """Note that the worker has finished it, or will not."""
        for watch in self.watching:
            about: dict[str, Attribute] = {
                "samples": len(self.samples),
                "scorer": self.job.name,
                "status": status,
            }
            watch("score", self.begun, time.monotonic(), about)

    def saw(self, score: Score) -> None:
        """The worker has run a program in the sandbox for the sample that is next."""
        for watch in self.watching:
            now = time.monotonic()
            about: dict[str, Attribute] = {"scorer": score.scorer, "status": score.status, **score.parts}
            watch("sandbox", now - score.seconds, now, about)

    def cancelled(self) -> bool:
        """True when nobody waits for any of it."""
        return all(batch.future.cancelled() for batch, _ in self.slots)

    def has_room_for(self, other: Chunk) -> bool:
        """Return True if the two may go to a worker as one."""
        together = len(self.samples) + len(other.samples)
        return self.job is other.job and together <= self.job.chunk_limit and not self.deaths + other.deaths

    def add(self, other: Chunk) -> None:
        """Take over the samples of another chunk."""
        self.samples = self.samples + other.samples
        self.slots = self.slots + other.slots
        self.watching = self.watching + other.watching

    def rest_one_by_one(self) -> list[Chunk]:
        """The samples without a score, each as a chunk of its own."""
        left = range(self.done, len(self.samples))
        return [Chunk(self.job, [self.samples[i]], [self.slots[i]], self.turn) for i in left]


class Scores(Future[list[Score]]):
    """The scores of one `submit` when all are there. Cancelling it kills the workers busy with it.

    Of pieces, it has what the workers made of them, and a Score for each that failed.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.so_far: list[Score | None] = [None] * size
        """Scores that have come in yet; they stay readable after cancelling."""


class IncomingScores:
    """The scores of one `submit` as they come in, and the future that gets them all."""

    def __init__(self, size: int) -> None:
        self.future = Scores(size)
        self._missing = size

    def put(self, position: int, answer: WorkResult) -> None:
        """Note a score; with the last one the future is done."""
        self.future.so_far[position] = cast("Score", answer)  # whoever sent pieces expects bytes
        self._missing -= 1
        if self._missing == 0:
            # The caller may have cancelled it in this instant.
            with contextlib.suppress(InvalidStateError):
                self.future.set_result([s for s in self.future.so_far if s is not None])


def encode(sample: Sample) -> msgspec.Raw:
    """The sample as it crosses the pipe. Lone surrogates, which UTF-8 cannot hold, become U+FFFD.

    Raises:
        InputError: it cannot cross; the message says which field, and why.
    """
    try:
        encoded = _encode(sample)
        _decoder.decode(encoded)  # as the worker does
    except UNENCODABLE as error:
        raise InputError(misfit(sample) or str(error)) from None
    return msgspec.Raw(encoded)


def misfit(sample: Sample) -> str:
    """Return which field is of another type, or holds what is no plain data; empty if none is."""
    for field in msgspec.structs.fields(Sample):
        try:
            msgspec.convert(value := getattr(sample, field.name), field.type)
            _encode(value)
        except UNENCODABLE as error:
            return f"{field.name} must be {Sample.__annotations__[field.name]}: {error}"
    return ""


def _encode(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        plain = msgspec.structs.asdict(value) if isinstance(value, Sample) else value
        return _encoder.encode(writable(plain))
