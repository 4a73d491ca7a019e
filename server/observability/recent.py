"""The latest scored responses, which the web page lists.

Users can open a whole sample and score it again by hand.

Responses are kept in memory, with limits on their number and size. A few responses are kept for each data
source and verdict, so that frequent verdicts do not displace rare ones. If traffic is heavy, only some
responses are recorded. Each server process keeps its own responses.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewardkit.server.wire import encode
from rewardkit.types import Sample, Score

Verdict = Literal["right", "wrong", "scored", "failed"]
VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "scored", "failed")
"""Verdicts on responses. `scored` is the verdict for rewards that do not decide between right and wrong."""

KEPT = 20
"""Number of samples that are kept for each data source and verdict."""
PER_SECOND = 100
"""Maximum number of samples to record per second.

The limit does not apply to failures, because they are either few or important.
"""
MAX_BYTES = 16 << 20
"""Maximum total size of all samples that are kept."""
LONGEST = 256 << 10
"""Maximum size of a sample to keep. Larger samples are listed, but cannot be opened."""
LISTED = 100
"""Maximum number of samples in a list."""
SHOWN = 300
"""Maximum number of characters per text in a list."""


@dataclass(frozen=True, slots=True)
class RecentScore:
    """A scored response."""

    number: int
    time: float
    source: str
    verdict: Verdict
    status: str
    score: float
    extracted: str
    detail: str
    response: str
    """Whole response, or its beginning if the sample is too long to keep."""
    sample: Sample | None
    """The sample, or None if it is too long to keep."""
    size: int

    def row(self) -> dict[str, Any]:
        """Return the list entry of this response."""
        return {
            "id": str(self.number),
            "time": self.time,
            "data_source": self.source,
            "verdict": self.verdict,
            "status": self.status,
            "score": self.score,
            "extracted": self.extracted,
            "detail": self.detail,
            "response": _shown(self.response),
            "whole": self.sample is not None,
        }

    def has(self, text: str) -> bool:
        """Return True if the response, the extracted answer or the detail contains this lower-case text."""
        return any(text in part.lower() for part in (self.response, self.extracted, self.detail))


class Recent:
    """Collection of the latest scored responses, for use only in the event loop's thread."""

    def __init__(self) -> None:
        self._rings: dict[tuple[str, Verdict], deque[RecentScore]] = {}
        self._number = 0
        self._size = 0
        self._second = 0
        self._left = PER_SECOND

    def wants_more(self, now: float) -> bool:
        """Return True if more successful samples can be recorded in the current second."""
        return self._left > 0 or int(now) != self._second

    def record(
        self, samples: Sequence[Sample], scores: Sequence[Score], name_of: Callable[[str], str], now: float
    ) -> None:
        """Record evenly spaced samples from a batch, up to the limit per second.

        Also record the latest failures.

        Args:
            samples: Samples in the batch.
            scores: Score of each sample.
            name_of: Function that returns the name under which a data source is stored. The set of names is
                limited.
            now: Current time, in seconds.
        """
        for i in self._chosen(scores, int(now)):
            self._keep(samples[i], scores[i], name_of(samples[i].data_source), now)
        while self._size > MAX_BYTES:
            self._drop_oldest()

    def _chosen(self, scores: Sequence[Score], second: int) -> Iterable[int]:
        if second != self._second:
            self._second = second
            self._left = PER_SECOND
        n = len(scores)
        if n <= self._left:
            self._left -= n
            return range(n)
        step = -(-n // self._left) if self._left else n
        chosen = set(range(0, n, step)) if self._left else set()
        self._left -= len(chosen)
        failed = [i for i in range(n) if not scores[i].ok]
        return sorted(chosen.union(failed[-KEPT:]))

    def _keep(self, sample: Sample, score: Score, name: str, now: float) -> None:
        verdict = verdict_of(score)
        ring = self._rings.get((name, verdict))
        if ring is None:
            ring = self._rings[name, verdict] = deque()
        self._number += 1
        size = _size(sample)
        whole = size <= LONGEST
        kept = RecentScore(
            number=self._number,
            time=now,
            source=name,
            verdict=verdict,
            status=score.status,
            score=score.score,
            extracted=_shown(score.extracted or ""),
            detail=_shown(score.detail or ""),
            response=sample.response if whole else sample.response[:SHOWN],
            sample=sample if whole else None,
            size=size if whole else SHOWN,
        )
        ring.append(kept)
        self._size += kept.size
        if len(ring) > KEPT:
            self._size -= ring.popleft().size

    def _drop_oldest(self) -> None:
        key = min(self._rings, key=lambda key: self._rings[key][0].number)
        self._size -= self._rings[key].popleft().size
        if not self._rings[key]:
            del self._rings[key]

    def find(self, source: str = "", verdict: str = "", text: str = "") -> list[dict[str, Any]]:
        """Return the latest matching responses, newest first, as plain data. Empty strings match all."""
        wanted = text.lower()
        fitting = [kept for kept in self._of(source, verdict) if not wanted or kept.has(wanted)]
        fitting.sort(key=lambda kept: -kept.number)
        return [kept.row() for kept in fitting[:LISTED]]

    def sample(self, number: int) -> str | None:
        """Return a sample as JSON, or None if it is no longer kept or was too long to keep."""
        for ring in self._rings.values():
            for kept in ring:
                if kept.number == number and kept.sample is not None:
                    return encode(kept.sample).decode()
        return None

    def _of(self, source: str, verdict: str) -> Iterator[RecentScore]:
        for (name, said), ring in self._rings.items():
            if source in ("", name) and verdict in ("", said):
                yield from ring


def verdict_of(score: Score) -> Verdict:
    """Return the verdict of a score."""
    if not score.ok:
        return "failed"
    if score.correct is None:
        return "scored"
    return "right" if score.correct else "wrong"


def _size(sample: Sample) -> int:
    size = len(sample.response) + len(sample.ground_truth)
    if size > LONGEST or not (sample.prompt or sample.extra_info):
        return size
    try:
        return size + len(json.dumps([sample.prompt, dict(sample.extra_info)], default=str))
    except (ValueError, RecursionError):
        return LONGEST + 1


def _shown(text: str) -> str:
    """Return the beginning of a text, without lone surrogates, which cannot be sent between processes."""
    return text[:SHOWN].encode("utf-8", "replace").decode()
