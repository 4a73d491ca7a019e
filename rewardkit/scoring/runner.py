"""Execution of a reward in the current process. Every value or exception from the reward becomes a Score.

The Score contains the reward's name and version. Other modules enforce the deadlines of synchronous rewards
and of processes. The scorer and its workers both use this module, so a reward behaves the same in both.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from math import isfinite
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from rewardkit import faults
from rewardkit.calling import bound
from rewardkit.errors import RewardkitError
from rewardkit.groups import group_places
from rewardkit.http_addresses import public_text
from rewardkit.registry import Reward
from rewardkit.scoring.excerpts import FEW, ExcerptScores
from rewardkit.text import writable
from rewardkit.types import STATUSES, UNDECIDED, VERDICT_FIELDS, Sample, Score, failure
from rewardkit.users_code import Raised, raised, report, running

if TYPE_CHECKING:
    # Importing asyncio takes a quarter of a worker's start time, so only `async` rewards import it.
    import asyncio

    from rewardkit.sandbox.of_process import SandboxLoan

INLINE_CHARACTERS = 10_000
"""Maximum number of characters in a response that is scored inline. A worker scores longer responses, because
the scorer can stop a worker."""

PutScore = Callable[[Score, float | None], None]
"""Function that receives the Score of a sample in flight, and its CPU time in seconds if it was measured."""

_OURS = "rewardkit.rewards.declarations"
"""Module that declares rewardkit's own rewards."""
_OF_THE_MACHINE = (RewardkitError, ImportError, OSError, MemoryError)
_VERDICTS = (bool, type(None))
_NUMBERS = frozenset((float,))


class RewardRunner:
    """A reward with its options, ready to be called."""

    def __init__(self, reward: Reward, options: Any) -> None:
        self.reward = reward
        self.options = options
        self.scorer = reward.scorer
        self.is_async = is_async(reward)
        self.inline = reward.running.runs == "inline" and not self.is_async
        # A worker ignores Ctrl-C, so that even KeyboardInterrupt comes from the reward.
        self._caught = (Exception, SystemExit, GeneratorExit) if self.inline else (BaseException,)
        self._who = "" if _is_ours(reward) else reward.name
        """Name to put before each line that the reward prints. It is empty for rewardkit's own rewards."""
        self._call = bound(reward.function, batch=bool(reward.running.batch))
        self._loop: asyncio.Runner | None = None
        self._beside: asyncio.AbstractEventLoop | None = None
        self._under_way: dict[int, Future[None]] = {}
        self._loans: dict[int, SandboxLoan] = {}
        """Sandboxes of the samples that run in threads, by number."""

    def may_run(self, samples: Sequence[Sample]) -> bool:
        """Return True if the calling thread may score these samples without a worker."""
        return (
            self.inline and max([len(sample.response) for sample in samples], default=0) <= INLINE_CHARACTERS
        )

    def run_here(self, samples: Sequence[Sample], *, any_length: bool = False) -> list[Score] | None:
        """Score samples in the calling thread, or return None if they have to be scored in a worker.

        Args:
            samples: Samples to score.
            any_length: True if samples with long responses may be scored in the calling thread, too.
        """
        excerpts = self._excerpts if len(samples) >= FEW else None
        if excerpts is None:
            return self.run(samples) if any_length or self.may_run(samples) else None
        found = excerpts.scores(samples)
        if None not in found:
            return cast("list[Score]", found)
        rest = [sample for sample, score in zip(samples, found, strict=True) if score is None]
        if not any_length and not self.may_run(rest):
            return None
        scored = iter(self.run(rest))
        return [score or next(scored) for score in found]

    @cached_property
    def _excerpts(self) -> ExcerptScores | None:
        target = self.reward.running.excerpts if self.inline else ""
        return ExcerptScores(target, self.options, self.run) if target else None

    @property
    def excerpted(self) -> float:
        """Fraction of the samples of large batches so far for which an excerpt was sufficient."""
        return self._excerpts.share if self._excerpts is not None else 0.0

    def divided(self, samples: Sequence[Sample], places: list[int]) -> tuple[list[int], list[int]]:
        """Divide indices into samples to score in the calling thread and samples for the workers.

        The samples of a `batch` reward are not divided.
        """
        if not self.inline:
            return [], places
        here = [i for i in places if len(samples[i].response) <= INLINE_CHARACTERS]
        if len(here) == len(places):
            return places, []
        if self.reward.running.batch:
            return [], places
        return here, sorted(set(places).difference(here))

    def load(self) -> None:
        """Prepare the reward for its first sample, for example by loading a model."""
        if self.reward.running.load:
            with self._named():
                self.reward.running.load(self.options)

    def _named(self) -> AbstractContextManager[None]:
        return running(self._who) if self._who else nullcontext()

    def run(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples one after another, in one call (batch rewards), or concurrently (`async` rewards).

        Errors in the reward are never raised. An exception, a non-finite score or an unusable result becomes
        a Score with status `error`.
        """
        if self.reward.running.batch == "group":
            return self._run_by_group(samples)
        if self.reward.running.batch:
            return self._run_as_batch(samples)
        if self.is_async:
            import asyncio

            # All calls share one loop, so that a reward can keep its connections open between calls.
            self._loop = self._loop or asyncio.Runner()
            return self._loop.run(self.run_concurrently(samples))
        return self._run_each(samples)

    def run_one(self, sample: Sample) -> Score:
        """Score one sample with a synchronous per-sample reward."""
        return self._run_each([sample])[0]

    def _run_each(self, samples: Sequence[Sample]) -> list[Score]:
        with self._named():
            return self._call_each(samples)

    def _call_each(self, samples: Sequence[Sample]) -> list[Score]:
        """Call the reward for one sample after another, reading the clock only once between two samples."""
        call = self._call
        options = self.options
        results: list[tuple[Any, float]] = []
        before = perf_counter()
        for sample in samples:
            result: Any
            try:
                result = call(sample, options)
                now = perf_counter()
            except self._caught as error:
                now = perf_counter()
                result = self._undecided(sample, error) or self._failed(error, now - before)
            results.append((result, now - before))
            before = now
        return self._finished(results)

    def _undecided(self, sample: Sample, error: BaseException) -> Score | None:
        """Score a response as wrong if it makes one of rewardkit's own rewards raise an exception.

        If the status were `error` instead, a response could choose its own status. The result is None if the
        response is not the cause. This is the case if the reward is not part of rewardkit, if the machine
        lacks a resource, or if the reward also raises an exception for harmless responses to the same row."""
        ours = self.reward.target.__module__ == _OURS and self.reward.running.runs in ("inline", "process")
        if not ours or not isinstance(error, Exception) or isinstance(error, _OF_THE_MACHINE):
            return None
        try:
            for harmless in ("", sample.ground_truth):
                self._call(replace(sample, response=harmless), self.options)
        except Exception:
            return None
        faults.note(self.scorer, error, sample.response)
        value = float(getattr(self.options, "wrong_score", 0.0))
        detail = f"the response could not be judged ({type(error).__name__}), scored as wrong"
        parts = {name: float(name == UNDECIDED) for name in self.reward.parts}
        return Score(value, "ok", False, None, parts, detail, self.scorer)

    def stream(self, samples: Sequence[Sample]) -> Iterator[list[Score]]:
        """Score samples with a synchronous per-sample reward, and yield scores as they become available."""
        if self.reward.running.each is None:
            for sample in samples:
                yield self._run_each([sample])
            return
        before = perf_counter()
        for results in self.reward.running.each(samples, self.options):
            now = perf_counter()
            yield self._finished((result, (now - before) / len(results)) for result in results)
            before = now

    async def run_concurrently(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples concurrently with an `async` reward. Each sample has its own deadline."""
        import asyncio

        return list(await asyncio.gather(*(self._arun_one(sample) for sample in samples)))

    async def _arun_one(self, sample: Sample) -> Score:
        import asyncio

        start = perf_counter()
        try:
            with self._named():
                awaitable: Awaitable[Any] = self._call(sample, self.options)
                result = await asyncio.wait_for(awaitable, self.reward.running.timeout_s)
        except TimeoutError:
            detail = f"the reward did not finish within {self.reward.running.timeout_s:g} s"
            seconds = perf_counter() - start
            return failure("timeout", detail, scorer=self.scorer, seconds=seconds)
        except Exception as error:
            return self._failed(error, perf_counter() - start)
        return self._finished([(result, perf_counter() - start)])[0]

    def begin(self, number: int, sample: Sample, put: PutScore, parked: Callable[[], None]) -> None:
        """Start scoring a sample while other samples are in flight.

        Args:
            number: Number to pass to `stop` to cancel the sample.
            sample: Sample to score.
            put: Function that is called in another thread, with the Score and the CPU time that it took in
                seconds, or None if the CPU time was not measured.
            parked: Function that is called, in another thread, when the sample's program sleeps or waits for
                its turn, and every few seconds while it waits.
        """
        if self.is_async:
            self._begin_async(number, sample, put)
        else:
            self._begin_thread(number, sample, put, parked)

    def _begin_thread(self, number: int, sample: Sample, put: PutScore, parked: Callable[[], None]) -> None:
        from rewardkit.sandbox.of_process import SandboxLoan  # most rewards do not use the sandbox

        loan = self._loans[number] = SandboxLoan(parked)

        def score() -> None:
            try:
                with loan:
                    found = self.run_one(sample)
                    busy_s = loan.cpu_s + thread_time()
            except BaseException:  # as in the main thread, an exit ends the worker
                os._exit(1)
            self._loans.pop(number, None)
            put(found, busy_s)

        threading.Thread(target=score, name=f"rewardkit-sample-{number}", daemon=True).start()

    def _begin_async(self, number: int, sample: Sample, put: PutScore) -> None:
        import asyncio

        if self._beside is None:
            self._beside = asyncio.new_event_loop()
            threading.Thread(target=self._beside.run_forever, name="rewardkit-beside", daemon=True).start()

        async def score() -> None:
            put(await self._arun_one(sample), None)

        under_way = self._under_way[number] = asyncio.run_coroutine_threadsafe(score(), self._beside)
        under_way.add_done_callback(lambda done: self._under_way.pop(number, None))

    def stop(self, number: int) -> None:
        """Cancel the sample that was started with this number, if it has not finished."""
        loan = self._loans.pop(number, None)
        if loan is not None:
            loan.cancel()
        under_way = self._under_way.pop(number, None)
        if under_way is not None:
            under_way.cancel()

    def _run_by_group(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each group in a separate call, so that an exception affects only its own group."""
        scores: dict[int, Score] = {}
        for places in group_places(samples):
            scores.update(zip(places, self._run_as_batch([samples[i] for i in places]), strict=True))
        return [scores[i] for i in range(len(samples))]

    def _run_as_batch(self, samples: Sequence[Sample]) -> list[Score]:
        start = perf_counter()
        try:
            with self._named():
                results = self._call(list(samples), self.options)
                if self.is_async:
                    import asyncio

                    results = asyncio.run(_wait_for(results))
                results = list(results)
        except self._caught as error:
            return [self._failed(error, perf_counter() - start)] * len(samples)
        if len(results) != len(samples):
            why = f"ValueError: the reward returned {len(results)} results for {len(samples)} samples"
            return [self._unscored(why, perf_counter() - start)] * len(samples)
        seconds = (perf_counter() - start) / len(samples)
        return self._finished((result, seconds) for result in results)

    def _failed(self, error: BaseException, seconds: float) -> Score:
        if isinstance(error, RewardkitError):  # rewardkit's own errors are self-explanatory
            return self._unscored(raised(error).said, seconds)
        return self._raised(raised(error), seconds)

    def _raised(self, error: Raised, seconds: float) -> Score:
        """Return the Score for an exception in the reward, which is a failure or a wrong answer.

        The reward's setting `on_exception` determines the result. If memory runs out, the result is always a
        failure."""
        report(self.reward.name, error)
        if self.reward.running.on_exception == "error" or error.kind == "MemoryError":
            return self._unscored(error.text, seconds)
        detail = writable(public_text(f"the reward raised {error.text}; on_exception is 0"))
        return Score(0.0, correct=False, detail=detail, scorer=self.scorer, seconds=seconds)

    def _unscored(self, why: str, seconds: float) -> Score:
        detail = writable(public_text(why.partition("\n")[0]))
        return failure("error", detail, scorer=self.scorer, seconds=seconds)

    def _finished(self, results: Iterable[tuple[Any, float]]) -> list[Score]:
        """Convert results, each with its time in seconds, to Scores with the reward's name and version."""
        scores: list[Score] = []
        for result, seconds in results:
            if (
                type(result) is Score
                # All fields have exact types, because NumPy types cannot be sent. All texts are ASCII.
                and type(result.score) is float
                and isfinite(result.score)
                and result.status in STATUSES
                and type(result.correct) in _VERDICTS
                and ((text := result.extracted) is None or (type(text) is str and text.isascii()))
                and ((text := result.detail) is None or (type(text) is str and text.isascii()))
                and type(result.parts) is dict
                and _NUMBERS.issuperset(map(type, result.parts.values()))
            ):
                scores.append(replace(result, scorer=self.scorer, seconds=seconds))
            else:
                scores.append(self._made(result, seconds))
        return scores

    def _made(self, result: Any, seconds: float) -> Score:
        """Convert a result to a Score with the reward's name and version, or to a failure."""
        if isinstance(result, Raised):  # the host of an imported reward reported an exception
            return self._raised(result, seconds)
        try:
            score = _to_score(result)
        except (TypeError, ValueError, OverflowError) as error:
            return self._unscored(raised(error).said, seconds)
        if not isfinite(score.score):
            why = f"ValueError: the reward returned the score {score.score}; expected a finite number"
            return self._unscored(why, seconds)
        extracted = None if score.extracted is None else writable(str(score.extracted))
        detail = None if score.detail is None else writable(str(score.detail))
        return replace(score, scorer=self.scorer, seconds=seconds, extracted=extracted, detail=detail)


def _is_ours(reward: Reward) -> bool:
    module = getattr(reward.target, "__module__", None) or ""
    return module.partition(".")[0] == "rewardkit"


def is_async(reward: Reward) -> bool:
    """Return True if the reward's function is `async`."""
    return inspect.iscoroutinefunction(reward.function)


def _to_score(result: Any) -> Score:
    """Convert a float, a bool, a dict or a Score to a Score whose fields have the right types.

    A dict needs the key `score` and may have other fields of a Score as keys, or verl's `acc` and `pred`.

    Raises:
        TypeError: The result or a field has the wrong type.
        ValueError: A field cannot be converted to its type, or `score` is missing.
    """
    if isinstance(result, bool):
        return Score(float(result), correct=result)
    if isinstance(result, Score):
        result = {
            name: value for name, value in result.as_dict().items() if name not in ("scorer", "seconds")
        }
    if isinstance(result, Mapping):
        return _from_dict(result)
    if isinstance(result, str) or not hasattr(result, "__float__"):
        raise TypeError(f"the reward returned {result!r:.60}; expected a Score, a number, a bool or a dict")
    return Score(float(result))


def _from_dict(result: Mapping[str, Any]) -> Score:
    if "score" not in result:
        raise ValueError(f"the reward returned a dict without 'score'; keys: {', '.join(map(str, result))}")
    own = {*VERDICT_FIELDS, "acc", "pred"}
    if (status := result.get("status", "ok")) not in STATUSES:
        known = ", ".join(STATUSES)
        raise ValueError(f"the reward returned the status {status!r:.60}; expected one of {known}")
    correct = result.get("correct", result.get("acc"))
    extracted = result.get("extracted", result.get("pred"))
    parts = {str(k): float(v) for k, v in dict(result.get("parts") or {}).items()}
    for key, value in result.items():
        if key not in own and not isinstance(value, str) and hasattr(value, "__float__"):
            parts[str(key)] = float(value)
    return Score(
        float(result["score"]),
        status,
        None if correct is None else bool(correct),
        None if extracted is None else str(extracted),
        parts,
        None if result.get("detail") is None else str(result["detail"]),
    )


async def _wait_for(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
