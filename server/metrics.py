"""Figures for Prometheus: requests, samples, latencies, load, and what had to be killed.

Label values are few by construction: routes are templates, data sources are those of the registry. With
several server processes, `PROMETHEUS_MULTIPROC_DIR` must be set before this is imported.
"""

from __future__ import annotations

import os
import re
from collections import Counter as Tally
from collections.abc import Mapping, Sequence

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as _generate
from prometheus_client.multiprocess import MultiProcessCollector

from rewardkit.server.judge import Judge, Outcome
from rewardkit.types import Score, Status

MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


_STOPPED = re.compile(r"\d+/\d+ tests passed[^;]*; test \d+ (\w+_(?:timeout|limit)): ")
"""How a reward that runs programs says that its first failure was one that the sandbox stopped."""


class Metrics:
    """All figures of one server process."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.registry = registry = CollectorRegistry()
        self._requests = Histogram(
            "rewardkit_request_seconds",
            "From the arrival of a request to the end of its answer",
            ["route", "status"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._judged = Histogram(
            "rewardkit_judge_seconds",
            "Time that the samples of a data source with this status spent being judged, queueing included; "
            "once a batch",
            ["data_source", "status"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._samples = Counter(
            "rewardkit_samples", "Samples judged", ["data_source", "status"], registry=registry
        )
        self._overloaded = Counter(
            "rewardkit_overloaded", "Refused for lack of room or time", registry=registry
        )
        self._restarts = Counter(
            "rewardkit_worker_restarts",
            "Scoring processes lost: they died, or were killed at a deadline or for a client that had gone",
            ["reason"],
            registry=registry,
        )
        self._sandbox_kills = Counter(
            "rewardkit_sandbox_kills",
            "Programs that the sandbox stopped at a limit; of each solution, the first",
            ["reason"],
            registry=registry,
        )
        self._in_flight = _gauge("rewardkit_samples_in_flight", "Judged or waiting (queue depth)", registry)
        self._wait = _gauge("rewardkit_expected_wait_seconds", "Until a worker would be free", registry)
        self._bytes = _gauge("rewardkit_body_bytes", "Request bodies held", registry)
        self._told: Tally[str] = Tally()
        # prometheus-client looks labels up slowly, and these are looked up for every request.
        self._request_children: dict[tuple[str, int], Histogram] = {}
        self._sample_children: dict[tuple[str, Status], tuple[Counter, Histogram]] = {}

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        child = self._request_children.get((route, status))
        if child is None:
            child = self._request_children[route, status] = self._requests.labels(route, status)
        child.observe(seconds)

    def observe(self, outcomes: Mapping[Outcome, int], scores: Sequence[Score], seconds: float) -> None:
        """Count a judged batch."""
        counts: dict[tuple[str, Status], int] = {}
        in_sandbox = False
        for (source, _, _, status), n in outcomes.items():
            key = self.judge.label(source), status
            counts[key] = counts.get(key, 0) + n
            in_sandbox = in_sandbox or self.judge.in_sandbox(source)
        for key, n in counts.items():
            children = self._sample_children.get(key)
            if children is None:
                children = self._samples.labels(*key), self._judged.labels(*key)
                self._sample_children[key] = children
            children[0].inc(n)
            children[1].observe(seconds)
        if in_sandbox:
            for score in scores:
                if stopped := _STOPPED.match(score.detail or ""):
                    self.sandbox_kill(stopped[1])

    def sandbox_kill(self, reason: str) -> None:
        """Count a program that was stopped at a limit."""
        self._sandbox_kills.labels(reason).inc()

    def refresh(self) -> None:
        """Take over what others count: call it now and then, and before the figures are read."""
        admission, workers = self.judge.admission, self.judge.scorer.worker_counts
        self._in_flight.set(admission.samples)
        self._wait.set(admission.wait_s)
        self._bytes.set(admission.bytes)
        self._overloaded.inc(self._news("refused", admission.refused))
        self._restarts.labels("died").inc(self._news("died", workers.died))
        self._restarts.labels("killed").inc(self._news("killed", workers.killed))

    def _news(self, name: str, total: int) -> int:
        new = total - self._told[name]
        self._told[name] = total
        return new

    def text(self) -> bytes:
        """The figures of this process, or of all server processes together, as Prometheus reads them."""
        self.refresh()
        if MULTIPROC_DIR not in os.environ:
            return _generate(self.registry)
        everywhere = CollectorRegistry()
        MultiProcessCollector(everywhere)  # type: ignore[no-untyped-call]
        return _generate(everywhere)


def _gauge(name: str, help_: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(name, help_, registry=registry, multiprocess_mode="livesum")
