"""Scores of excerpts from responses. Equal excerpts are scored only once for each ground truth.

A reward can report which part of a response determines its score (`Running.excerpts`). Most responses to a
prompt give the same answer, so scoring equal excerpts only once saves most of the work.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from rewardkit.registry import import_target
from rewardkit.types import Sample, Score

FEW = 16
"""Minimum number of samples. For fewer samples, finding the excerpts takes longer than scoring the
samples."""

_MOST_KNOWN = 16_384
"""Maximum number of cached scores."""
_LONGEST = 200
"""Maximum total length of an excerpt and its ground truth. Scores of longer excerpts are not cached, because
these excerpts rarely recur."""

_AT_ONCE = 256
"""Number of responses whose excerpts are requested in one call. This number fits into a processor's cache."""

_RESPONSE = attrgetter("response")
_GROUND_TRUTH = attrgetter("ground_truth")


class ExcerptScores:
    """Scores of the excerpts of one data source, for use by any number of threads.

    Args:
        target: `module:function` that returns the excerpts of responses.
        options: Options of the reward.
        run: Function that scores samples.
    """

    def __init__(self, target: str, options: Any, run: Callable[[Sequence[Sample]], Sequence[Score]]) -> None:
        self._excerpts: Callable[[Sequence[str], Any], Sequence[str | None]] = import_target(target)
        self._options = options
        self._run = run
        self._known: dict[tuple[str | None, str], Score] = {}
        """Scores by excerpt and ground truth."""
        self._seen = 0
        self._found = 0

    @property
    def share(self) -> float:
        """Fraction of the samples so far for which the excerpt was sufficient."""
        return self._found / self._seen if self._seen else 1.0

    def scores(self, samples: Sequence[Sample]) -> list[Score | None]:
        """Return the Score of each sample whose excerpt is sufficient, and None for each other sample.

        Samples with equal excerpts and ground truths have the same Score object.
        """
        keys = list(zip(self._excerpts_of(samples), map(_GROUND_TRUTH, samples), strict=True))
        found = list(map(self._known.get, keys))
        if None in found:
            self._learn(samples[0].data_source, keys, found)
            found = [score or self._known.get(key) for key, score in zip(keys, found, strict=True)]
        self._seen += len(found)
        self._found += len(found) - found.count(None)
        return found

    def _learn(
        self, source: str, keys: Sequence[tuple[str | None, str]], found: Sequence[Score | None]
    ) -> None:
        new = {
            (excerpt, ground_truth)
            for (excerpt, ground_truth), score in zip(keys, found, strict=True)
            if score is None and excerpt is not None and len(excerpt) + len(ground_truth) <= _LONGEST
        }
        if len(self._known) + len(new) > _MOST_KNOWN:
            self._known.clear()
        scores = self._run([Sample(source, excerpt or "", ground_truth) for excerpt, ground_truth in new])
        self._known.update(zip(new, scores, strict=True))

    def _excerpts_of(self, samples: Sequence[Sample]) -> Sequence[str | None]:
        """Return the excerpt of each response. None means that the whole response must be scored.

        If a call raises an error, the result contains only None.
        """
        responses = list(map(_RESPONSE, samples))
        found: list[str | None] = []
        with contextlib.suppress(Exception):
            for start in range(0, len(responses), _AT_ONCE):
                found += self._excerpts(responses[start : start + _AT_ONCE], self._options)
        usable = len(found) == len(samples) and set(map(type, found)) <= {str, type(None)}
        return found if usable else [None] * len(samples)
