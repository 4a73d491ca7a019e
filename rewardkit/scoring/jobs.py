"""Jobs, the chunks of samples that workers process, and the future that collects the scores.

The module `pool` chooses the worker for a chunk and handles failures of the worker.
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
"""Minimum time limit in seconds for loading a neural model. Its weights may have to be downloaded."""

MODEL_CHUNK = 256
"""Number of samples sent to a neural model at once. The model sorts them by length to fill its batches."""

UNKNOWN_S = 0.25
"""Expected worker time in seconds of a sample before any sample is measured. The value is high because a
sample may be expensive."""

_LEARNING_RATE = 0.1
"""Weight of the newest sample in the moving average of worker time."""

_LEAST_S = 1e-4
"""Minimum worker time in seconds assumed for a sample. It includes the time to transfer the sample."""

_MOVING = 2
"""Number of samples per worker whose programs have neither slept nor waited for their turn. While the worker
reads the output of one program, the next program runs."""

_GRACE_S = 1.0
"""Extra seconds before the parent stops an async reward. The worker itself enforces the actual time limit."""


_encoder = msgspec.msgpack.Encoder(enc_hook=sendable)
_decoder = msgspec.msgpack.Decoder(Sample)

UNENCODABLE = (TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""Exceptions raised when a value that is not plain data is encoded or decoded. `msgspec.ValidationError` is a
ValueError."""


class WorkerJob:
    """Definition of one kind of work, which is sent to each worker once. The base class processes bytes.

    Args:
        job_id: Number that is unique in the job's pool.
        name: Name shown in messages.
        timeout_s: Time limit of a worker for one piece.
        make_runner: Function called in the worker to create the runner.
        files: Files that the worker imports first, with the content that this process read.
    """

    concurrent = False
    """True if the samples of a chunk run concurrently, each with a time limit enforced by the worker."""
    stream = False
    """True if the worker sends a result after each sample, so that the deadline applies to each sample."""
    costly = False
    """True if each new worker loads a model. Chunks are then never split, and the pool does not kill a worker
    whose chunk is cancelled, because the chunk ends soon."""
    whole = True
    """True if chunks of this job are never split."""
    dear = True
    """True if chunks of this job count as expensive from their start, even if earlier chunks were short."""
    sandboxed = False
    """True if the job runs programs in the sandbox."""
    own_workers = 0
    """Size of this job's dedicated pool, or 0 if the job uses the shared pool."""
    in_flight = 0
    """Number of samples that a worker runs at once. A new sample starts as soon as another sample ends. If
    this is 0, the worker processes chunks instead."""
    moving = 0
    """Maximum number of samples per worker that are not parked. A sample is parked if its program has slept
    or waited for its turn."""
    in_threads = False
    """True if each sample in flight runs in its own thread of the worker, with its own sandbox."""
    chunk_limit = 0
    """Maximum number of samples in a chunk after waiting chunks are merged into it, or 0 to merge no
    chunks."""
    max_load_deaths = 4
    """Maximum number of consecutive workers that may die while loading the job."""

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
        """Number of consecutive workers that have died while loading the job."""
        self.expected_s = UNKNOWN_S
        """Expected worker time of one sample, an exponential moving average over past samples."""
        self.seen = False
        """True if a sample has been scored, so that the expected worker time is based on a measurement."""
        self.load_frame = frame(Load(job_id, pickling.dumps(make_runner), list(files)))

    def learn(self, seconds: float) -> None:
        """Update the expected worker time with the seconds that one sample took."""
        weight = _LEARNING_RATE if self.seen else 1.0
        self.seen = True
        self.expected_s += weight * (max(seconds, _LEAST_S) - self.expected_s)

    def learn_typical(self, seconds: float) -> None:
        """Update the expected worker time with a geometric mean, which a few very slow samples hardly raise.

        An arithmetic mean would say little about the next sample, because a slow program that waits for its
        turn delays no other program. If all samples take equally long, both means are the same.
        """
        weight = _LEARNING_RATE if self.seen else 1.0
        self.seen = True
        self.expected_s *= (max(seconds, _LEAST_S) / self.expected_s) ** weight

    @property
    def patience_s(self) -> float:
        """Return the time limit for each answer from a worker, in seconds."""
        return self.timeout_s + (_GRACE_S if self.concurrent else 0.0)


class ScoringJob(WorkerJob):
    """Job that scores samples with one reward and its options, and returns Scores."""

    dear = False

    def __init__(self, job_id: int, reward: Reward, options: Any, programs: int = 1) -> None:
        """Create a job.

        Args:
            job_id: Number that is unique in the job's pool.
            reward: Reward to run.
            options: Options of the reward.
            programs: Number of samples in a worker whose programs may be live at once in the sandbox.
        """
        self.reward = reward
        self.concurrent = is_async(reward) and not reward.running.batch
        self.stream = not reward.running.batch and not self.concurrent
        self.costly = reward.running.runs == "model"
        self.whole = self.costly or reward.running.by_group  # a group is always scored as a whole
        self.sandboxed = reward.running.runs == "sandbox"
        self.own_workers = reward.running.processes or int(self.costly)
        self.in_threads = self.sandboxed and self.stream and reward.running.each is None
        self.in_flight = reward.running.chunk if self.concurrent and reward.running.processes else 0
        self.moving = self.in_flight
        if self.in_threads:
            self.in_flight, self.moving = programs, min(_MOVING, programs)
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
"""Function that any thread may call with the name, start, end and attributes of an event. Start and end are
values of `time.monotonic`."""


class Client(NamedTuple):
    """Client of a server. All clients at the same address share the time that one address receives."""

    address: str = ""
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.address


def address_of(client: Hashable) -> Hashable:
    """Return a client's address. A key that is not a Client is itself an address."""
    return client.address if isinstance(client, Client) else client


class ScoringTurn(NamedTuple):
    """Client and request for which a batch is scored. Chunks of different clients and requests take turns."""

    client: Hashable = None
    request: Hashable = None
    watch: Watch | None = None
    """Function that is called for the events `queue`, `score` and `sandbox`."""


NOBODY = ScoringTurn()
"""Turn for callers that name no client. All such callers together count as one request from one client."""


class Chunk:
    """Samples of one job that are sent to a worker together, with the batch and position of each score."""

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
        """Time at which a worker started the chunk."""
        self.cost_s = len(samples) * job.expected_s
        """Expected worker time of the chunk."""
        self.done = 0
        self.deaths = 0

    def put(self, answer: WorkResult) -> None:
        """Deliver the result of the next sample to its batch."""
        batch, position = self.slots[self.done]
        batch.put(position, answer)
        self.done += 1

    def begin(self) -> float:
        """Record that a worker has started the chunk, and return the seconds that the chunk waited."""
        self.begun = time.monotonic()
        for watch in self.watching:
            watch("queue", self.since, self.begun, {"samples": len(self.samples)})
        return self.begun - self.since

    def end(self, status: str) -> None:
        """Record that the worker has finished or abandoned the chunk."""
        for watch in self.watching:
            about: dict[str, Attribute] = {
                "samples": len(self.samples),
                "scorer": self.job.name,
                "status": status,
            }
            watch("score", self.begun, time.monotonic(), about)

    def saw(self, score: Score) -> None:
        """Report to the watchers that the worker has run a program in the sandbox for the next sample."""
        for watch in self.watching:
            now = time.monotonic()
            about: dict[str, Attribute] = {"scorer": score.scorer, "status": score.status, **score.parts}
            watch("sandbox", now - score.seconds, now, about)

    def cancelled(self) -> bool:
        """Return True if the batches of all samples were cancelled."""
        return all(batch.future.cancelled() for batch, _ in self.slots)

    def has_room_for(self, other: Chunk) -> bool:
        """Return True if another chunk may be merged into this one."""
        together = len(self.samples) + len(other.samples)
        return self.job is other.job and together <= self.job.chunk_limit and not self.deaths + other.deaths

    def add(self, other: Chunk) -> None:
        """Merge the samples of another chunk into this one."""
        self.samples = self.samples + other.samples
        self.slots = self.slots + other.slots
        self.watching = self.watching + other.watching

    def rest_one_by_one(self) -> list[Chunk]:
        """Return the samples without a score, each as a separate chunk."""
        left = range(self.done, len(self.samples))
        return [Chunk(self.job, [self.samples[i]], [self.slots[i]], self.turn) for i in left]


class Scores(Future[list[Score]]):
    """Future with all scores for a `submit` call. Cancelling the future kills the workers involved.

    For pieces of work, the results are the bytes that the workers return, and a Score for each failed piece.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.so_far: list[Score | None] = [None] * size
        """Scores received so far. They stay readable after the future is cancelled."""


class IncomingScores:
    """Collector of the scores for a `submit` call, with the future that receives all of them."""

    def __init__(self, size: int) -> None:
        self.future = Scores(size)
        self._missing = size

    def put(self, position: int, answer: WorkResult) -> None:
        """Store a score, and complete the future when the last score is stored."""
        self.future.so_far[position] = cast("Score", answer)  # pieces return bytes, as their caller expects
        self._missing -= 1
        if self._missing == 0:
            # The caller may cancel the future at any moment.
            with contextlib.suppress(InvalidStateError):
                self.future.set_result([s for s in self.future.so_far if s is not None])


def encode(sample: Sample) -> msgspec.Raw:
    """Encode a sample for the pipe to a worker. Lone surrogates, which UTF-8 cannot encode, become U+FFFD.

    Raises:
        InputError: The sample cannot be encoded. The message names the field and the reason.
    """
    try:
        encoded = _encode(sample)
        _decoder.decode(encoded)  # fail here rather than in the worker
    except UNENCODABLE as error:
        raise InputError(misfit(sample) or str(error)) from None
    return msgspec.Raw(encoded)


def misfit(sample: Sample) -> str:
    """Return a message about the first field with a wrong type or an unencodable value, or else ""."""
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
