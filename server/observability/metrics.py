"""Prometheus metrics: requests, samples, latencies, load, and killed processes.

The number of label values is limited: routes are path templates, and data sources are named as in the
registry. With several server processes, `PROMETHEUS_MULTIPROC_DIR` must be set before this module is
imported.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Generic, TypeVar

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client import generate_latest as _generate
from prometheus_client.multiprocess import MultiProcessCollector

from rewardkit.sandbox import Pool
from rewardkit.server.observability.watchdog import Watchdog
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.tally import Tally
from rewardkit.types import Status

MULTIPROC_DIR = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


_SCORE_BUCKETS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 2.0, 5.0, 10.0)
"""Upper bounds of the buckets for scores. Scores below 0 are in the first bucket."""

_MAX_NEW = 10_000
"""Number of different outcomes that are counted before they are added to the metrics."""

_MAX_CLIENTS = 200
OTHER_CLIENTS = "(others)"
"""Label for all clients beyond `_MAX_CLIENTS`. The limit is needed because clients choose their names."""

Child = TypeVar("Child")


class _Children(dict[tuple[str, ...], Child], Generic[Child]):
    """Cache of a metric's labelled series by their labels.

    Looking up a series in the metric itself takes much longer.
    """

    def __init__(self, labels: Callable[..., Child]) -> None:
        super().__init__()
        self._labels = labels

    def __missing__(self, values: tuple[str, ...]) -> Child:
        child = self[values] = self._labels(*values)
        return child


class Distribution:
    """Histogram to which any number of equal values can be added at once.

    It has the series of a Prometheus histogram, in gauges that only increase. With a Prometheus `Histogram`,
    each value would need its own update.

    Args:
        name: Name of the metric.
        about: Description of the metric.
        label: Name of the label.
        bounds: Upper bounds of the buckets.
        registry: Registry to which the metric is added.
    """

    def __init__(
        self, name: str, about: str, label: str, bounds: tuple[float, ...], registry: CollectorRegistry
    ) -> None:
        def gauge(suffix: str, *labels: str) -> Gauge:
            return Gauge(name + suffix, about, labels, registry=registry, multiprocess_mode="sum")

        self._bounds = (*bounds, math.inf)
        self._gauges = gauge("_bucket", label, "le"), gauge("_sum", label), gauge("_count", label)
        self._series: dict[str, tuple[list[tuple[float, Gauge]], Gauge, Gauge]] = {}

    def add(self, value: float, n: int, label: str) -> None:
        """Add a value `n` times."""
        if label not in self._series:
            bucket, sums, counts = self._gauges
            buckets = [(bound, bucket.labels(label, _bound_text(bound))) for bound in self._bounds]
            self._series[label] = buckets, sums.labels(label), counts.labels(label)
        buckets, total, count = self._series[label]
        for bound, gauge in buckets:
            if value <= bound:
                gauge.inc(n)
        total.inc(value * n)
        count.inc(n)


class Metrics:
    """All metrics of one server process."""

    def __init__(
        self, request_scorer: RequestScorer, watchdog: Watchdog | None = None, sandbox: Pool | None = None
    ) -> None:
        self.request_scorer = request_scorer
        self._sandbox = sandbox
        self._watchdog = watchdog or Watchdog()
        self.registry = registry = CollectorRegistry()
        self._requests = Histogram(
            "rewardkit_request_seconds",
            "From the arrival of a request to the end of its answer",
            ["route", "status"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._scoring_seconds = Histogram(
            "rewardkit_scoring_seconds",
            "Scoring time of samples, by data source and status, with the wait in the queue; "
            "observed once per batch",
            ["data_source", "status"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._samples = Counter(
            "rewardkit_samples", "Samples scored", ["data_source", "status"], registry=registry
        )
        self._overloaded = Counter(
            "rewardkit_overloaded",
            "Requests refused because the server was overloaded or their time limit was too short",
            registry=registry,
        )
        self._restarts = Counter(
            "rewardkit_worker_restarts",
            "Scoring processes that died, or were killed at a time limit or because the client had "
            "disconnected",
            ["reason"],
            registry=registry,
        )
        self._sandbox_kills = Counter(
            "rewardkit_sandbox_kills",
            "Programs that the sandbox stopped at a limit of time, memory or another resource",
            ["reason"],
            registry=registry,
        )
        self._judge_costs = Counter(
            "rewardkit_judge",
            "Use of judge models: calls, cached answers, tokens, dollars and overruled rules",
            ["data_source", "of"],
            registry=registry,
        )
        self._scores = Distribution(
            "rewardkit_score",
            "Scores by data source, without failed samples. Negative scores count as 0, because "
            "Prometheus reads a falling sum as a restart. The mean is (sum - "
            "rewardkit_score_negative_total) / count",
            "data_source",
            _SCORE_BUCKETS,
            registry,
        )
        self._negative_scores = Counter(
            "rewardkit_score_negative",
            "Sum of the negative scores of a data source, as a positive number",
            ["data_source"],
            registry=registry,
        )
        self._queue_seconds = Counter(
            "rewardkit_queue_seconds",
            "Time that chunks of samples waited for a worker, and programs of /run_code for a sandbox",
            registry=registry,
        )
        self._queue_chunks = Counter(
            "rewardkit_queue_chunks",
            "Chunks of samples that a worker started, and programs of /run_code",
            registry=registry,
        )
        self._held = Counter(
            "rewardkit_loop_held_seconds",
            "Time in which the event loop did not tick for 0.1 s, so that no request was handled",
            registry=registry,
        )
        self._passed_on = Counter(
            "rewardkit_large_requests",
            "Requests that scoring processes read and answered, because they were large",
            registry=registry,
        )
        self._clients = Counter(
            "rewardkit_client_samples", "Samples scored, by client", ["client"], registry=registry
        )
        self._in_flight = _gauge(
            "rewardkit_samples_in_flight", "Samples being scored or waiting (queue depth)", registry
        )
        self._wait = _gauge("rewardkit_expected_wait_seconds", "Expected wait for a free worker", registry)
        self._bytes = _gauge("rewardkit_body_bytes", "Request bodies in memory", registry)
        self._scorer_memory = _gauge(
            "rewardkit_scorer_memory_bytes", "Resident memory of the scoring processes", registry
        )
        self._told: dict[str, float] = {}
        self._known_clients: set[str] = set()
        self._answered = _Children(self._requests.labels)
        self._took = _Children(self._scoring_seconds.labels)
        self._new: dict[tuple[str, Status, float], int] = {}
        """Number of new samples by label, status and score, which `refresh` adds to the metrics."""
        self._by_client = _Children(self._clients.labels)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._answered[route, str(status)].observe(seconds)

    def client(self, name: str, samples: int) -> None:
        """Count the samples in a client's request."""
        if name not in self._known_clients:
            if len(self._known_clients) >= _MAX_CLIENTS:
                name = OTHER_CLIENTS
            self._known_clients.add(name)
        self._by_client[name,].inc(samples)

    def observe(self, tally: Tally, seconds: float) -> None:
        """Count a scored batch."""
        outcomes: set[tuple[str, Status]] = set()
        for outcome in tally.outcomes:
            key = outcome.label, outcome.status, outcome.score
            self._new[key] = self._new.get(key, 0) + outcome.n
            outcomes.add(key[:2])
        for labels in outcomes:
            self._took[labels].observe(seconds)
        if len(self._new) > _MAX_NEW:
            self._count_new()
        for reason, runs in tally.stopped.items():
            self.sandbox_kills(reason, runs)
        for label, costs in tally.costs.items():
            for name, amount in costs.items():
                self._judge_costs.labels(label, name).inc(amount)

    def _count_new(self) -> None:
        """Add the new outcomes to the metrics, which takes longer than counting them in a dict."""
        new, self._new = self._new, {}
        for (label, status, score), n in new.items():
            self._samples.labels(label, status).inc(n)
            if status == "ok":
                self._scores.add(max(score, 0.0), n, label)
                # This creates the series even if no score is negative.
                self._negative_scores.labels(label).inc(n * max(-score, 0.0))

    def sandbox_kills(self, reason: str, runs: float = 1.0) -> None:
        """Count runs that the sandbox stopped: `timed_out` or `over_limit`."""
        self._sandbox_kills.labels(reason).inc(runs)

    def refresh(self) -> None:
        """Copy the counts of other objects to the metrics.

        Call this method regularly and before metrics are read.
        """
        self._count_new()
        admission = self.request_scorer.admission
        workers = self.request_scorer.scorer.worker_counts
        self._in_flight.set(admission.samples)
        self._wait.set(admission.wait_s)
        self._bytes.set(admission.bytes)
        self._scorer_memory.set(self.request_scorer.scorer.worker_memory)
        self._overloaded.inc(self._news("refused", admission.refused))
        self._held.inc(self._news("held", self._watchdog.held_s))
        self._passed_on.inc(self._news("passed on", self.request_scorer.passed_on))
        self._restarts.labels("died").inc(self._news("died", workers.died))
        self._restarts.labels("killed").inc(self._news("killed", workers.killed))
        runs, waited_s = (self._sandbox.begun, self._sandbox.waited_s) if self._sandbox else (0, 0.0)
        self._queue_seconds.inc(self._news("waited", workers.waited_s + waited_s))
        self._queue_chunks.inc(self._news("begun", workers.begun + runs))

    def _news(self, name: str, total: float) -> float:
        new = total - self._told.get(name, 0.0)
        self._told[name] = total
        return new

    def text(self) -> bytes:
        """Return the metrics of this process, or of all server processes together, in Prometheus format."""
        self.refresh()
        if MULTIPROC_DIR not in os.environ:
            return _generate(self.registry)
        everywhere = CollectorRegistry()
        MultiProcessCollector(everywhere)  # type: ignore[no-untyped-call]
        return _generate(everywhere)


def _bound_text(bound: float) -> str:
    return "+Inf" if bound == math.inf else str(bound)


def _gauge(name: str, help_: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(name, help_, registry=registry, multiprocess_mode="livesum")
