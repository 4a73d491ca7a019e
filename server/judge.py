"""The one way into the Scorer for every route: admission, the deadline, and who may hold the event loop.

Cheap rewards are judged here, on the loop, a few milliseconds at a time; the others only ever in the
scorer's processes. What was started is killed when the deadline passes or the client has gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from rewardkit.errors import UnknownDataSourceError
from rewardkit.runner import is_async
from rewardkit.scorer import Pending, Scorer
from rewardkit.server.admission import Admission
from rewardkit.server.request import CURRENT
from rewardkit.types import Sample, Score, Status, failure

INLINE_SLICE = 64
"""Samples of cheap rewards between two looks at the clock."""

INLINE_TURN_S = 0.005
"""How long cheap rewards may hold the event loop before others get their turn."""

MAX_TIMEOUT_S = 86_400.0

_MAX_LABELS = 4_096
"""Data sources whose label is kept."""

Observer = Callable[[Sequence[Sample], Sequence[Score], float], None]
"""Called with samples, their scores and the seconds it took after every judged batch."""

Outcome = tuple[str, float, bool | None, Status]
"""What samples of a batch have in common for whoever counts them: data source, score, correct, status."""


class Judge:
    """Judges samples within a request, or outside of one.

    Args:
        scorer: whose answers these are.
        timeout_s: the deadline of a request that names none.
    """

    def __init__(
        self, scorer: Scorer, *, timeout_s: float = 60.0, admission: Admission | None = None
    ) -> None:
        self.scorer = scorer
        self.timeout_s = timeout_s
        self.admission = admission or Admission(workers=scorer.workers)
        self.observers: list[Observer] = []
        self._labels: dict[str, str] = {}

    async def __call__(self, samples: Sequence[Sample], *, timeout_s: float | None = None) -> list[Score]:
        """Return one Score for each sample, in order. What is not judged in time has the status `timeout`.

        Args:
            timeout_s: counted from the arrival of the request; None: what it asked for, or the default.

        Raises:
            OverloadedError: there is too much to do already; nothing was started.
        """
        request = CURRENT.get()
        start = time.perf_counter()
        allowed = min(timeout_s or (request and request.timeout_s) or self.timeout_s, MAX_TIMEOUT_S)
        deadline = (request.clock if request else start) + allowed
        sources = {sample.data_source for sample in samples}
        elsewhere = {source for source in sources if not self.scorer.runs_inline(source)}
        if not elsewhere and len(samples) <= INLINE_SLICE:
            scores = self.scorer.score_batch(samples)
        else:
            with self.admission.room_for(self._by_label(samples, elsewhere), allowed):
                watching = request.cancelled_with_client() if request else contextlib.nullcontext()
                with watching:
                    scores = await self._judge(samples, elsewhere, deadline)
        if request:
            request.samples += len(samples)
        seconds = time.perf_counter() - start
        for observe in self.observers:
            observe(samples, scores, seconds)
        return scores

    def label(self, data_source: str) -> str:
        """What stands for a data source where only few names may: itself, the glob it matches, `unknown`."""
        label = self._labels.get(data_source)
        if label is None:
            label = _label(self.scorer, data_source)
            if len(self._labels) >= _MAX_LABELS:
                self._labels.clear()
            self._labels[data_source] = label
        return label

    def in_sandbox(self, data_source: str) -> bool:
        """True when samples of this data source are programs, to be run in the sandbox."""
        if self.scorer.runs_inline(data_source):
            return False
        return self.scorer.reward_for(data_source).runs == "sandbox"

    def _by_label(self, samples: Sequence[Sample], elsewhere: set[str]) -> dict[str, int]:
        """How many samples of each label; the cheap ones, which keep no worker busy, under `""`."""
        by_label: dict[str, int] = {}
        for source, count in Counter([sample.data_source for sample in samples]).items():
            label = self.label(source) if source in elsewhere else ""
            by_label[label] = by_label.get(label, 0) + count
        return by_label

    async def _judge(self, samples: Sequence[Sample], elsewhere: set[str], deadline: float) -> list[Score]:
        """Start the workers, judge the cheap ones while they run, and put all back in order."""
        slow = [i for i, sample in enumerate(samples) if sample.data_source in elsewhere]
        cheap = [i for i, sample in enumerate(samples) if sample.data_source not in elsewhere]
        scores: list[Score | None] = [None] * len(samples)
        pending = self.scorer.submit([samples[i] for i in slow])
        try:
            await self._inline(samples, cheap, scores, deadline)
            in_time = await _finished(pending, deadline)
        except BaseException:  # the client has gone, or the server stops
            pending.cancel()
            raise
        found = pending.wait() if in_time else pending.cancel()
        self._learn([samples[i] for i in slow], found)
        late = failure("timeout", "not judged by the deadline of the request")
        for i, score in zip(slow, found, strict=True):
            scores[i] = score
        return [late if score is None else score for score in scores]

    def _learn(self, samples: Sequence[Sample], scores: Sequence[Score | None]) -> None:
        """Tell admission how long samples keep a worker busy."""
        seconds: dict[str, list[float]] = {}
        for sample, score in zip(samples, scores, strict=True):
            if score is not None and score.seconds:
                seconds.setdefault(sample.data_source, []).append(score.seconds)
        for source, taken in seconds.items():
            if not is_async(self.scorer.reward_for(source)):  # those share a worker's time
                self.admission.learn(self.label(source), sum(taken) / len(taken))

    async def _inline(
        self, samples: Sequence[Sample], cheap: Sequence[int], scores: list[Score | None], deadline: float
    ) -> None:
        """Judge on the loop, with a pause for others every few milliseconds; stop at the deadline."""
        turn_ends = time.perf_counter() + INLINE_TURN_S
        for first in range(0, len(cheap), INLINE_SLICE):
            places = cheap[first : first + INLINE_SLICE]
            for i, score in zip(places, self.scorer.score_batch([samples[i] for i in places]), strict=True):
                scores[i] = score
            now = time.perf_counter()
            if now > deadline:
                return
            if now > turn_ends:
                await asyncio.sleep(0)
                turn_ends = time.perf_counter() + INLINE_TURN_S


async def _finished(pending: Pending, deadline: float) -> bool:
    """Wait for the workers; False when the deadline passed first."""
    futures = [asyncio.wrap_future(future) for _, future in pending.futures]
    if not futures:
        return True
    _, late = await asyncio.wait(futures, timeout=max(0.0, deadline - time.perf_counter()))
    return not late


def count_outcomes(samples: Sequence[Sample], scores: Sequence[Score]) -> dict[Outcome, int]:
    """How many samples of a batch came out alike: far fewer outcomes than samples, as a rule."""
    counts: dict[Outcome, int] = {}
    for sample, score in zip(samples, scores, strict=True):
        outcome = sample.data_source, score.score, score.correct, score.status
        counts[outcome] = counts.get(outcome, 0) + 1
    return counts


def _label(scorer: Scorer, data_source: str) -> str:
    try:
        reward = scorer.reward_for(data_source)
    except UnknownDataSourceError:
        return "unknown"
    names = (*reward.data_sources, *reward.aliases)
    if data_source in names:
        return data_source
    return next((name for name in names if fnmatchcase(data_source, name)), reward.name)
