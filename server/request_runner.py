"""Handles large requests in a scoring process, which reads, scores and answers them.

The server process sends the body of a request and receives the encoded answer. If samples have rewards with
workers of their own, the scoring process returns these samples encoded. The server process sends them to
these workers, and then sends the body again together with the Scores. Reading a request twice costs less than
sending its samples back and forth. Only requests with expensive scoring are read twice.
"""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rewardkit.errors import RewardkitError
from rewardkit.registry import REGISTRY
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.exchanges import (
    Exchange,
    Question,
    ServedRows,
    answered,
    read_question,
)
from rewardkit.server.tally import SourceLabels, Tally, shortened, tally_of
from rewardkit.text import writable
from rewardkit.types import Sample, Score, failure

LATE = failure("timeout", "the sample was not scored within the time limit of the batch")


class RequestWork(msgspec.Struct):
    """A request to handle."""

    exchange: bytes
    """Pickled exchange, which contains only the names of its functions."""
    body: bytes
    named: str | None
    left_s: float
    """Seconds that are left for scoring."""
    begun: msgspec.Raw = msgspec.Raw(b"\xc0")
    """Outcome of the first pass, as the runner returned it."""
    given: list[list[Score | None]] = []
    """Scores from the workers, in the order of `RequestDone.needs`."""
    instead: Score | None = None
    """Score given to all samples without a Score if scoring has failed.

    Samples with this Score are not scored again.
    """


class ForWorkers(msgspec.Struct):
    """Encoded samples of one data source that other workers have to score."""

    data_source: str
    samples: list[msgspec.Raw]


class RequestDone(msgspec.Struct):
    """Outcome of handling a request: an error, samples for other workers, or the answer."""

    error: bytes | None = None
    """Pickled exception for the server process to raise."""
    crash: str | None = None
    """Traceback of an unexpected exception."""
    needs: list[ForWorkers] = []
    begun: msgspec.Raw = msgspec.Raw(b"\xc0")
    timeout_s: float | None = None
    """Time limit in seconds that the body sets."""
    body: memoryview = memoryview(b"")
    """Encoded answer. The server process reads it as a view, because answers may have many megabytes."""
    headers: dict[str, str] = {}
    problems: list[str] = []
    """Problems of the request to be logged."""
    tally: Tally | None = None
    seconds: float = 0.0
    """Time spent on this pass."""


class _Begun(msgspec.Struct):
    """Scores of the first pass, and the indices of the samples that were sent to the workers."""

    scores: list[Score | None]
    places: list[list[int]]


_encoder = msgspec.msgpack.Encoder()
_decode_work = msgspec.msgpack.Decoder(RequestWork)
_decode_begun = msgspec.msgpack.Decoder(_Begun | None)


class RequestRunner:
    """Runner of the job that handles large requests.

    Args:
        rows: Rows and settings of the server.
        arguments: Arguments of a `Scorer` that is equivalent to the scorer of the server process.
    """

    def __init__(self, rows: ServedRows, arguments: Mapping[str, Any]) -> None:
        self.rows = rows
        REGISTRY.take_over(arguments["registry"])  # Reading a request looks up rewards in this scorer.
        self.scorer = Scorer(**arguments, workers=1)  # This scorer never starts a worker.
        self.labels = SourceLabels(self.scorer)

    def load(self) -> None:
        """Do nothing. Rewards are imported when they are first used."""

    def run(self, work: Sequence[bytes]) -> list[bytes]:
        """Handle requests, and return the encoded outcome of each."""
        return [_encoder.encode(self._outcome(_decode_work.decode(piece))) for piece in work]

    def _outcome(self, work: RequestWork) -> RequestDone:
        start = time.perf_counter()
        try:
            done = self._handle(work, start)
            done.seconds = time.perf_counter() - start
            return done
        except Exception as error:
            try:
                sent = pickle.dumps(error)
                # An exception class with its own constructor arguments may fail to unpickle.
                pickle.loads(sent)
            except Exception:
                return RequestDone(crash=traceback.format_exc())
            known = isinstance(error, RewardkitError) or hasattr(error, "status_code")
            return RequestDone(error=sent, crash=None if known else traceback.format_exc())

    def _handle(self, work: RequestWork, start: float) -> RequestDone:
        exchange: Exchange = pickle.loads(work.exchange)
        question = read_question(exchange, self.rows, work.body, work.named)
        samples = question.scorable
        begun = _decode_begun.decode(work.begun)
        if begun is None and work.instead is None:
            begun, needs = self._begin(samples, work.left_s - (time.perf_counter() - start))
            if needs:
                raw = msgspec.Raw(_encoder.encode(begun))
                return RequestDone(needs=needs, begun=raw, timeout_s=question.timeout_s)
        scores: list[Score | None] = begun.scores if begun is not None else [None] * len(samples)
        if begun is not None:
            for places, given in zip(begun.places, work.given, strict=False):
                for i, score in zip(places, given, strict=True):
                    scores[i] = score
        late = work.instead or LATE
        return self._done(exchange, question, [score or late for score in scores])

    def _begin(self, samples: Sequence[Sample], timeout_s: float) -> tuple[_Begun, list[ForWorkers]]:
        scores, rest = self.scorer.begin(samples, timeout_s)
        needs = [ForWorkers(samples[places[0]].data_source, encoded) for places, encoded in rest]
        return _Begun([_sendable(score) for score in scores], [places for places, _ in rest]), needs

    def _done(self, exchange: Exchange, question: Question, scored: Sequence[Score]) -> RequestDone:
        reply, scores, problems = answered(exchange, self.rows, question, scored)
        tally = shortened(tally_of(question.samples, scores, self.labels))
        return RequestDone(
            body=memoryview(reply.body), headers=dict(reply.headers), problems=list(problems), tally=tally
        )


def _sendable(score: Score | None) -> Score | None:
    """Return a Score without lone surrogates. The original Score may contain text from the request."""
    if score is None or all(text is None or text.isascii() for text in (score.detail, score.extracted)):
        return score
    texts = {name: writable(text) for name in ("detail", "extracted") if (text := getattr(score, name))}
    return msgspec.structs.replace(score, **texts)
