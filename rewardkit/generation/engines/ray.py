"""Engines in Ray actors, which share the slices of requests. The responses are those of a single engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
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
from rewardkit.offline.on_ray import RESTARTS, TRIES_AGAIN, RaySettings, connected

Slice = Sequence[GenerationRequest]
IN_FLIGHT = 2
"""Slices that are assigned to an actor at once: one that it works on, and one that waits."""


def run_on_ray(
    cluster: RaySettings,
    engine: EngineSettings,
    settings: GenerationSettings,
    slices: Sequence[Slice],
    done: Done,
) -> None:
    """Answer all requests with an engine in each actor.

    An actor that dies is started again and its slices are answered again, a few times.

    Args:
        done: Called with each response when its slice has ended.

    Raises:
        ConfigError: an engine cannot be started, or actors keep dying. Slices that have ended are kept.
        MissingDependencyError: Ray is not installed.
    """
    waiting = deque(_pieces(slices, engine))
    with connected(cluster) as ray:
        count, given = _actors(ray.cluster_resources(), len(ray.nodes()), engine)
        remote = ray.remote(max_restarts=RESTARTS, max_task_retries=TRIES_AGAIN, **given)(_GenerationActor)
        actors = [remote.remote(engine, settings) for _ in range(min(count, len(waiting)))]
        asked: dict[Any, Any] = {}
        for actor in actors * IN_FLIGHT:
            _ask(actor, waiting, asked)
        while asked:
            (ready,), _ = ray.wait(list(asked), num_returns=1)
            try:
                answered = ray.get(ready)
            except ray.exceptions.RayError as error:
                raise _as_ours(error) from None
            for one in answered:
                done(one)
            _ask(asked.pop(ready), waiting, asked)


def _ask(actor: Any, waiting: deque[Slice], asked: dict[Any, Any]) -> None:
    if waiting:
        asked[actor.answer.remote(list(waiting.popleft()))] = actor


def _pieces(slices: Sequence[Slice], engine: EngineSettings) -> Iterator[Slice]:
    """Yield the slices. Independent requests are put together, as many as an endpoint may have in flight."""
    if any(len(some) > 1 for some in slices):
        yield from slices
        return
    alone = [request for some in slices for request in some]
    for start in range(0, len(alone), engine.concurrency):
        yield alone[start : start + engine.concurrency]


def _actors(resources: dict[str, float], nodes: int, engine: EngineSettings) -> tuple[int, dict[str, Any]]:
    """Return the number of actors, and the options of each."""
    if engine.name == "endpoint":
        return max(1, int(resources.get("CPU", 1))), {"num_cpus": 1}
    gpus = int(resources.get("GPU", 0))
    if gpus < engine.tensor_parallel_size:
        return nodes, {"num_cpus": 1}
    each = engine.tensor_parallel_size
    return gpus // each, {"num_cpus": 1, "num_gpus": each}


def _as_ours(error: Exception) -> RewardkitError:
    """Return the error of an actor, or its death, as an error of one line."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, RewardkitError):
        return cause
    return ConfigError(f"an engine's actor failed: {str(error).strip().splitlines()[-1]}; --resume goes on")


class _GenerationActor:
    """An engine in a process of the cluster."""

    def __init__(self, engine: EngineSettings, settings: GenerationSettings) -> None:
        self._engine_settings = engine
        self._settings = settings
        self._engine: Any = None

    def answer(self, requests: Slice) -> list[Completion]:
        if self._engine is None:  # not before: what goes wrong here can be told
            self._engine = open_engine(self._engine_settings, self._settings)
        found: list[Completion] = []
        self._engine.run(requests, found.append)
        return found
