"""Scoring of chunks of a file with inline rewards, in the main process or in a worker from `file_workers`.

If a reward reports which part of a response determines its score (`Reward.excerpts`), equal parts are scored
only once for each ground truth, since most answers to a prompt are the same.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from rewardkit.files.records import Records
from rewardkit.logs.layout import RowLayout
from rewardkit.logs.samples import to_batch
from rewardkit.offline.chunk import ChunkResult, Output, finish
from rewardkit.registry import Reward, import_target
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score

Rewards = Mapping[str, tuple[Reward, Any]]
"""Reward and its options by data source."""

_MOST_KNOWN = 65_536
"""Maximum number of cached scores for each data source."""
_LONGEST = 200
"""Maximum total length of an excerpt and its ground truth for which the score is cached. Longer excerpts
rarely recur."""

_AT_ONCE = 256
"""Number of responses whose excerpts are requested together, chosen to fit into a processor's cache."""

_SOURCE = attrgetter("data_source")
_RESPONSE = attrgetter("response")
_GROUND_TRUTH = attrgetter("ground_truth")


@dataclass(frozen=True, eq=False)
class FileSetup:
    """Settings for reading and scoring the chunks of one file."""

    layout: RowLayout
    reads: Sequence[str]
    rewards: Rewards
    output: Output


class ChunkScorer:
    """Scorer for the chunks of one file.

    Args:
        setup: Settings for the file.
        killable: True if this process can be killed, so that any sample may be scored. Otherwise, the caller
            must score chunks in which long responses have to be read completely.
    """

    def __init__(self, setup: FileSetup, *, killable: bool) -> None:
        self._setup = setup
        self._killable = killable
        self._scorers: dict[str, _SourceScorer] = {}

    def score(self, records: Records) -> ChunkResult | None:
        """Return the result of scoring a chunk, or None if the caller must score the chunk.

        The caller must score chunks that contain a data source without a reward or a long response.
        """
        with _uncollected():
            batch = to_batch(records, self._setup.layout, self._setup.reads)
            scores = self.scores(batch.usable)
            return None if scores is None else finish(batch, scores, self._setup.layout, self._setup.output)

    @property
    def excerpted(self) -> float:
        """Fraction of the samples for which the excerpt was sufficient."""
        seen = sum(scorer.seen for scorer in self._scorers.values())
        return sum(scorer.excerpted for scorer in self._scorers.values()) / seen if seen else 1.0

    def scores(self, samples: Sequence[Sample]) -> Sequence[Score] | None:
        """Return a score for each sample, or None in the same cases as `score`."""
        places: dict[str, list[int]] = {source: [] for source in set(map(_SOURCE, samples))}
        if not places.keys() <= self._setup.rewards.keys():
            return None
        if len(places) == 1:
            return self._scorer(samples[0].data_source).run(samples)
        for i, sample in enumerate(samples):
            places[sample.data_source].append(i)
        scores: dict[int, Score] = {}
        for source, mine in places.items():
            found = self._scorer(source).run([samples[i] for i in mine])
            if found is None:
                return None
            scores.update(zip(mine, found, strict=True))
        return [scores[i] for i in range(len(samples))]

    def _scorer(self, data_source: str) -> _SourceScorer:
        if data_source not in self._scorers:
            reward, options = self._setup.rewards[data_source]
            self._scorers[data_source] = _SourceScorer(reward, options, killable=self._killable)
        return self._scorers[data_source]


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Disable the garbage collector for the block.

    While a chunk is scored, none of its rows is garbage, and repeated scans would take a twelfth of the
    scoring time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _SourceScorer:
    """Scorer for the samples of one data source."""

    def __init__(self, reward: Reward, options: Any, *, killable: bool) -> None:
        self._runner = RewardRunner(reward, options)
        self._options = options
        self._killable = killable
        self._excerpts = import_target(reward.running.excerpts) if reward.running.excerpts else None
        self._known: dict[tuple[str | None, str], Score] = {}
        """Scores by excerpt and ground truth."""
        self.seen = 0
        self.excerpted = 0

    def run(self, samples: Sequence[Sample]) -> Sequence[Score] | None:
        """Return a score for each sample, or None if the caller must score the samples.

        Samples with equal excerpts and ground truths have the same score object.
        """
        found = self._from_excerpts(samples) if self._excerpts is not None else [None] * len(samples)
        self.seen += len(samples)
        self.excerpted += len(samples) - found.count(None)
        rest = [s for s, score in zip(samples, found, strict=True) if score is None] if None in found else []
        if not self._killable and not self._runner.may_run(rest):
            return None
        scored = iter(self._runner.run(rest) if rest else [])
        return [next(scored) if score is None else score for score in found]

    def _from_excerpts(self, samples: Sequence[Sample]) -> list[Score | None]:
        keys = list(zip(self._excerpts_of(samples), map(_GROUND_TRUTH, samples), strict=True))
        found = list(map(self._known.get, keys))
        new = {
            (excerpt, ground_truth)
            for (excerpt, ground_truth), score in zip(keys, found, strict=True)
            if score is None and excerpt is not None and len(excerpt) + len(ground_truth) <= _LONGEST
        }
        if not new:
            return found
        if len(self._known) + len(new) > _MOST_KNOWN:
            self._known.clear()
        scores = self._runner.run([Sample(samples[0].data_source, *key) for key in new])
        self._known.update(zip(new, scores, strict=True))
        return [score or self._known.get(key) for key, score in zip(keys, found, strict=True)]

    def _excerpts_of(self, samples: Sequence[Sample]) -> Sequence[str | None]:
        """Return the excerpt of each response. None means that the whole response must be scored.

        If a call raises an error, the result contains only None.
        """
        assert self._excerpts is not None
        responses = list(map(_RESPONSE, samples))
        found: list[str | None] = []
        with contextlib.suppress(Exception):
            for start in range(0, len(responses), _AT_ONCE):
                found += self._excerpts(responses[start : start + _AT_ONCE], self._options)
        usable = len(found) == len(samples) and set(map(type, found)) <= {str, type(None)}
        return found if usable else [None] * len(samples)
