"""One batch on its way: split by data source, once, into what is scored in this thread and what the workers
get, for callers that wait and for event loops alike.

How a data source is scored (its `ScoringPlan`) and where the workers are is the scorer's business.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait as wait_for
from functools import cached_property
from itertools import islice
from typing import cast

import msgspec

from rewardkit.errors import InputError
from rewardkit.registry import Reward
from rewardkit.scoring.jobs import Scores, ScoringJob, encode, misfit
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score, failure, fits, with_exact_texts

SLICE = 64
SLICE_CHARACTERS = 10_000
"""Samples, and characters of responses, that are scored or encoded between two looks at the clock."""

TURN_S = 0.004
"""Seconds that an event loop may be held before others get their turn."""

_STRIDE = 8_192
"""Entries of a list that are looked at between two looks at the clock."""


class ScoringPlan:
    """Plan by which the samples of one data source are scored.

    Args:
        make_job: makes the job with which the workers score them, when the first one goes there.
    """

    def __init__(self, reward: Reward, runner: RewardRunner, make_job: Callable[[], ScoringJob]) -> None:
        self.reward = reward
        self.runner = runner
        self.by_group = reward.running.by_group
        """Its samples have to come with all others of their prompt."""
        self._make_job = make_job

    @cached_property
    def job(self) -> ScoringJob:
        """Job that tells the workers of it."""
        return self._make_job()


PlanOf = Callable[[str], ScoringPlan | Score]
"""The plan for a data source, or the Score that all its samples get since it is unknown."""

Send = Callable[[ScoringPlan, Sequence[msgspec.Raw | Score]], Scores]
"""Hands encoded samples to the workers; those that could not be encoded are Scores already."""


class Pending:
    """The scores of a batch, as they come in."""

    def __init__(self, samples: Sequence[Sample], plan_of: PlanOf, send: Send, *, fit: bool) -> None:
        """Take the samples.

        Args:
            fit: all can be scored, as `types.fits` says; else each is looked at.
        """
        self._samples = samples
        self._fit = fit
        self._plan_of = plan_of
        self._send = send
        self._scores: list[Score | None] = [None] * len(samples)
        self._missing = len(samples)
        self._sent: list[tuple[list[int], Scores]] = []

    # --- for callers that wait -----------------------------------------------------------------------

    def start(self) -> None:
        """Send the workers their share, then score the rest in this thread."""
        for _ in self._start():
            pass

    def wait(self, timeout_s: float | None = None) -> list[Score]:
        """Return the scores, in order, when all are there.

        Args:
            timeout_s: what is not scored by then gets the status `timeout`, and its workers are killed.

        Raises:
            ScoringError: the scorer was closed meanwhile.
        """
        if not wait_for(self.futures, timeout_s).not_done:
            for _ in self._collect():
                pass
        return self._in_time()

    @property
    def futures(self) -> list[Scores]:
        """The scores that workers compute: one future for each data source."""
        return [future for _, future in self._sent]

    def cancel(self) -> list[Score | None]:
        """Stop, killing the workers that are busy with this; return what had been scored by then."""
        for places, future in self._sent:
            future.cancel()
            for i, score in zip(places, future.so_far, strict=True):
                self._scores[i] = score
        return self._scores

    # --- for event loops -----------------------------------------------------------------------------

    async def score(self, timeout_s: float | None = None) -> list[Score]:
        """Do as `start` and `wait` do, in turns of a few milliseconds. Cancelling it kills the workers."""
        deadline = None if timeout_s is None else time.perf_counter() + timeout_s
        try:
            if await _in_turns(self._start(), deadline) and await self._finished(deadline):
                await _in_turns(self._collect(), None)
        except BaseException:  # whoever asked has gone
            self.cancel()
            raise
        return self._in_time()

    async def _finished(self, deadline: float | None) -> bool:
        """Wait for the workers; False when the deadline passed first."""
        futures = [asyncio.wrap_future(future) for future in self.futures]
        if not futures:
            return True
        timeout_s = None if deadline is None else max(0.0, deadline - time.perf_counter())
        _, late = await asyncio.wait(futures, timeout=timeout_s)
        return not late

    # --- the work, with a pause wherever there may be one --------------------------------------------

    def _start(self) -> Iterator[None]:
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
        plans = {data_source: self._plan_of(data_source) for data_source in places}
        here: list[tuple[ScoringPlan, list[int]]] = []
        for data_source, plan in plans.items():
            mine = places[data_source]
            if isinstance(plan, Score):
                self._put(mine, [plan] * len(mine))
                continue
            short, rest = self._split(plan, mine)
            if short:
                here.append((plan, short))
            if rest:
                yield from self._score_in_workers(plan, rest)
        for plan, mine in here:  # last, so that the workers run meanwhile
            yield from self._score_here(plan, mine)

    def _make_exact(self) -> Iterator[None]:
        exact: list[Sample] = []
        for sample in self._samples:
            exact.append(with_exact_texts(sample))
            if not len(exact) % _STRIDE:
                yield
        self._samples = exact

    def _split(self, plan: ScoringPlan, places: list[int]) -> tuple[list[int], list[int]]:
        """Return the places that are scored in this thread, and those for the workers; a batch that belongs
        together stays so."""
        may_run = plan.runner.may_run
        if may_run([self._samples[i] for i in places]):
            return places, []
        if plan.reward.running.batch or not plan.runner.inline:
            return [], places
        short = [i for i in places if may_run([self._samples[i]])]
        return short, sorted(set(places).difference(short))

    def _score_here(self, plan: ScoringPlan, places: list[int]) -> Iterator[None]:
        if plan.reward.running.batch:  # it is promised its samples together
            self._put(places, plan.runner.run([self._samples[i] for i in places]))
            return
        for some in slices(self._samples, places):
            self._put(some, plan.runner.run([self._samples[i] for i in some]))
            yield

    def _score_in_workers(self, plan: ScoringPlan, places: list[int]) -> Iterator[None]:
        encoded: list[msgspec.Raw | Score] = []
        for some in slices(self._samples, places):
            encoded += [_encoded(self._samples[i], plan.reward) for i in some]
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
        """The scores; where one is missing, the deadline has passed."""
        if not self._missing:
            return cast("list[Score]", self._scores)
        late = failure("timeout", "the sample was not scored within the time limit of the batch")
        return [late if score is None else score for score in self.cancel()]


def slices(samples: Sequence[Sample], places: Sequence[int]) -> Iterator[list[int]]:
    """Cut places into slices whose samples can be scored, by a cheap reward, within a millisecond or so."""
    waiting = iter(places)
    while some := list(islice(waiting, 1)):
        characters = len(samples[some[0]].response)
        while len(some) < SLICE and characters < SLICE_CHARACTERS and (more := list(islice(waiting, 1))):
            some += more
            characters += len(samples[more[0]].response)
        yield some


def _encoded(sample: Sample, reward: Reward) -> msgspec.Raw | Score:
    try:
        return encode(sample)
    except InputError as error:
        return failure("invalid", str(error), scorer=reward.scorer)


async def _in_turns(steps: Iterator[None], deadline: float | None) -> bool:
    """Take the steps, letting others run every few milliseconds; False when the deadline passed first."""
    turn_ends = time.perf_counter() + TURN_S
    for _ in steps:
        now = time.perf_counter()
        if deadline is not None and now > deadline:
            return False
        if now > turn_ends:
            await asyncio.sleep(0)
            turn_ends = time.perf_counter() + TURN_S
    return True
