"""How much the server takes on at once. Beyond it the answer is "try again in n seconds", at once.

Counts bytes (of request bodies in memory), samples (being judged or waiting for a worker) and, since the
two say little about time, how long the workers will be busy with what was taken on already.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rewardkit.errors import OverloadedError

WAIT_SHARE = 0.4
"""Of its deadline a request may be expected to wait for workers; the rest is for being judged."""

_LEARNING_RATE = 0.1
"""Weight of the newest batch in the mean of seconds per sample."""


class Admission:
    """What is in the server now, against what may be.

    Args:
        max_samples: judged or waiting at once; a single batch may be larger when nothing else is there.
        max_bytes: of request bodies held at once.
        workers: scoring processes; None: how long they will be busy is not looked at.
    """

    def __init__(self, *, max_samples: int = 50_000, max_bytes: int = 1 << 30, workers: int = 1) -> None:
        self.max_samples = max_samples
        self.max_bytes = max_bytes
        self.workers = workers
        self.samples = 0
        self.bytes = 0
        self.busy_s = 0.0
        """Worker time that what is in flight is expected to take, all workers together."""
        self.refused = 0
        self._mean_s: dict[str, float] = {}
        """Worker time of one sample, by the reward's label."""

    @property
    def wait_s(self) -> float:
        """How long a newcomer would wait for a worker."""
        return self.busy_s / self.workers

    def take_bytes(self, n: int) -> None:
        """Count bytes of a body in; the caller gives them back in the end.

        Raises:
            OverloadedError: there is no room; nothing was counted.
        """
        if self.bytes and self.bytes + n > self.max_bytes:
            raise self._full(f"{self.bytes >> 20} MiB of requests are being handled", 1.0)
        self.bytes += n

    def give_back_bytes(self, n: int) -> None:
        """Count bytes out."""
        self.bytes -= n

    @contextmanager
    def room_for(self, counts: Mapping[str, int], timeout_s: float) -> Iterator[None]:
        """Hold room for samples, counted by label, while they are judged; `""` for those no worker judges.

        Raises:
            OverloadedError: there is no room, or they could not be expected to be judged in time.
        """
        n = sum(counts.values())
        cost_s = sum(self._mean_s.get(label, 0.0) * count for label, count in counts.items())
        if self.samples and self.samples + n > self.max_samples:
            raise self._full(f"{self.samples} samples are being judged", max(1.0, self.wait_s / 2))
        if any(counts) and self.wait_s > WAIT_SHARE * timeout_s:
            raise self._full(f"the workers are busy for {self.wait_s:.1f} s", self.wait_s / 2)
        self.samples += n
        self.busy_s += cost_s
        try:
            yield
        finally:
            self.samples -= n
            self.busy_s = max(0.0, self.busy_s - cost_s) if self.samples else 0.0

    def learn(self, label: str, seconds: float) -> None:
        """Take note of how long one sample kept a worker busy."""
        before = self._mean_s.get(label, seconds)
        self._mean_s[label] = before + _LEARNING_RATE * (seconds - before)

    def _full(self, why: str, retry_after_s: float) -> OverloadedError:
        self.refused += 1
        return OverloadedError(f"{why}; try again later", float(math.ceil(retry_after_s)))
