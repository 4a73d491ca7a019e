"""The interface between all routes and the Scorer, with admission control, deadlines and score observers.

The scorer shares the event loop with other requests. Scoring for a request is stopped when the request's
deadline passes or its client disconnects.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import compress

from rewardkit.groups import needs_group
from rewardkit.scoring.jobs import Attribute, ScoringTurn
from rewardkit.scoring.pending import SLICE, SLICE_CHARACTERS
from rewardkit.scoring.runner import is_async
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.limits import Admission
from rewardkit.server.request import CURRENT, CurrentRequest
from rewardkit.types import Sample, Score, Status, failure

MAX_TIMEOUT_S = 86_400.0

_MAX_LABELS = 4_096
"""Maximum number of data sources whose labels are cached."""

SEND_GROUP = "send all responses to the prompt in one list to POST /score"
"""Advice for a response that was sent alone, although its reward compares the responses to a prompt."""

Observer = Callable[[Sequence[Sample], Sequence[Score], float], None]
"""Function that is called after every scored batch, with the samples, the scores and the seconds taken."""

CountedOutcome = tuple[str, float, bool | None, Status]
"""Outcome by which the samples in a batch are counted: data source, score, correct, status."""


class RequestScorer:
    """Scorer of samples for the current request, if there is one.

    Args:
        scorer: Scorer that scores the samples.
        timeout_s: Time limit in seconds for requests that do not set a limit.
        admission: Limits on the work in the server.
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
        """Return a Score for each sample, in order. Samples not scored in time have the status `timeout`.

        Args:
            samples: Samples to score.
            timeout_s: Time limit in seconds from the arrival of the request, unless the request sets one.

        Raises:
            OverloadedError: The server already has too much work. Nothing was scored.
        """
        request = CURRENT.get()
        start = time.perf_counter()
        elsewhere = [not self.scorer.scores_here(sample) for sample in samples]
        if not any(elsewhere) and len(samples) <= SLICE and _characters(samples) <= SLICE_CHARACTERS:
            return self._here(samples, start, request)
        allowed = min((request and request.timeout_s) or timeout_s or self.timeout_s, MAX_TIMEOUT_S)
        deadline = (request.clock if request else start) + allowed
        watch = request.trace.watch if request and request.trace is not None else None
        turn = ScoringTurn(request and request.client, request and request.id, watch)
        with self.admission.room_for(self._by_label(samples, elsewhere), allowed, turn.client):
            watching = request.cancelled_with_client() if request else contextlib.nullcontext()
            with watching:
                remaining_s = max(0.0, deadline - time.perf_counter())
                scores = await self.scorer.ascore_batch(samples, timeout_s=remaining_s, turn=turn)
            self._learn(list(compress(samples, elsewhere)), list(compress(scores, elsewhere)))
        self._scored(samples, scores, start, request)
        return scores

    async def each(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples that were sent one by one. Samples whose reward compares groups are `invalid`."""
        refused = {
            i: failure("invalid", needs_group(sample.data_source, SEND_GROUP))
            for i, sample in enumerate(samples)
            if self.scorer.scores_by_group(sample.data_source)
        }
        if not refused:
            return await self(samples)
        for observe in self.observers:
            observe([samples[i] for i in refused], list(refused.values()), 0.0)
        rest = [sample for i, sample in enumerate(samples) if i not in refused]
        scored = iter(await self(rest) if rest else ())
        return [refused.get(i) or next(scored) for i in range(len(samples))]

    def _here(self, samples: Sequence[Sample], start: float, request: CurrentRequest | None) -> list[Score]:
        began = time.monotonic()
        scores = self.scorer.score_batch(samples)
        if request and request.trace is not None:
            sources = sorted({sample.data_source for sample in samples})
            about: dict[str, Attribute] = {"samples": len(samples), "data_source": ",".join(sources)[:200]}
            request.trace.watch("score", began, time.monotonic(), about)
        self._scored(samples, scores, start, request)
        return scores

    def _scored(
        self, samples: Sequence[Sample], scores: list[Score], start: float, request: CurrentRequest | None
    ) -> None:
        """Count the samples of the request, and notify the observers."""
        if request:
            request.samples += len(samples)
        seconds = time.perf_counter() - start
        for observe in self.observers:
            observe(samples, scores, seconds)

    def label(self, data_source: str) -> str:
        """Return a label for a data source from a limited set of names.

        The label is the data source itself if the registry lists it, or else the pattern that it matches, the
        name of its reward, or `unknown`.
        """
        label = self._labels.get(data_source)
        if label is None:
            label = _label(self.scorer, data_source)
            if len(self._labels) >= _MAX_LABELS:
                self._labels.clear()
            self._labels[data_source] = label
        return label

    def in_sandbox(self, data_source: str) -> bool:
        """Return True if the samples of this data source are programs that run in the sandbox."""
        reward = self.scorer.find(data_source)
        return reward is not None and reward.running.runs == "sandbox"

    def _by_label(self, samples: Sequence[Sample], elsewhere: Sequence[bool]) -> dict[str, int]:
        """Return the number of samples with each label. Samples that need no worker have the label `""`."""
        busy = Counter([sample.data_source for sample in compress(samples, elsewhere)])
        by_label = {"": len(samples) - busy.total()}
        for source, count in busy.items():
            label = self.label(source)
            by_label[label] = by_label.get(label, 0) + count
        return by_label

    def _learn(self, samples: Sequence[Sample], scores: Sequence[Score]) -> None:
        """Report the worker time of these samples to `admission`."""
        seconds: dict[str, list[float]] = {}
        for sample, score in zip(samples, scores, strict=True):
            if score.seconds:
                seconds.setdefault(sample.data_source, []).append(score.seconds)
        for source, taken in seconds.items():
            if not is_async(self.scorer.reward_for(source)):  # async rewards overlap in a worker
                self.admission.learn(self.label(source), sum(taken) / len(taken))


def count_outcomes(samples: Sequence[Sample], scores: Sequence[Score]) -> dict[CountedOutcome, int]:
    """Return the number of samples in a batch with each outcome."""
    counts: dict[CountedOutcome, int] = {}
    for sample, score in zip(samples, scores, strict=True):
        outcome = sample.data_source, score.score, score.correct, score.status
        counts[outcome] = counts.get(outcome, 0) + 1
    return counts


def _characters(samples: Sequence[Sample]) -> int:
    return sum(len(sample.response) for sample in samples)


def _label(scorer: Scorer, data_source: str) -> str:
    reward = scorer.find(data_source)
    if reward is None:
        return "unknown"
    names = (*reward.data_sources, *reward.aliases)
    if data_source in names:
        return data_source
    return next((name for name in names if fnmatchcase(data_source, name)), reward.name)
