"""Prometheus metrics: requests, samples, latencies, load, and killed processes.

The number of label values is limited: routes are path templates, and data sources are named as in the
registry. With several server processes, `PROMETHEUS_MULTIPROC_DIR` must be set before this module is
imported.
"""

from __future__ import annotations

import os

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

_MAX_CLIENTS = 200
OTHER_CLIENTS = "(others)"
"""Label for all clients beyond `_MAX_CLIENTS`. The limit is needed because clients choose their names."""


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
        self._scores = Histogram(
            "rewardkit_score",
            "Scores by data source, without failed samples. Negative scores count as 0, because "
            "Prometheus reads a falling sum as a restart. The mean is (sum - "
            "rewardkit_score_negative_total) / count",
            ["data_source"],
            buckets=_SCORE_BUCKETS,
            registry=registry,
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
        self._told: dict[str, float] = {}
        self._known_clients: set[str] = set()

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(route, status).observe(seconds)

    def client(self, name: str, samples: int) -> None:
        """Count the samples in a client's request."""
        if name not in self._known_clients:
            if len(self._known_clients) >= _MAX_CLIENTS:
                name = OTHER_CLIENTS
            self._known_clients.add(name)
        self._clients.labels(name).inc(samples)

    def observe(self, tally: Tally, seconds: float) -> None:
        """Count a scored batch."""
        counts: dict[tuple[str, Status], int] = {}
        for outcome in tally.outcomes:
            if outcome.status == "ok":
                distribution = self._scores.labels(outcome.label)
                for _ in range(outcome.n):
                    distribution.observe(max(outcome.score, 0.0))
                self._negative_scores.labels(outcome.label).inc(
                    outcome.n * max(-outcome.score, 0.0)
                )  # creates the metric even if no score is negative
            key = outcome.label, outcome.status
            counts[key] = counts.get(key, 0) + outcome.n
        for key, n in counts.items():
            self._samples.labels(*key).inc(n)
            self._scoring_seconds.labels(*key).observe(seconds)
        for reason, runs in tally.stopped.items():
            self.sandbox_kills(reason, runs)
        for label, costs in tally.costs.items():
            for name, amount in costs.items():
                self._judge_costs.labels(label, name).inc(amount)

    def sandbox_kills(self, reason: str, runs: float = 1.0) -> None:
        """Count runs that the sandbox stopped: `timed_out` or `over_limit`."""
        self._sandbox_kills.labels(reason).inc(runs)

    def refresh(self) -> None:
        """Update the metrics that other objects count. Call this regularly and before metrics are read."""
        admission = self.request_scorer.admission
        workers = self.request_scorer.scorer.worker_counts
        self._in_flight.set(admission.samples)
        self._wait.set(admission.wait_s)
        self._bytes.set(admission.bytes)
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


def _gauge(name: str, help_: str, registry: CollectorRegistry) -> Gauge:
    return Gauge(name, help_, registry=registry, multiprocess_mode="livesum")
