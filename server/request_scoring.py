"""The interface between all routes and the Scorer, with admission control, deadlines and score observers.

Small requests are read and answered in the event loop, which they share with other requests. A larger request
is read, scored and answered by a scoring process (`request_runner`). The server process only passes the bytes
on. Scoring for a request is stopped when the request's deadline passes or its client disconnects.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import msgspec

from rewardkit.errors import OverloadedError
from rewardkit.scoring.jobs import Attribute, Scores, ScoringTurn, WorkerJob
from rewardkit.scoring.runner import is_async
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.admission import Admission
from rewardkit.server.exchanges import (
    Exchange,
    Question,
    ServedRows,
    answered,
    read_question,
)
from rewardkit.server.request import CURRENT, CurrentRequest
from rewardkit.server.request_runner import LATE, ForWorkers, RequestDone, RequestRunner, RequestWork
from rewardkit.server.tally import SourceLabels, Tally, tally_of
from rewardkit.server.wire import SMALL_BYTES, Reply
from rewardkit.types import Sample, Score

MAX_TIMEOUT_S = 86_400.0

SMALL_SAMPLES = 64
"""Maximum number of samples of a request that the event loop handles itself."""

_LARGE = "large requests"
"""Label for requests that scoring processes read.

Admission counts one sample for each `SMALL_BYTES` of such a request.
"""

_ANSWER_BYTES = 128
"""Typical size of an encoded score."""

_ANSWER_S = 10.0
"""Time limit in seconds for a scoring process to encode the answer after the deadline of a request."""

_MAX_PROBLEMS = 1_000
"""Maximum number of different problems that are logged."""

Observer = Callable[[Tally, float], None]
"""Function that is called after every scored batch, with its counts and the seconds taken."""

Finish = Callable[[], Awaitable[Reply]]
"""Function that scores a request that has been read, and returns the answer."""

_decode_done = msgspec.msgpack.Decoder(RequestDone)
_encoder = msgspec.msgpack.Encoder()
_log = logging.getLogger("rewardkit.server")


class RequestScorer:
    """Scorer of samples, which applies the limits of the current request if there is one.

    Args:
        scorer: Scorer that scores the samples.
        timeout_s: Time limit in seconds for requests that do not set a limit.
        admission: Limits on the work in the server.
        rows: Rows and settings for reading and answering requests.
    """

    def __init__(
        self,
        scorer: Scorer,
        *,
        timeout_s: float = 60.0,
        admission: Admission | None = None,
        rows: ServedRows | None = None,
    ) -> None:
        self.scorer = scorer
        self.timeout_s = timeout_s
        self.admission = admission or Admission(workers=scorer.workers)
        self.rows = rows or ServedRows()
        self.observers: list[Observer] = []
        self.failure_observers: list[Observer] = []
        """Observers that are notified only of batches in which a sample could not be scored."""
        self.label = SourceLabels(scorer)
        self.passed_on = 0
        """Number of requests that scoring processes have handled."""
        self._logged: set[str] = set()

    # --- requests ------------------------------------------------------------------------------------

    async def respond(self, exchange: Exchange, body: bytes, named: str | None = None) -> Reply:
        """Read a request, score its samples, and return the answer.

        Args:
            exchange: Kind of the request.
            body: Body of the request.
            named: Data source in the path, or another fact that is not in the body.

        Raises:
            InputError: The request cannot be read or is refused.
            UnknownDataSourceError: All data sources are unknown.
            OverloadedError: The server already has too much work. Nothing was scored.
        """
        finish = await self.begin(exchange, body, named)
        return await finish()

    async def begin(self, exchange: Exchange, body: bytes, named: str | None = None) -> Finish:
        """Read a request as `respond` does, and return a function that scores it and returns the answer."""
        if len(body) <= SMALL_BYTES:
            question = read_question(exchange, self.rows, body, named)
            if len(question.samples) <= SMALL_SAMPLES:
                return partial(self._answer_here, exchange, question)
        self.passed_on += 1
        start = time.perf_counter()
        work = RequestWork(pickle.dumps(exchange), body, named, 0.0)
        work.left_s = self._deadline(exchange.timeout_s, start) - start
        # The cost of a request that has not been read is estimated from its size.
        places = {_LARGE: -(-len(body) // SMALL_BYTES)}
        request = CURRENT.get()
        with self.admission.room_for(places, work.left_s, request and request.client):
            done = await self._run(work, work.left_s)
        if isinstance(done, RequestDone):
            self.admission.learn(_LARGE, done.seconds / places[_LARGE])
        return partial(self._answer_elsewhere, exchange, work, done, start)

    async def _answer_here(self, exchange: Exchange, question: Question) -> Reply:
        start = time.perf_counter()
        samples = question.scorable
        timeout_s = question.timeout_s or exchange.timeout_s
        scored = await self.score(samples, timeout_s=timeout_s, start=start) if samples else ()
        reply, scores, problems = answered(exchange, self.rows, question, scored)
        self._note(tally_of(question.samples, scores, self.label), start)
        for problem in problems:
            self.log_once(problem)
        return reply

    async def _answer_elsewhere(
        self, exchange: Exchange, work: RequestWork, done: RequestDone | Score, start: float
    ) -> Reply:
        if isinstance(done, RequestDone) and done.needs:
            deadline = self._deadline(done.timeout_s or exchange.timeout_s, start)
            work.given = await self._given(done.needs, deadline)
            work.begun = done.begun
            done = await self._run(work, max(_ANSWER_S, deadline - time.perf_counter()))
        if isinstance(done, Score):  # The process was too slow, or it died.
            work.instead = done
            done = await self._run(work, _ANSWER_S)
        if isinstance(done, Score):
            why = "it takes longer than its time limit to read" if done is LATE else done.detail
            raise OverloadedError(f"the request could not be handled: {why}; send smaller batches", 1.0)
        for problem in done.problems:
            self.log_once(problem)
        if done.tally is not None:
            self._note(done.tally, start)
        return Reply(done.body, done.headers)

    async def _run(self, work: RequestWork, timeout_s: float) -> RequestDone | Score:
        """Handle a request in a scoring process. If that fails, return a Score with the reason."""
        request = CURRENT.get()
        future = self.scorer.submit_piece(self._job, _encoder.encode(work), _turn(request))
        watching = request.cancelled_with_client() if request else contextlib.nullcontext()
        try:
            with watching:
                async with asyncio.timeout(max(0.0, timeout_s)):
                    results: list[Any] = await asyncio.wrap_future(future)
        except TimeoutError:
            return LATE
        (result,) = results
        if isinstance(result, Score):
            return result
        done = _decode_done.decode(result)
        if done.crash is not None:
            raise RuntimeError(f"a scoring process failed to handle the request: {done.crash}")
        if done.error is not None:
            raise pickle.loads(done.error)
        return done

    async def _given(self, needs: Sequence[ForWorkers], deadline: float) -> list[list[Score | None]]:
        """Score encoded samples in workers, and return a Score for each that was scored in time."""
        request = CURRENT.get()
        turn = _turn(request)
        counts = self._places({some.data_source: len(some.samples) for some in needs})
        left_s = max(0.0, deadline - time.perf_counter())
        with self.admission.room_for(counts, left_s, turn.client):
            futures: list[Scores] = []
            watching = request.cancelled_with_client() if request else contextlib.nullcontext()
            try:
                with watching:
                    # This runs in a thread, because the work grows with the number of samples.
                    await asyncio.to_thread(self._submit, needs, turn, futures)
                    left_s = max(0.0, deadline - time.perf_counter())
                    await asyncio.wait([asyncio.wrap_future(one) for one in futures], timeout=left_s)
            finally:
                for future in futures:
                    future.cancel()
        for some, future in zip(needs, futures, strict=True):
            self._learn(some.data_source, future.so_far)
        return [list(future.so_far) for future in futures]

    def _submit(self, needs: Sequence[ForWorkers], turn: ScoringTurn, futures: list[Scores]) -> None:
        for some in needs:
            futures.append(self.scorer.submit_encoded(some.data_source, some.samples, turn))

    @cached_property
    def _job(self) -> WorkerJob:
        """Return the job with which scoring processes handle requests."""
        files, arguments = self.scorer.for_another_process()
        make_runner = partial(RequestRunner, self.rows, arguments)
        return self.scorer.job_of_pieces("requests", MAX_TIMEOUT_S, make_runner, files)

    def prepare(self) -> None:
        """Serialise the rows for the scoring processes in advance, so that the first large request need not
        wait."""
        assert self._job is not None

    def log_once(self, problem: str) -> None:
        """Log a problem with a request, unless the same problem has been logged before."""
        if problem not in self._logged and len(self._logged) < _MAX_PROBLEMS:
            self._logged.add(problem)
            _log.warning("%s (further problems of this kind are not logged)", problem)

    # --- samples -------------------------------------------------------------------------------------

    async def score(
        self, samples: Sequence[Sample], *, timeout_s: float | None = None, start: float | None = None
    ) -> Sequence[Score]:
        """Return a Score for each sample, in order. Samples not scored in time have the status `timeout`.

        Args:
            samples: Samples to score, as few as a request in the event loop has.
            timeout_s: Time limit in seconds from the arrival of the request, unless the request sets one.
            start: Start of the time limit if there is no request, by default now.

        Raises:
            OverloadedError: The server already has too much work. Nothing was scored.
        """
        request = CURRENT.get()
        began = time.monotonic()
        scores: Sequence[Score] | None = self.scorer.score_here(samples)
        if scores is None:
            deadline = self._deadline(timeout_s, start or time.perf_counter())
            scores = await self._score_in_workers(samples, deadline, request)
        elif request and request.trace is not None:
            sources = sorted({sample.data_source for sample in samples})
            about: dict[str, Attribute] = {"samples": len(samples), "data_source": ",".join(sources)[:200]}
            request.trace.watch("score", began, time.monotonic(), about)
        return scores

    async def _score_in_workers(
        self, samples: Sequence[Sample], deadline: float, request: CurrentRequest | None
    ) -> list[Score]:
        turn = _turn(request)
        pending = self.scorer.prepare(samples, turn)
        needs = pending.sort()
        counts = self._places(needs, len(samples) - sum(needs.values()))
        with self.admission.room_for(counts, deadline - time.perf_counter(), turn.client):
            watching = request.cancelled_with_client() if request else contextlib.nullcontext()
            with watching:
                scores = await pending.score(max(0.0, deadline - time.perf_counter()))
        if request is not None:  # The requests of many clients may be done at the same time.
            await request.take_turn(len(scores) * _ANSWER_BYTES)
        for source, places in pending.for_workers:
            self._learn(source, [scores[i] for i in places])
        return scores

    def _deadline(self, timeout_s: float | None, start: float) -> float:
        """Return the deadline of the current request, on the clock of `time.perf_counter`."""
        request = CURRENT.get()
        allowed = min((request and request.timeout_s) or timeout_s or self.timeout_s, MAX_TIMEOUT_S)
        return (request.clock if request else start) + allowed

    def _note(self, tally: Tally, start: float) -> None:
        """Count the samples of the request, and notify the observers."""
        request = CURRENT.get()
        if request:
            request.samples += tally.n
        seconds = time.perf_counter() - start
        for observe in self.observers:
            observe(tally, seconds)
        if any(one.status != "ok" for one in tally.outcomes):
            for observe in self.failure_observers:
                observe(tally, seconds)

    def _places(self, busy: Mapping[str, int], others: int = 0) -> dict[str, int]:
        by_label = {"": others}
        for source, count in busy.items():
            # The samples of async rewards wait for servers most of the time, and overlap in a worker.
            label = "" if is_async(self.scorer.reward_for(source)) else self.label(source)
            by_label[label] = by_label.get(label, 0) + count
        return by_label

    def _learn(self, data_source: str, scores: Sequence[Score | None]) -> None:
        """Report the worker time of samples to `admission`."""
        seconds = [score.seconds for score in scores if score is not None and score.seconds]
        # Samples of async rewards overlap in a worker.
        if seconds and not is_async(self.scorer.reward_for(data_source)):
            typical_s = self.scorer.typical_s(data_source)
            mean_s = sum(seconds) / len(seconds)
            self.admission.learn(self.label(data_source), mean_s if typical_s is None else typical_s)


def _turn(request: CurrentRequest | None) -> ScoringTurn:
    watch = request.trace.watch if request and request.trace is not None else None
    return ScoringTurn(request and request.client, request and request.id, watch)
