"""Scoring of chunks of a file with inline rewards, in the main process or in a worker from `file_workers`."""

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
from rewardkit.registry import Reward
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score

Rewards = Mapping[str, tuple[Reward, Any]]
"""Reward and its options by data source."""

_SOURCE = attrgetter("data_source")


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
        self._runners: dict[str, RewardRunner] = {}

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
        """Smallest fraction of the samples of a data source for which the excerpt was sufficient."""
        return min((runner.excerpted for runner in self._runners.values()), default=1.0)

    def scores(self, samples: Sequence[Sample]) -> Sequence[Score] | None:
        """Return a score for each sample, or None in the same cases as `score`."""
        places: dict[str, list[int]] = {source: [] for source in set(map(_SOURCE, samples))}
        if not places.keys() <= self._setup.rewards.keys():
            return None
        if len(places) == 1:
            return self._score(samples)
        for i, sample in enumerate(samples):
            places[sample.data_source].append(i)
        scores: dict[int, Score] = {}
        for mine in places.values():
            found = self._score([samples[i] for i in mine])
            if found is None:
                return None
            scores.update(zip(mine, found, strict=True))
        return [scores[i] for i in range(len(samples))]

    def _score(self, samples: Sequence[Sample]) -> Sequence[Score] | None:
        """Score samples of one data source."""
        source = samples[0].data_source
        if source not in self._runners:
            self._runners[source] = RewardRunner(*self._setup.rewards[source])
        return self._runners[source].run_here(samples, any_length=self._killable)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Disable the garbage collector for the block.

    Repeated scans would take a twelfth of the scoring time and find no garbage among the rows of the chunk.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
