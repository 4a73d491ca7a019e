"""Runs engines in Ray actors, which share the slices of requests.

The responses are the same as with a single engine.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rewardkit.errors import ConfigError, RewardkitError
from rewardkit.generation.engines import open_engine
from rewardkit.generation.types import (
    Completion,
    Done,
    EngineSettings,
    GenerationRequest,
    GenerationSettings,
)
from rewardkit.offline.on_ray import TRIES_AGAIN, RaySettings, connected

Slice = Sequence[GenerationRequest]


def run_on_ray(
    cluster: RaySettings,
    engine: EngineSettings,
    settings: GenerationSettings,
    slices: Sequence[Slice],
    done: Done,
) -> None:
    """Answer all requests with an engine in each actor.

    An actor that dies is replaced, and its slice is answered again, up to a few times.

    Args:
        cluster: Ray cluster.
        engine: Engine for each actor, and its settings.
        settings: Settings for sampling the responses.
        slices: Slices of requests. Each slice is answered by a single actor.
        done: Callback for each response, called when the response's slice is finished.

    Raises:
        ConfigError: An engine cannot be started, or actors keep dying. Finished slices are kept.
        MissingDependencyError: Ray is not installed.
    """
    pieces = list(_pieces(slices, engine))
    with connected(cluster) as ray:
        count, given = _actors(ray.cluster_resources(), len(ray.nodes()), engine)
        make = partial(ray.remote(**given)(_GenerationActor).remote, engine, settings)
        _Run(ray, make, pieces, done).go(min(count, len(pieces)))


class _Run:
    """Queue of slices, and actors that open their engines or answer slices.

    An actor gets a slice only after its engine is open. An actor that does not fit on any machine therefore
    does not delay a slice.
    """

    def __init__(self, ray: Any, make: Callable[[], Any], slices: Sequence[Slice], done: Done) -> None:
        self._ray = ray
        self._make = make
        self._done = done
        self._waiting = deque(slices)
        self._left = len(slices)
        self._asked: dict[Any, tuple[Any, Slice]] = {}
        """Actor and slice for each pending answer."""
        self._idle: list[Any] = []
        self._deaths: Counter[tuple[int, int]] = Counter()
        """Number of actors that died, by the first request in their slices."""

    def go(self, count: int) -> None:
        """Answer all slices with `count` actors."""
        for _ in range(count):
            self._ask(self._make(), ())
        while self._left:
            (ready,), _ = self._ray.wait(list(self._asked), num_returns=1)
            self._take(ready)
            while self._idle and self._waiting:
                self._ask(self._idle.pop(), self._waiting.popleft())

    def _ask(self, actor: Any, some: Slice) -> None:
        self._asked[actor.answer.remote(list(some))] = actor, some

    def _take(self, ready: Any) -> None:
        actor, some = self._asked.pop(ready)
        try:
            answered = self._ray.get(ready)
        except self._ray.exceptions.RayActorError as error:
            self._replace(actor, some, error)
        except self._ray.exceptions.RayError as error:
            raise _as_ours(error) from None
        else:
            self._idle.append(actor)
            self._left -= bool(some)
            for one in answered:
                self._done(one)

    def _replace(self, actor: Any, some: Slice, error: Exception) -> None:
        """Put the slice of an actor that died back into the queue, and start a new actor."""
        first = (some[0].row, some[0].sample) if some else (-1, 0)
        self._deaths[first] += 1
        if self._deaths[first] > TRIES_AGAIN:
            raise _as_ours(error) from None
        if some:
            self._waiting.appendleft(some)
        self._ray.kill(actor)  # the actor may be alive but unreachable
        self._ask(self._make(), ())


def _pieces(slices: Sequence[Slice], engine: EngineSettings) -> Iterator[Slice]:
    """Yield the slices. Group independent requests into slices as large as the endpoint's concurrency."""
    if any(len(some) > 1 for some in slices):
        yield from slices
        return
    alone = [request for some in slices for request in some]
    for start in range(0, len(alone), engine.concurrency):
        yield alone[start : start + engine.concurrency]


def _actors(resources: dict[str, float], nodes: int, engine: EngineSettings) -> tuple[int, dict[str, Any]]:
    """Return the number of actors, and the Ray options for an actor."""
    if engine.name == "endpoint":
        return max(1, int(resources.get("CPU", 1))), {"num_cpus": 1}
    gpus = int(resources.get("GPU", 0))
    if gpus < engine.tensor_parallel_size:
        return nodes, {"num_cpus": 1}
    each = engine.tensor_parallel_size
    return gpus // each, {"num_cpus": 1, "num_gpus": each}


def _as_ours(error: Exception) -> RewardkitError:
    """Convert an exception from an actor that failed or died to an error with a one-line message."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, RewardkitError):
        return cause
    return ConfigError(
        f"a Ray actor failed: {str(error).strip().splitlines()[-1]}; pass --resume to continue the run"
    )


class _GenerationActor:
    """Engine in a process of the Ray cluster."""

    def __init__(self, engine: EngineSettings, settings: GenerationSettings) -> None:
        self._engine_settings = engine
        self._settings = settings
        self._engine: Any = None

    def answer(self, requests: Slice) -> list[Completion]:
        if self._engine is None:  # opened in a call, so that Ray reports errors
            self._engine = open_engine(self._engine_settings, self._settings)
        found: list[Completion] = []
        self._engine.run(requests, found.append)
        return found
