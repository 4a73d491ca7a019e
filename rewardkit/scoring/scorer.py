"""The `Scorer`, which scores a sample, a batch or a stream of samples.

The scorer finds the reward for each sample and runs it in the current process or in a worker that can be
killed. It returns exactly one Score for each sample, in order, even if rewards or workers crash.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import count, islice, product
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

import rewardkit.rewards  # noqa: F401  (registers the shipped rewards)
from rewardkit.errors import InputError, OptionsError, ScoringError
from rewardkit.groups import Peekable, needs_group
from rewardkit.http_addresses import revealed
from rewardkit.registry import REGISTRY, Registry, Reward, import_target
from rewardkit.reward_options import check_timeout
from rewardkit.scoring.jobs import NOBODY, Scores, ScoringJob, ScoringTurn, WorkerJob
from rewardkit.scoring.pending import Pending, ScoringPlan
from rewardkit.scoring.pool import Counts, WorkerPool
from rewardkit.scoring.runner import RewardRunner
from rewardkit.scoring.worker import Runner
from rewardkit.types import FIELD_TYPES, Sample, Score, failure, fits
from rewardkit.user_files import UserFile, user_reward_file

if TYPE_CHECKING:
    from rewardkit.sandbox.table import TurnTable

_SAMPLE = frozenset([Sample])
_SOURCE = attrgetter("data_source")
_TYPES = frozenset(product(*FIELD_TYPES.values()))
"""Combinations of field types that nearly all samples have. `types.fits` checks all other samples."""
_types = partial(map, type)
_CHUNK_S = 0.25
"""Maximum worker time, in seconds, that a chunk is expected to take."""

_MAX_CHUNK = 32
"""Maximum number of samples in a chunk, except for rewards that score batches."""

_MAX_PLANS = 4_096
"""Maximum number of cached plans. The limit is needed because callers may use any number of data sources."""

_MAX_SUGGESTED = 16
"""Number of unknown data sources per second for which the scorer suggests similar names."""

_PROGRAMS = 96
_PROGRAMS_A_WORKER = 8
"""Limits on live sandbox programs: a total that the workers share, and additional programs for each
worker."""

_MAX_NAME = 256
"""Maximum number of characters in a data source. The search for similar names is slow for long names."""


class Scorer:
    """Thread-safe scorer that uses the registered rewards. Use it as a context manager.

    Args:
        options: Options by data source, glob of data sources, or reward name. All entries that match a data
            source are merged. For the same option, the exact data source has priority over a glob, and a glob
            has priority over the reward's name. Aliases and other declared data sources of a reward are
            treated like its name. A glob may match no data source.
        workers: Maximum number of worker processes, by default one per core. They start when needed.
        timeout_s: Time limit for one sample in seconds, by default each reward's own time limit.
        express: True to allow two more processes for cheap samples, which would otherwise wait for expensive
            samples.
        registry: Registry with the rewards to use.

    Raises:
        UnknownDataSourceError: A key of `options` names no reward and no data source.
        OptionsError: The reward has no such option, a value has the wrong type, or a time limit is not
            positive and finite.

    Example:
        >>> with Scorer(options={"gsm8k": {"method": "flexible"}}) as scorer:
        ...     scorer.score(Sample("openai/gsm8k", "so it is 72", "72")).correct
        True
    """

    def __init__(
        self,
        *,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        workers: int | None = None,
        timeout_s: float | None = None,
        express: bool = False,
        registry: Registry = REGISTRY,
    ) -> None:
        for key, values in (options or {}).items():
            if not isinstance(values, Mapping):
                raise OptionsError(
                    f"the options of {key} must be a mapping of names to values, found {values!r}"
                )
        if workers is not None and not (isinstance(workers, int) and workers > 0):
            raise OptionsError(f"workers must be a positive integer, found {workers!r}")
        if timeout_s is not None:
            check_timeout(timeout_s)
        self._options = {key: dict(values) for key, values in (options or {}).items()}
        self.workers = workers or len(os.sched_getaffinity(0))
        self._timeout_s = timeout_s
        self._express = express
        self._registry = registry
        self._plans: dict[str, ScoringPlan | Score] = {}
        self._jobs: dict[tuple[str, str, str], ScoringJob] = {}
        self._job_ids = count()
        self._pools: dict[int | str, WorkerPool] = {}
        """Worker pools by key: `shared`, `sandbox` for jobs that run programs, or the ID of a job that has
        its own pool."""
        self._turns: TurnTable | None = None
        """Table in which the programs of all workers take turns. It is created with the pool `sandbox`."""
        self._closed = False
        self._second = 0
        self._suggested = 0
        """Number of unknown data sources in the second `_second` for which names were suggested."""
        self._making = threading.Lock()
        """Lock held while a plan, job or pool is created, so that two threads do not create the same one."""
        self._check_options()

    # --- scoring -----------------------------------------------------------------------------------

    def score(self, sample: Sample) -> Score:
        """Score one sample.

        The status is `invalid` if the data source is unknown or if its reward compares all responses to a
        prompt. For such a reward, pass all these responses to `score_batch`.
        """
        return self._refused_alone(sample) or self.score_batch([sample])[0]

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples and return one Score for each, in order.

        Raises:
            InputError: A value is not a Sample.
            ScoringError: The scorer is closed, or was closed before all samples were scored.
        """
        return self.score_here(samples) or self.submit(samples).wait()

    def score_here(self, samples: Sequence[Sample]) -> list[Score] | None:
        """Score samples in the calling thread, or return None if any of them needs a worker.

        Samples for inline rewards need no worker, except samples with very long responses.

        Raises:
            InputError: A value is not a Sample.
            ScoringError: The scorer is closed.
        """
        if not self._fit(samples):
            return None
        sources = set(map(_SOURCE, samples))
        if len(sources) == 1:
            plan = self._plan(sources.pop())
            return [plan] * len(samples) if isinstance(plan, Score) else plan.runner.run_here(samples)
        pending = self.prepare(samples)
        return None if pending.sort() else pending.here()

    def submit(self, samples: Sequence[Sample]) -> Pending:
        """Start scoring samples in the workers and return without waiting. `Pending.wait` returns the scores.

        Samples for inline rewards are scored before the method returns.

        Raises:
            InputError: A value is not a Sample.
            ScoringError: The scorer is closed.
        """
        pending = self.prepare(samples)
        pending.start()
        return pending

    def prepare(self, samples: Sequence[Sample], turn: ScoringTurn = NOBODY) -> Pending:
        """Return a batch whose scoring has not started.

        Raises:
            InputError: A value is not a Sample.
            ScoringError: The scorer is closed.
        """
        return Pending(samples, self._plan, partial(self._send, turn=turn), fit=self._fit(samples))

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample as `score` does, without blocking the event loop. Cancellation kills the
        worker."""
        return self._refused_alone(sample) or (await self.ascore_batch([sample]))[0]

    async def ascore_batch(
        self, samples: Sequence[Sample], *, timeout_s: float | None = None, turn: ScoringTurn = NOBODY
    ) -> list[Score]:
        """Score samples as `score_batch` does, without blocking the event loop for more than a few
        milliseconds.

        Cancellation kills the workers that are busy with these samples.

        Args:
            samples: Samples to score.
            timeout_s: Time limit for the batch in seconds, or None for no limit. Samples that are not scored
                in time get the status `timeout`, and their workers are killed.
            turn: Client and request of the batch. Worker time is shared fairly among clients and requests.
        """
        if len(samples) == 1 and (scores := self.score_here(samples)):
            return scores
        return await self.prepare(samples, turn).score(timeout_s)

    def begin(
        self, samples: Sequence[Sample], timeout_s: float
    ) -> tuple[list[Score | None], list[tuple[list[int], list[msgspec.Raw]]]]:
        """Score the samples that need no worker, and encode the other samples for a scorer with equal
        settings.

        Args:
            samples: Samples to score.
            timeout_s: Time limit in seconds. Samples that remain after this time are not scored.

        Returns:
            The scores so far. Also, for each data source whose samples need a worker, the indices of these
            samples and the samples encoded for `submit_encoded`.
        """
        encoded: list[Sequence[msgspec.Raw | Score]] = []

        def keep(plan: ScoringPlan, some: Sequence[msgspec.Raw | Score]) -> Scores:
            encoded.append(some)
            return Scores(len(some))

        pending = Pending(samples, self._plan, keep, fit=self._fit(samples))
        pending.start(timeout_s)
        scores = pending.so_far
        rest: list[tuple[list[int], list[msgspec.Raw]]] = []
        for places, some in zip(pending.sent, encoded, strict=True):
            left = [(i, one) for i, one in zip(places, some, strict=True) if not isinstance(one, Score)]
            for i, one in zip(places, some, strict=True):
                if isinstance(one, Score):
                    scores[i] = one
            if left:
                rest.append(([i for i, _ in left], [one for _, one in left]))
        return scores, rest

    def submit_encoded(self, data_source: str, samples: Sequence[msgspec.Raw], turn: ScoringTurn) -> Scores:
        """Send encoded samples of one data source, as `begin` returned them, to the workers.

        Raises:
            UnknownDataSourceError: The data source has no reward.
            ScoringError: The scorer is closed.
        """
        plan = self._plan(data_source)
        if isinstance(plan, Score):
            raise self._registry.unknown(data_source)
        return self._send(plan, samples, turn)

    def scores_by_group(self, data_source: str) -> bool:
        """Return True if all responses to a prompt from this data source have to be in one batch."""
        plan = self._plan(data_source)
        return isinstance(plan, ScoringPlan) and plan.by_group

    def _refused_alone(self, sample: Sample) -> Score | None:
        """Return a failure for a single sample whose reward scores groups, or None for any other sample."""
        if not (self._fit([sample]) or fits(sample)) or not self.scores_by_group(sample.data_source):
            return None
        why = needs_group(sample.data_source, "pass all responses to a prompt in one call of score_batch")
        return failure("invalid", why, scorer=self.reward_for(sample.data_source).scorer)

    def typical_s(self, data_source: str) -> float | None:
        """Return the CPU time in seconds that a sample typically takes, or None if it is not measured.

        The scorer measures CPU time for samples whose programs run in the sandbox. Elapsed time would be
        misleading, because a program that sleeps or waits for its turn needs no worker.
        """
        plan = self._plan(data_source)
        if not isinstance(plan, ScoringPlan) or not plan.job.in_threads or not plan.job.seen:
            return None
        return plan.job.expected_s

    @property
    def worker_counts(self) -> Counts:
        """Return the total counts of worker events in all pools so far."""
        total = Counts()
        for pool in list(self._pools.values()):
            total.started += pool.counts.started
            total.died += pool.counts.died
            total.killed += pool.counts.killed
            total.begun += pool.counts.begun
            total.waited_s += pool.counts.waited_s
        return total

    @property
    def worker_memory(self) -> int:
        """Return the resident memory of all workers in bytes."""
        return sum(pool.memory for pool in list(self._pools.values()))

    def kill_larger_workers(self, most: int) -> None:
        """Kill the workers that use more than `most` bytes of memory. Their samples are scored once more."""
        for pool in list(self._pools.values()):
            pool.kill_larger(most)

    def stream(self, samples: Iterable[Sample], *, batch_size: int = 1_024) -> Iterator[Score]:
        """Score an iterable of any length in order, with only a few batches in memory."""
        source = Peekable(samples)
        ahead = 2 * self.workers + 1
        pending: deque[Pending] = deque()
        while batch := self._next_batch(source, batch_size):
            pending.append(self.submit(batch))
            if len(pending) >= ahead:
                yield from pending.popleft().wait()
        while pending:
            yield from pending.popleft().wait()

    def _next_batch(self, source: Peekable, batch_size: int) -> list[Sample]:
        """Return the next batch of samples, extended to the end of its last group."""
        batch = list(islice(source, batch_size))
        if batch and self._fit(batch[-1:]) and self.scores_by_group(batch[-1].data_source):
            while source.next_belongs_to(batch[-1]):
                batch.append(next(source))
        return batch

    # --- rewards, options and jobs -------------------------------------------------------------------

    def check(self, data_sources: Iterable[str]) -> None:
        """Check that each of these data sources has a reward that can be used.

        Raises:
            UnknownDataSourceError: A data source has no reward. The message names similar data sources.
            OptionsError: The options do not fit a reward.
            MissingDependencyError: A reward needs an extra that is not installed.
        """
        for data_source in sorted(set(data_sources)):
            self._registry.resolve(data_source).require_packages()
            self._plan(data_source)

    def explain(self, sample: Sample) -> object | None:
        """Return an explanation of how a sample is scored, or None if its reward provides no explanation.

        The explanation can be printed as text, and its public fields contain the same facts as data. The
        explanation is created in the calling thread.

        Raises:
            UnknownDataSourceError: The data source has no reward.
            OptionsError: The options do not fit the reward.
            InputError: The ground truth cannot be used, or the value is not a Sample.
        """
        _require_samples([sample])
        reward = self.reward_for(sample.data_source)
        own: Callable[[Sample], object] | None = getattr(reward.target, "explain", None)
        if own is not None:  # a composition has its own explain function
            return own(sample)
        if not reward.explain:
            return None
        explain: Callable[..., object] = import_target(reward.explain)
        return explain(sample.ground_truth, sample.response, self.options_for(sample.data_source))

    def warm_up(self) -> None:
        """Load the neural models of all registered rewards, and wait until each model has scored a sample.

        Without a warm-up, a model loads with its first sample. Other rewards need no warm-up.

        Raises:
            ScoringError: A model does not load or cannot score.
        """
        probes = [
            Sample(source, "Hello.", "", "Hello?")
            for reward in self._registry
            if reward.running.runs == "model"
            for source in reward.data_sources
            if self._registry.resolve(source) is reward
        ]
        for probe, score in zip(probes, self.score_batch(probes), strict=True):
            if not score.ok:
                raise ScoringError(f"the reward model for {probe.data_source} is not ready: {score.detail}")

    def reward_for(self, data_source: str) -> Reward:
        """Return the reward that this scorer uses for a data source, including its time limit.

        Raises:
            UnknownDataSourceError: The data source has no reward.
        """
        plan = self._plans.get(data_source)
        return plan.reward if isinstance(plan, ScoringPlan) else self._reward_and_options(data_source)[0]

    def find(self, data_source: str) -> Reward | None:
        """Return the reward for a data source, without this scorer's settings, or None if there is none."""
        return self._registry.find(data_source)

    def options_for(self, data_source: str) -> Any:
        """Return the options for a data source, as an instance of the reward's options dataclass.

        Raises:
            UnknownDataSourceError: The data source has no reward.
        """
        plan = self._plans.get(data_source)
        return (
            plan.runner.options if isinstance(plan, ScoringPlan) else self._reward_and_options(data_source)[1]
        )

    def _reward_and_options(self, data_source: str) -> tuple[Reward, Any]:
        reward, options = self._configured(data_source)
        composed = hasattr(reward.target, "composition")  # a composition's members have their own deadlines
        if self._timeout_s is not None and not composed:
            reward = reward.with_running(timeout_s=self._timeout_s)
        return reward, options

    def _configured(self, data_source: str) -> tuple[Reward, Any]:
        reward = self._registry.resolve(data_source)
        names = {reward.name, *reward.aliases, *reward.data_sources}
        merged: dict[str, Any] = {}
        for rank in range(3):
            for key, values in self._options.items():
                if options_rank(key, data_source, names) == rank:
                    merged |= values
        return reward.configured(merged)

    def job_of_pieces(
        self, name: str, timeout_s: float, make_runner: Callable[[], Runner], files: Sequence[UserFile]
    ) -> WorkerJob:
        """Return a job for `submit_piece`, for work other than scoring in this scorer's workers.

        Args:
            name: Name shown in messages.
            timeout_s: Time limit of a worker for one piece.
            make_runner: Function called in each worker to create the runner.
            files: Files that each worker imports first, with the content that this process read.
        """
        return WorkerJob(next(self._job_ids), name, timeout_s, make_runner, files)

    def submit_piece(self, job: WorkerJob, piece: bytes, turn: ScoringTurn = NOBODY) -> Scores:
        """Send a piece of work to a worker. The returned future has one result, or a Score if the piece
        fails.

        Raises:
            ScoringError: The scorer is closed.
        """
        return self._pool(job).submit(job, [piece], 1, turn)

    def for_another_process(self) -> tuple[list[UserFile], dict[str, Any]]:
        """Return the reward files as this process imported them, and arguments for a scorer with equal
        settings."""
        files = {file for reward in self._registry if (file := user_reward_file(reward.target))}
        given = {"options": self._options, "timeout_s": self._timeout_s, "registry": self._registry}
        return sorted(files, key=lambda file: file.path), given

    # --- closing -------------------------------------------------------------------------------------

    def close(self) -> None:
        """Kill the workers. Batches that other threads are running raise a ScoringError, and so do later
        calls."""
        with self._making:
            self._closed = True
            pools = list(self._pools.values())
        for pool in pools:
            pool.close()
        if self._turns is not None:
            self._turns.close()
            self._turns = None

    def __enter__(self) -> Scorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- internals -----------------------------------------------------------------------------------

    def _check_options(self) -> None:
        for key, values in self._options.items():
            named = self._registry.by_name(key)
            if named is not None:
                named.configured(values)
            elif not any(c in key for c in "*?["):
                self._registry.resolve(key).configured(values)

    def _require_open(self) -> None:
        if self._closed:
            raise ScoringError("this Scorer is closed; create a new Scorer")

    def _fit(self, samples: Sequence[Sample]) -> bool:
        """Return True if all samples satisfy `types.fits`, using one quick check for all of them.

        If the result is False, each sample has to be checked individually. Every sample passes through this
        check before it is scored.

        Raises:
            InputError: A value is not a Sample.
            ScoringError: The scorer is closed.
        """
        self._require_open()
        _require_samples(samples)
        return _TYPES.issuperset(map(tuple, map(_types, map(astuple, samples))))

    def _plan(self, data_source: str) -> ScoringPlan | Score:
        """Return the plan for a data source, or the Score for all samples of an unknown data source."""
        plan = self._plans.get(data_source)
        if plan is None:
            with self._making:
                plan = self._plans.get(data_source) or self._make_plan(data_source)
                if len(self._plans) >= _MAX_PLANS:
                    self._plans.clear()
                self._plans[data_source] = plan
        return plan

    def _make_plan(self, data_source: str) -> ScoringPlan | Score:
        if len(data_source) > _MAX_NAME:
            return failure(
                "invalid", f"data_source has more than {_MAX_NAME} characters: {data_source:.40}..."
            )
        if self._registry.find(data_source) is None:
            error = self._registry.unknown(data_source, suggest=self._may_suggest())
            return failure("invalid", str(error))
        reward, options = self._reward_and_options(data_source)
        return ScoringPlan(reward, RewardRunner(reward, options), partial(self._job, reward, options))

    def _may_suggest(self) -> bool:
        """Return True if the scorer may suggest names for another unknown data source in this second."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._suggested = second, 0
        self._suggested += 1
        return self._suggested <= _MAX_SUGGESTED

    def _job(self, reward: Reward, options: Any) -> ScoringJob:
        """Return the job for a reward with these options.

        Data sources with the same reward and options share one job.
        """
        key = (reward.scorer, reward.running.on_exception, repr(revealed(options)))
        with self._making:
            if key not in self._jobs:
                programs = -(-_PROGRAMS // self.workers) + _PROGRAMS_A_WORKER
                self._jobs[key] = ScoringJob(next(self._job_ids), reward, options, programs)
            return self._jobs[key]

    def _send(
        self, plan: ScoringPlan, samples: Sequence[msgspec.Raw | Score], turn: ScoringTurn = NOBODY
    ) -> Scores:
        size = self._chunk_size(plan.job, len(samples))
        return self._pool(plan.job).submit(plan.job, samples, size, turn)

    def _pool(self, job: WorkerJob) -> WorkerPool:
        key = job.job_id if job.own_workers else "sandbox" if job.in_threads else "shared"
        with self._making:
            self._require_open()
            if key not in self._pools:
                size = job.own_workers or self.workers
                if job.in_threads:
                    turns = self._shared_turns()
                    self._pools[key] = WorkerPool(
                        size, descriptors=(turns.descriptor,), environment=turns.environment
                    )
                else:
                    self._pools[key] = WorkerPool(size, express=self._express and not job.own_workers)
        return self._pools[key]

    def _shared_turns(self) -> TurnTable:
        """Return the table in which the programs of all workers take turns on the CPU."""
        from rewardkit.sandbox.table import TurnTable  # most scorers run no programs

        if self._turns is None:
            self._turns = TurnTable(self.workers)
        return self._turns

    def _chunk_size(self, job: ScoringJob, n: int) -> int:
        """Return a chunk size that lets all workers finish at about the same time, with few round trips."""
        reward = job.reward
        if job.in_flight:
            return 1
        if job.chunk_limit:
            return job.chunk_limit
        if reward.running.batch:
            return n
        size = max(1, min(_MAX_CHUNK, n // (4 * self.workers)))
        # Samples of an async reward run concurrently. Other chunks are small, so that no chunk takes a long
        # turn.
        return size if job.concurrent else max(1, min(size, int(_CHUNK_S / job.expected_s)))


def options_rank(key: str, data_source: str, names: set[str]) -> int | None:
    """Rank how closely a key of options matches a data source.

    Args:
        key: Data source, glob of data sources, or name of a reward.
        data_source: Data source to match.
        names: Name, aliases and declared data sources of the data source's reward.

    Returns:
        2 for the exact data source, 1 for a glob, 0 for one of `names`, and None if the key does not match.
    """
    if key == data_source:
        return 2
    if key in names:
        return 0
    return 1 if fnmatchcase(data_source, key) else None


def _require_samples(samples: Sequence[Any]) -> None:
    if _SAMPLE.issuperset(map(type, samples)):
        return
    for found in samples:
        if not isinstance(found, Sample):
            what = f"found {type(found).__name__}: {found!r:.60}"
            raise InputError(f"every sample must be a rewardkit.Sample, {what}")
