"""Scoring of a batch, partly in the calling thread and partly in workers.

A batch is divided once by data source. Both blocking callers and event loops can wait for its scores. The
scorer provides the workers and the `ScoringPlan` for each data source.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait as wait_for
from functools import cached_property
from itertools import chain
from typing import cast

import msgspec

from rewardkit.errors import InputError
from rewardkit.registry import Reward
from rewardkit.scoring.jobs import Scores, ScoringJob, encode, misfit
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score, failure, fits, with_exact_texts

SLICE = 64
"""Maximum number of samples to score between two clock checks."""

TURN_S = 0.004
"""Seconds for which an event loop may be blocked before other tasks get their turn."""

_STRIDE = 8_192
"""Number of list entries to process between two clock checks."""


class ScoringPlan:
    """Plan for scoring the samples of one data source.

    Args:
        reward: Reward for the data source.
        runner: Runner that scores samples in this process.
        make_job: Function that creates the job for the workers, called when the first sample is sent to them.
    """

    def __init__(self, reward: Reward, runner: RewardRunner, make_job: Callable[[], ScoringJob]) -> None:
        self.reward = reward
        self.runner = runner
        self.by_group = reward.running.by_group
        """True if all samples for one prompt have to be scored together."""
        self._make_job = make_job

    @cached_property
    def job(self) -> ScoringJob:
        """Return the job with which the workers score the samples."""
        return self._make_job()


PlanOf = Callable[[str], ScoringPlan | Score]
"""Function that returns the plan for a data source, or one Score for all samples of an unknown data
source."""

Send = Callable[[ScoringPlan, Sequence[msgspec.Raw | Score]], Scores]
"""Function that sends encoded samples to the workers. A Score replaces each sample that cannot be encoded."""


class Pending:
    """A batch whose scores are being computed."""

    def __init__(self, samples: Sequence[Sample], plan_of: PlanOf, send: Send, *, fit: bool) -> None:
        """Create a batch without scoring anything.

        Args:
            samples: Samples to score.
            plan_of: Function that returns the plan for a data source.
            send: Function that sends samples to the workers.
            fit: True if all samples are known to satisfy `types.fits`. Otherwise each sample is checked.
        """
        self._samples = samples
        self._fit = fit
        self._plan_of = plan_of
        self._send = send
        self._scores: list[Score | None] = [None] * len(samples)
        self._missing = len(samples)
        self._sent: list[tuple[list[int], Scores]] = []
        self._sorted = False
        self._here: list[tuple[ScoringPlan, list[int]]] = []
        self._for_workers: list[tuple[ScoringPlan, str, list[int]]] = []

    def sort(self) -> dict[str, int]:
        """Sort the samples by data source and place, without scoring any.

        Returns:
            The number of samples that need a worker, by data source.
        """
        for _ in self._sort():
            pass
        return {source: len(places) for source, places in self.for_workers}

    @property
    def for_workers(self) -> list[tuple[str, list[int]]]:
        """Return the data sources with samples that need a worker, each with the indices of its samples."""
        return [(source, places) for _, source, places in self._for_workers]

    # --- blocking callers ----------------------------------------------------------------------------

    def start(self, timeout_s: float = math.inf) -> None:
        """Send the workers their samples, and then score the remaining samples in this thread.

        Args:
            timeout_s: Time limit in seconds, after which the remaining samples are left unscored.
        """
        deadline = time.perf_counter() + timeout_s
        for _ in chain(self._sort(), self._start()):
            if time.perf_counter() > deadline:
                return

    def here(self) -> list[Score]:
        """Score a sorted batch without samples for workers, and return the scores in order."""
        for _ in self._start():
            pass
        return self._in_time()

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        """Wait for all scores and return them in order.

        Args:
            timeout_s: Time limit for the batch in seconds, or None for no limit. Samples that are not scored
                in time get the status `timeout`, and their workers are killed.

        Raises:
            ScoringError: The scorer was closed before all samples were scored.
        """
        if not wait_for(self.futures, timeout_s).not_done:
            for _ in self._collect():
                pass
        return self._in_time()

    @property
    def so_far(self) -> list[Score | None]:
        """Return the scores so far, without those that workers have computed."""
        return self._scores

    @property
    def sent(self) -> list[list[int]]:
        """Return the indices of the samples in each of the `futures`."""
        return [places for places, _ in self._sent]

    @property
    def futures(self) -> list[Scores]:
        """Return the futures for the scores that workers compute, one for each data source."""
        return [future for _, future in self._sent]

    def cancel(self) -> list[Score | None]:
        """Stop scoring, kill the workers that are busy with this batch, and return the available scores."""
        for places, future in self._sent:
            future.cancel()
            for i, score in zip(places, future.so_far, strict=True):
                self._scores[i] = score
        return self._scores

    # --- event loops ---------------------------------------------------------------------------------

    async def score(self, timeout_s: float | None = None) -> list[Score]:
        """Score the batch like `start` and `wait`, but yield to the event loop every few milliseconds.

        If the task is cancelled, the workers that are busy with this batch are killed.

        Args:
            timeout_s: Time limit as for `wait`.
        """
        deadline = None if timeout_s is None else time.perf_counter() + timeout_s
        try:
            steps = chain(self._sort(), self._start())
            if await _in_turns(steps, deadline) and await self._finished(deadline):
                await _in_turns(self._collect(), None)
        except BaseException:  # usually a cancellation of the calling task
            self.cancel()
            raise
        return self._in_time()

    async def _finished(self, deadline: float | None) -> bool:
        """Wait for the workers. Return False if the deadline passes first."""
        timeout_s = None if deadline is None else max(0.0, deadline - time.perf_counter())
        try:
            async with asyncio.timeout(timeout_s):
                for future in self.futures:
                    if not future.done():  # waiting takes turns of the event loop
                        await asyncio.wrap_future(future)
        except TimeoutError:
            return False
        return True

    # --- steps, which yield wherever a pause is possible ---------------------------------------------

    def _sort(self) -> Iterator[None]:
        if self._sorted:
            return
        self._sorted = True
        places: dict[str, list[int]] = {}
        if not self._fit:
            yield from self._make_exact()
        for i, sample in enumerate(self._samples):
            if self._fit or fits(sample):
                places.setdefault(sample.data_source, []).append(i)
            else:
                self._put([i], [sample.known or failure("invalid", misfit(sample))])
            if not i % _STRIDE:
                yield
        for data_source, mine in places.items():
            plan = self._plan_of(data_source)
            if isinstance(plan, Score):
                self._put(mine, [plan] * len(mine))
                continue
            here, rest = plan.runner.divided(self._samples, mine)
            if here:
                self._here.append((plan, here))
            if rest:
                self._for_workers.append((plan, data_source, rest))
            yield

    def _start(self) -> Iterator[None]:
        for plan, _, mine in self._for_workers:
            yield from self._score_in_workers(plan, mine)
        for plan, mine in self._here:  # the workers are already running at this point
            yield from self._score_here(plan, mine)

    def _make_exact(self) -> Iterator[None]:
        exact: list[Sample] = []
        for sample in self._samples:
            exact.append(with_exact_texts(sample))
            if not len(exact) % _STRIDE:
                yield
        self._samples = exact

    def _score_here(self, plan: ScoringPlan, places: list[int]) -> Iterator[None]:
        # A batch reward gets all its samples in one call.
        size = len(places) if plan.reward.running.batch else SLICE
        for first in range(0, len(places), size):
            some = places[first : first + size]
            scores = plan.runner.run_here([self._samples[i] for i in some], any_length=True)
            self._put(some, scores or ())
            yield

    def _score_in_workers(self, plan: ScoringPlan, places: list[int]) -> Iterator[None]:
        encoded: list[msgspec.Raw | Score] = []
        for i in places:
            encoded.append(_encoded(self._samples[i], plan.reward))
            yield
        self._sent.append((places, self._send(plan, encoded)))

    def _collect(self) -> Iterator[None]:
        while self._sent:
            places, future = self._sent[0]
            found = future.result()
            del self._sent[0]
            for first in range(0, len(places), _STRIDE):
                end = first + _STRIDE
                self._put(places[first:end], found[first:end])
                yield

    def _put(self, places: Sequence[int], scores: Sequence[Score]) -> None:
        for i, score in zip(places, scores, strict=True):
            self._scores[i] = score
        self._missing -= len(places)

    def _in_time(self) -> list[Score]:
        """Return all scores. If the deadline has passed, a missing score becomes a timeout."""
        if not self._missing:
            return cast("list[Score]", self._scores)
        late = failure("timeout", "the sample was not scored within the time limit of the batch")
        return [late if score is None else score for score in self.cancel()]


def _encoded(sample: Sample, reward: Reward) -> msgspec.Raw | Score:
    try:
        return encode(sample)
    except InputError as error:
        return failure("invalid", str(error), scorer=reward.scorer)


async def _in_turns(steps: Iterator[None], deadline: float | None) -> bool:
    """Run the steps, yielding to other tasks every few milliseconds. Return False if the deadline passes."""
    turn_ends = time.perf_counter() + TURN_S
    for _ in steps:
        now = time.perf_counter()
        if deadline is not None and now > deadline:
            return False
        if now > turn_ends:
            await asyncio.sleep(0)
            turn_ends = time.perf_counter() + TURN_S
    return True
